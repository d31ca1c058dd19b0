import { describe, expect, it, onTestFinished } from 'vitest';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { isRedisMissing, startRedis } from '../support/redis.js';
import { startManyRequests } from './many-requests.js';
import { startNginx } from './nginx.js';
import { areMissing } from './programs.js';
import { createReplica } from './replica.js';

/** The number of requests. `DEPLOYED_REQUESTS=500000 npm run project deploy` sends more than the default. */
const REQUESTS = Number(process.env.DEPLOYED_REQUESTS ?? 20_000);
if (!Number.isSafeInteger(REQUESTS) || REQUESTS < 1_000) {
  throw new Error(`Expected how many requests to send, 1000 or more, got ${process.env.DEPLOYED_REQUESTS}`);
}
const CONNECTIONS = 32;

async function startPair() {
  const redis = await startRedis();
  const upstream = await startFakeUpstream();
  onTestFinished(upstream.close);
  const env = { UPSTREAM_URL: upstream.url, REDIS_URL: redis.url, TRUSTED_PROXIES: '127.0.0.1' };
  return [await createReplica(env), await createReplica(env)] as const;
}

describe.skipIf(areMissing('nginx') || isRedisMissing)('two gateways behind nginx', () => {
  it(`lose none of ${REQUESTS} requests in a rolling restart and when one is killed`, {
    timeout: 300_000 + REQUESTS * 5,
  }, async () => {
    const [one, other] = await startPair();
    const nginx = await startNginx([one.port, other.port]);
    const began = performance.now();
    const load = startManyRequests(nginx.address, CONNECTIONS);
    const at = (share: number) => load.reach(REQUESTS * share);
    for (const [share, replica] of [
      [0.1, one],
      [0.3, other],
    ] as const) {
      await at(share);
      expect(await replica.end('SIGTERM'), replica.output()).toBe(0);
      await replica.start();
    }
    for (const [share, replica] of [
      [0.5, one],
      [0.7, other],
      [0.8, one],
    ] as const) {
      await at(share);
      expect(await replica.end('SIGKILL')).toBeNull();
      await at(share + 0.05);
      await replica.start();
    }
    await at(1);
    await load.stop();
    const seconds = (performance.now() - began) / 1000;
    const attempts = Object.entries(nginx.failedAttempts()).map(([reason, count]) => `${count} × ${reason}`);
    process.stdout.write(
      `${load.answered} requests in ${seconds.toFixed(0)} s (${Math.round(load.answered / seconds)}/s, the longest ${Math.round(load.longestMs)} ms): ${load.failures.length} failed. Attempts that nginx repeated: ${attempts.join('; ')}.\n`,
    );
    expect(load.failures).toEqual([]);
    expect(load.answered).toBeGreaterThanOrEqual(REQUESTS);
    // Each gateway answered a part of the requests, and some requests met a stopped gateway and could have been lost.
    for (const replica of [one, other]) expect(await replica.answered()).toBeGreaterThan(REQUESTS / 10);
    expect(attempts.join()).toContain('Connection refused');
  });
});
