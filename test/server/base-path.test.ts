/** Tests of `BASE_PATH` and `SERVED_PATHS`. */
import { expect, it } from 'vitest';
import { OPTIONAL_PATHS } from '../../src/http/paths.js';
import { openGateway } from '../../src/library/index.js';
import { crawl } from '../support/crawl.js';
import { startGatewayProcess } from '../support/gateway-process.js';

const HTML = { accept: 'text/html' };

it('BASE_PATH is the prefix of all paths and links, also in the pages', async () => {
  const { address } = await startGatewayProcess({ BASE_PATH: '/tokens/' });
  expect(address).toMatch(/:\d+\/tokens$/);
  const { origin } = new URL(address);
  const ask = (path: string) => fetch(origin + path, { headers: HTML });
  await expect.poll(async () => (await ask('/tokens/ready')).status).toBe(200);
  const statuses = await crawl(ask, ['/tokens', '/tokens/', '/tokens/graphql', '/tokens/llms.txt']);
  expect([...statuses].filter(([path, status]) => !path.startsWith('/tokens') || status !== 200)).toEqual([]);
  for (const path of ['/tokens/llms.txt', '/tokens/schema.graphql', '/tokens/ready', '/tokens/graphql'])
    expect(statuses.keys()).toContain(path);
  expect([...statuses.keys()].filter((path) => /\/picker\/.*\.js$/.test(path))).not.toEqual([]);
  expect([...statuses.keys()].filter((path) => /\/playground\/.*\.js$/.test(path))).not.toEqual([]);

  const page = await (await ask('/tokens/')).text();
  expect(page).toContain('data-endpoint="/tokens/graphql"');
  expect((await ask('/tokens/tokenlist.json')).status).toBe(200);
  expect((await fetch(`${address}/mcp`)).status).toBe(405);
  expect((await ask('/tokens/metrics')).status).toBe(200);
  for (const path of '/ /graphql /mcp /live /tokenlist.json /tokensgraphql /metrics /tokens/Live'.split(' '))
    expect([path, (await ask(path)).status]).toEqual([path, 404]);
  expect(await (await ask('/tokens/nope')).text()).toContain('/tokens/ (in a browser), /tokens/graphql');
});

it.each(OPTIONAL_PATHS)('SERVED_PATHS=%s serves this path, the endpoint and the tools', async (path) => {
  const gateway = await openGateway({ demo: true, servedPaths: [path], logLevel: 'silent' });
  const ask = (path: string) => gateway.fetch(new Request(`http://gateway${path}`, { headers: HTML }));
  await gateway.fetch(new Request('http://gateway/graphql?query={chains{name}tokens{name}}'));
  const served = [];
  for (const path of OPTIONAL_PATHS) if ((await ask(path)).status !== 404) served.push(path);
  expect(served).toEqual([path]);
  // The pages load the same files whichever other path is served.
  const pages = path === '/' || path === '/live' ? ['/graphql'] : [];
  const statuses = await crawl(ask, [path, ...pages]);
  expect([...statuses.values()].filter((status) => status !== 200)).toEqual([]);
  await gateway.close();
});

it('SERVED_PATHS=none serves only the endpoint and the tools', async () => {
  const { address } = await startGatewayProcess({ SERVED_PATHS: 'none' });
  for (const path of ['/', '/llms.txt', '/live', '/ready', '/metrics', '/picker/x'])
    expect((await fetch(address + path, { headers: HTML })).status).toBe(404);
  expect((await fetch(`${address}/graphql`, { headers: HTML })).status).toBe(200);
});
