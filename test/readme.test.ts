/** The commands and queries in the README and the guides work. */
import { execFile } from 'node:child_process';
import { cpSync, existsSync, readdirSync, symlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from './support/ends.js';
import { startFakeSuccessor, startFakeUpstream, status } from './support/fake-upstream.js';
import { ask, shareGateway } from './support/gateway-process.js';
import { freePort } from './support/processes.js';
import { blockOf, ROOT, variablesOf } from './support/readme.js';
import { isRedisMissing } from './support/redis.js';
import { spawnGroup } from './support/server-process.js';

const README = 'README.md';
const STORAGE = 'src/storage/README.md';
const GRAPH = 'src/graph/README.md';

/** A copy of the project as a newcomer has it, with nothing installed or built. `withLinks` names folders to link. */
function copyProject(withLinks: readonly string[] = []): string {
  const copy = temporaryDirectory();
  const left = new Set(['.git', 'build', 'dist', 'snapshots'].map((name) => join(ROOT, name)));
  const isCopied = (path: string) => !left.has(path) && basename(path) !== 'node_modules';
  cpSync(ROOT, copy, { recursive: true, filter: isCopied });
  for (const name of withLinks) symlinkSync(join(ROOT, name), join(copy, name));
  return copy;
}

const run = (command: string, cwd: string, env: Record<string, string> = {}) =>
  spawnGroup('bash', ['-c', command], { cwd, env: { ...process.env, ...env } });

it('the commands start, answer the query as the README says, use an upstream, keep files, change over, and test', {
  timeout: 1_800_000,
}, async () => {
  const copy = copyProject();
  const port = await freePort();
  const sh = async (command: string) =>
    JSON.parse((await promisify(execFile)('bash', ['-c', command])).stdout) as unknown;
  const env = { PORT: String(port), npm_config_prefer_offline: 'true', NO_COLOR: '1' };
  // The first start builds; the others need not.
  const elsewhere = { ...env, PORT: '0', npm_config_ignore_scripts: 'true' };
  const started = run(blockOf(README, 'start'), copy, env);
  await expect.poll(started.output, { timeout: 900_000 }).toContain('"msg":"Listening"');
  expect(started.output()).not.toMatch(/npm warn (?!Unknown \w+ config)|EBADENGINE|deprecated/i);
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200);
  const answer = JSON.parse(blockOf(README, 'answer')) as {
    data: { tokens: { symbol: string; chain: { nativeCurrency: { symbol: string } } }[] };
  };
  expect(await sh(blockOf(README, 'query').replace(':4000/', `:${port}/`))).toEqual(answer);

  const lines = blockOf(GRAPH, 'machines')
    .replaceAll(':4000/', `:${port}/`)
    .replaceAll('\\\n', '')
    .trim()
    .split('\n');
  expect(await Promise.all(lines.map(sh))).toMatchObject([
    { tokens: expect.arrayContaining([expect.objectContaining({ chainId: 8453 })]) },
    { result: { structuredContent: { tokenSearch: { totalCount: expect.any(Number) } } } },
    { data: { chains: expect.arrayContaining([{ caip2: 'eip155:8453' }]) } },
  ]);
  const address = `http://127.0.0.1:${port}`;
  await expect
    .poll(async () => (await ask<{ sources: unknown }>(address, only(GRAPH, 'Sources'))).data?.sources)
    .toMatchObject({ isComplete: false, asOf: expect.any(String), chains: expect.any(Array) });

  const upstream = await startFakeUpstream({}, onTestFinished);
  const other = run(blockOf(README, 'real upstream').replace(/https:\S+/, upstream.url), copy, elsewhere);
  await expect.poll(() => upstream.count(), { timeout: 300_000 }).toBe(2);
  await expect.poll(other.output).toContain(`"upstream":"${upstream.url}","isDemo":false`);

  const kept = run(blockOf(STORAGE, 'disk').replace(/https:\S+/, upstream.url), copy, elsewhere);
  const files = () => existsSync(join(copy, 'snapshots')) && readdirSync(join(copy, 'snapshots')).sort();
  await expect
    .poll(files, { timeout: 300_000 })
    .toEqual([/^chains-.*\.snapshot$/, /^tokens-.*\.snapshot$/].map((name) => expect.stringMatching(name)));
  await expect.poll(kept.output).toContain('"msg":"Listening"');

  const rest = blockOf(README, 'rest').replace(/https:.+\/v1/, upstream.url);
  const joined = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', rest]);
  const { tokens } = answer.data;
  const joinedRows = tokens.map(({ symbol, chain }) => `${symbol} ${chain.nativeCurrency.symbol}\n`);
  expect(joinedRows.length).toBeGreaterThan(1);
  expect(joined.stdout).toBe(joinedRows.join(''));

  upstream.planBoth(status(410));
  const successor = await startFakeSuccessor();
  onTestFinished(successor.close);
  const services = [upstream.url, successor.url];
  const changing = blockOf(STORAGE, 'successor')
    .replace(/https:\S+/g, () => services.shift() ?? '')
    .replace('snapshots', 'new');
  const changed = run(changing, copy, elsewhere);
  await expect
    .poll(changed.output, { timeout: 300_000 })
    .toContain('the listings are from the value-transfer service from now on');

  // Only one file is tested: all tests would include this one. `npm ci` was run above.
  const tested = run(`${blockOf(README, 'tests').trim().replace('npm ci && ', '')} -- schema-file`, copy, {
    ...elsewhere,
    CI: 'true',
  });
  expect(await tested.exited, tested.output()).toBe(0);
  await expect.poll(tested.output).toMatch(/Tests\s+4 passed/);
});

