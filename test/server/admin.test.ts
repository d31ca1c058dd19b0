/** ADMIN_PORT serves monitoring and refreshes on a port of its own, which closes last. */
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { json, late, startFakeUpstream, status } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { openRaw } from '../support/raw-http.js';

it('ADMIN_PORT serves /metrics and the probes without the base path, and closes last', async () => {
  const { address, admin, child, exited } = await startGatewayProcess({
    ADMIN_PORT: '0',
    BASE_PATH: '/tokens',
  });
  const statusOf = async (url: string, method = 'GET') => (await fetch(url, { method })).status;
  await expect.poll(() => statusOf(`${admin}/ready`)).toBe(200);
  expect(await statusOf(`${address}/metrics`)).toBe(404);
  expect(await statusOf(`${address}/live`)).toBe(200);
  expect(await statusOf(`${address}/ready`)).toBe(200);
  expect(await (await fetch(`${admin}/metrics`)).text()).toContain('gateway_requests_total');
  expect(await statusOf(`${admin}/live`, 'HEAD')).toBe(200);
  expect(await statusOf(`${admin}/metrics`, 'POST')).toBe(405);
  for (const path of ['/', '/graphql', '/live/', '//metrics']) {
    const { status, headers } = await fetch(admin + path);
    expect([status, headers.get('x-request-id'), headers.get('vary')]).toEqual([404, null, null]);
  }

  // The stop waits for a request that is never finished. Meanwhile the admin port answers.
  const busy = await openRaw(address);
  await busy.send('POST /graphql HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n');
  child.kill('SIGTERM');
  await expect.poll(() => statusOf(`${address}/live`).catch(() => 0)).toBe(0);
  const response = await fetch(`${admin}/ready`);
  expect([response.status, await response.json()]).toEqual([
    503,
    { ready: false, reason: 'The gateway is stopping.', source: 'demo' },
  ]);
  busy.socket.destroy();
  expect(await exited).toBe(0);
});

it('POST /refresh at ADMIN_PORT refreshes both listings, one refresh at a time, and responds with the outcomes', async () => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  const { address, admin } = await startGatewayProcess({ ADMIN_PORT: '0', UPSTREAM_URL: upstream.url });
  await expect.poll(async () => (await fetch(`${admin}/ready`)).status).toBe(200);
  const refresh = async (init: RequestInit = {}) => {
    const response = await fetch(`${admin}/refresh`, { method: 'POST', ...init });
    return [response.status, (await response.json()) as unknown] as const;
  };
  const metrics = async () => (await fetch(`${admin}/metrics`)).text();
  const before = upstream.count();
  // The upstream answers only after all requests have arrived.
  upstream.plan('tokens', late(2_000, status(410)));
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => refresh()));
  expect(upstream.count() - before).toBe(2);
  expect(first).toMatchObject([
    502,
    {
      chains: { refreshed: true },
      tokens: { refreshed: false, code: 'UPSTREAM_GONE', retryAfterMs: 60_000 },
    },
  ]);
  expect(new Set([first, ...others].map((each) => JSON.stringify(each))).size).toBe(1);
  expect(await metrics()).toContain('gateway_listing_gone{listing="tokens"} 1');
  upstream.plan('tokens', json({ tokens: demoTokens }));
  expect(await refresh()).toMatchObject([
    200,
    { tokens: { refreshed: true, source: 'v1', rows: demoTokens.length } },
  ]);
  expect(await metrics()).toContain('gateway_listing_gone{listing="tokens"} 0');

  // The pause that the upstream asks for is told in whole milliseconds.
  upstream.plan('tokens', status(503, { 'retry-after': '600' }));
  await refresh();
  const paused = (await refresh())[1] as { tokens: { code: string; retryAfterMs: number } };
  expect(paused.tokens).toMatchObject({ code: 'UPSTREAM_STATUS', retryAfterMs: expect.any(Number) });
  expect(paused.tokens.retryAfterMs % 1).toBe(0);

  const asked = upstream.count();
  expect((await refresh({ method: 'PUT' }))[0]).toBe(405);
  expect((await fetch(`${admin}/refresh`)).headers.get('allow')).toBe('POST');
  // A foreign page in a browser can find the port. Its requests have an Origin.
  expect((await refresh({ headers: { origin: 'https://example.org' } }))[0]).toBe(404);
  expect((await fetch(`${address}/refresh`, { method: 'POST' })).status).toBe(404);
  expect(upstream.count()).toBe(asked);
});

it('ADMIN_PORT closes connections beyond a hundred', async () => {
  const { admin } = await startGatewayProcess({ ADMIN_PORT: '0' });
  const connections = await Promise.all(Array.from({ length: 100 }, () => openRaw(admin)));
  const further = await openRaw(admin);
  if (!further.isClosed()) await once(further.socket, 'close');
  expect(connections.filter((connection) => connection.isClosed())).toHaveLength(0);
});
