/** A stop loses no request, ends with status 0, and waits only a bounded time for clients and the upstream. */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { expect, it, onTestFinished } from 'vitest';
import { generatedListings } from '../fixtures/rows.js';
import { stall, startFakeUpstream } from '../support/fake-upstream.js';
import { startGatewayProcess, startWaitingGateway } from '../support/gateway-process.js';
import { openRaw, postOf } from '../support/raw-http.js';

const BODY = JSON.stringify({ query: '{ tokens(srcChainKey: "ethereum") { symbol } }' });
const HEADERS = { 'content-type': 'application/json' };
/** Longer than the default, so that also on a busy machine the 503 is seen before the port closes. */
const DRAIN_MS = 4_000;
/** Ten seconds, and as many for a busy machine: the clients and upstreams in these tests never finish. */
const STOPPED_WITHIN_MS = 20_000;

it('a stop under load loses no request, is reported by /ready, and ends with status 0', async () => {
  const { address, child, exited } = await startGatewayProcess({ DRAIN_MS: String(DRAIN_MS) });
  await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
  const outcomes: string[] = [];
  const clients = Array.from({ length: 8 }, async () => {
    const dispatcher = new Agent({ connections: 1, keepAliveTimeout: 10_000 });
    const asked = { method: 'POST', headers: HEADERS, body: BODY, dispatcher } as const;
    for (;;) {
      try {
        const answer = await request(`${address}/graphql`, asked);
        const body = (await answer.body.json()) as { data?: { tokens: unknown[] } };
        outcomes.push(body.data?.tokens.length === 50 ? 'answered' : JSON.stringify(body).slice(0, 100));
        await sleep(25);
      } catch (error) {
        outcomes.push(String((error as NodeJS.ErrnoException).code));
        break;
      }
    }
    await dispatcher.close();
  });
  await expect.poll(() => outcomes.length).toBeGreaterThan(20);
  const stoppedAt = performance.now();
  child.kill('SIGTERM');
  await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(503);
  await Promise.all(clients);
  expect(await exited).toBe(0);
  expect(performance.now() - stoppedAt).toBeGreaterThan(DRAIN_MS);
  expect(performance.now() - stoppedAt).toBeLessThan(STOPPED_WITHIN_MS);
  // The port closes at the end. Until then every request got a response.
  expect(outcomes.filter((outcome) => outcome !== 'answered')).toEqual(Array(8).fill('ECONNREFUSED'));
});

it('a stop sends an error to a client that waits for an upstream that never responds, and ends with status 0', async () => {
  const { answer, child, exited } = await startWaitingGateway(stall, { UPSTREAM_TIMEOUT_MS: '60000' });
  const stoppedAt = performance.now();
  child.kill('SIGTERM');
  expect(JSON.stringify(await answer)).toContain('UPSTREAM_UNREACHABLE');
  expect(await exited).toBe(0);
  expect(performance.now() - stoppedAt).toBeLessThan(STOPPED_WITHIN_MS);
});

it('a stop does not wait beyond 10 s for clients that send nothing, half a request, or do not read', async () => {
  const tokens = generatedListings(1, 4_000).tokens.map((row) => ({ ...row, name: 'x'.repeat(1000) }));
  const upstream = await startFakeUpstream({ tokens }, onTestFinished);
  const { address, child, exited, output } = await startGatewayProcess({ UPSTREAM_URL: upstream.url });
  await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
  const open = async (bytes: string) => {
    const connection = await openRaw(address, { isReading: false });
    connection.socket.write(bytes);
    return connection.socket;
  };
  await open('');
  await open('POST /graphql HTTP/1.1\r\nHost:');
  await open('POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
  // The first bytes have arrived, and the rest then fills the buffers.
  await once(await open(postOf('{ a: tokens { name } b: tokens { name } }')), 'readable');
  await sleep(300);
  const stoppedAt = performance.now();
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  // A faster stop would mean that the buffers held the whole response, and no connection was cut.
  expect(performance.now() - stoppedAt).toBeGreaterThan(5000);
  expect(performance.now() - stoppedAt).toBeLessThan(STOPPED_WITHIN_MS);
  expect(output()).toContain('"msg":"Stopped"');
});

it('a stop waits for the upstream only if a client waits', async () => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.plan('tokens', stall);
  const { child, exited } = await startGatewayProcess({
    UPSTREAM_URL: upstream.url,
    UPSTREAM_TIMEOUT_MS: '60000',
  });
  await expect.poll(() => upstream.count('tokens')).toBe(1);
  const stoppedAt = performance.now();
  child.kill('SIGINT');
  expect(await exited).toBe(0);
  // If the gateway waited for the upstream, it would give up only after 6 s.
  expect(performance.now() - stoppedAt).toBeLessThan(5000);
});
