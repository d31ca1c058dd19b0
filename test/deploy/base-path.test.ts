/** Tests a gateway below a path of a reverse proxy, which serves other things at its root. */
import { expect, it } from 'vitest';
import { crawl } from '../support/crawl.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { startNginx } from './nginx.js';
import { areMissing } from './programs.js';

it.skipIf(areMissing('nginx'))(
  'a gateway below a path of nginx serves everything there, with links that work',
  async () => {
    const { address } = await startGatewayProcess({ BASE_PATH: '/tokens', TRUSTED_PROXIES: 'loopback' });
    const port = Number(new URL(address).port);
    const below = (config: string) =>
      config.replace('location / {', 'location / { return 404; }\n    location /tokens/ {');
    const nginx = await startNginx([port, port], below, '/tokens/live');
    const ask = (path: string) => fetch(nginx.address + path, { headers: { accept: 'text/html' } });
    await expect.poll(async () => (await ask('/tokens/ready')).status).toBe(200);
    const statuses = await crawl(ask, [
      '/tokens/',
      '/tokens/graphql',
      '/tokens/llms.txt',
      '/tokens/tokenlist.json',
    ]);
    expect(statuses.size).toBeGreaterThan(10);
    expect([...statuses].filter(([, status]) => status !== 200)).toEqual([]);
    expect((await ask('/graphql')).status).toBe(404);
  },
);