it.skipIf(isRedisMissing)('the commands for Redis let gateways share', { timeout: 900_000 }, async () => {
  const port = String(await freePort());
  const copy = copyProject(['node_modules', 'dist']);
  run(blockOf(STORAGE, 'redis').replace('6379', port), copy);
  const upstream = await startFakeUpstream({}, onTestFinished);
  const command = blockOf(STORAGE, 'sharing')
    .replace('6379', port)
    .replace(/https:\S+/, upstream.url);
  // The first gateway must not refresh before the second starts.
  const env = {
    PORT: '0',
    CHAINS_FRESH_MS: '3600000',
    TOKENS_FRESH_MS: '3600000',
    npm_config_ignore_scripts: 'true',
  };
  for (let gateway = 0; gateway < 2; gateway++) {
    const { output } = run(command, copy, env);
    await expect.poll(output, { timeout: 300_000 }).toContain('Sharing snapshots through Redis');
    await expect.poll(output).toContain('New snapshot of the tokens listing');
  }
  expect(upstream.count()).toBe(2);
});

describe('the queries', () => {
  const gateway = shareGateway();

  const answer = async <Data>(guide: string, operation: string, variables?: object) => {
    const address = gateway.endpoint.replace('/graphql', '');
    const { data, ...rest } = await ask<Data>(address, only(guide, operation), variables);
    expect(rest, operation).toEqual({});
    return data;
  };

  it.each(['Listings', 'Identifiers'])('the query %s is answered, with rows', async (operation) => {
    for (const value of Object.values(await answer<Record<string, unknown>>(GRAPH, operation))) {
      expect(Array.isArray(value) ? value.length : value).toBeTruthy();
    }
  });

  it('the queries of the pickers take their variables from the answer to the picker before', async () => {
    const { chains } = await answer<{ chains: { chainKey: string }[] }>(
      README,
      'ChainPicker',
      variablesOf(README, 'ChainPicker'),
    );
    const found = variablesOf(README, 'TokenPicker');
    expect(found).toMatchObject({ filter: { chainKeys: chains.map(({ chainKey }) => chainKey) } });
    type Found = { tokenSearch: { edges: { node: { chainKey: string; address: string } }[] } };
    const { tokenSearch } = await answer<Found>(README, 'TokenPicker', found);
    const source = variablesOf(README, 'DestinationPicker');
    const { chainKey: srcChainKey, address: srcToken } = tokenSearch.edges[0]?.node ?? {};
    expect({ srcChainKey, srcToken }).toEqual(source);
    type Groups = { destinations: { tokens: unknown[] }[] };
    const { destinations } = await answer<Groups>(README, 'DestinationPicker', source);
    expect(destinations.flatMap(({ tokens }) => tokens).length).toBeGreaterThan(0);
  });
});

function only(guide: string, operation: string): string {
  const block = blockOf(guide, operation);
  return block.split(/^(?=query )/m).find((text) => text.startsWith(`query ${operation}`)) ?? block;
}
