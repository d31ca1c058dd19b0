/** Gateways behind a load balancer give right answers in time, whichever of them is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { demoTokens } from './fixtures/demo.js';
import { type FakeUpstream, json, late, reset, startFakeUpstream } from './support/fake-upstream.js';
import { type GatewayProcess, startGatewayProcess } from './support/gateway-process.js';
import { prefixOf } from './support/peers.js';
import { isRedisMissing, startRedis } from './support/redis.js';

const QUERY =
  '{ tokens(srcChainKey: "degen") { symbol chain { name } } chains(search: "degen") { chainKey } }';
const REQUESTS_PER_SECOND = 3;
/** Upper bound for any answer, including requests whose gateway was killed and that had to be retried. */
const ANSWER_WITHIN_MS = 30_000;

const RIGHT = {
  data: {
    tokens: demoTokens
      .filter(({ chainKey }) => chainKey === 'degen')
      .map(({ symbol }) => ({ symbol, chain: { name: 'Degen' } })),
    chains: [{ chainKey: 'degen' }],
  },
};

/** The fault in an answer of a gateway. Undefined if the answer is right. */
async function faultOf(response: Response): Promise<string | undefined> {
  const text = await response.text();
  if (response.status === 200 && isDeepStrictEqual(JSON.parse(text), RIGHT)) return undefined;
  return `HTTP ${response.status}: ${text.slice(0, 300)}`;
}

function post(address: string, query: string): Promise<Response> {
  return fetch(`${address}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
    signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
  });
}

/** Starts gateways that can be killed, and distributes requests. A gateway that refuses a connection is skipped. */
function startBalancer(start: () => Promise<GatewayProcess>) {
  const slots: (GatewayProcess | undefined)[] = [];
  let next = 0;
  return {
    async fill(count: number): Promise<void> {
      slots.push(...(await Promise.all(Array.from({ length: count }, start))));
    },
    async kill(slot: number): Promise<void> {
      const victim = slots[slot];
      // The gateway gets requests until it has ended, so that some connections break while it answers.
      victim?.child.kill('SIGKILL');
      await victim?.exited;
      slots[slot] = undefined;
    },
    /** Starts a gateway in place of a killed one. The new one gets requests after `check` has passed. */
    async restart(slot: number, check: (started: GatewayProcess) => Promise<void>): Promise<void> {
      const started = await start();
      await check(started);
      slots[slot] = started;
    },
    /** Whether each gateway shares through Redis now, according to its metric. */
    connected(): Promise<readonly (string | undefined)[]> {
      return Promise.all(
        slots.map(async (gateway) => {
          const metrics = gateway ? await (await fetch(`${gateway.address}/metrics`)).text() : '';
          return /^gateway_redis_connected (\d)$/m.exec(metrics)?.[1];
        }),
      );
    },
    /** The answer of the first gateway that responds. */
    async ask(query: string): Promise<Response> {
      for (const _each of [...slots, ...slots]) {
        const gateway = slots[next++ % slots.length];
        if (!gateway) continue;
        try {
          const response = await post(gateway.address, query);
          // The body may break off, too.
          return new Response(await response.text(), response);
        } catch (error) {
          if (error instanceof Error && error.name === 'TimeoutError') throw error;
        }
      }
      throw new Error('No gateway took the question');
    },
  };
}

/** Calls `once` again and again, four calls at a time, until the test ends or calls the returned function. */
function repeat(once: () => Promise<void>): () => Promise<void> {
  let isOver = false;
  const running = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      await once();
      await sleep(40);
    }
  });
  const stop = async () => {
    isOver = true;
    await Promise.all(running);
  };
  onTestFinished(stop);
  return stop;
}

type Span = Readonly<Record<'from' | 'to', number>>;

/** The times in which a gateway works without Redis, each with one second more after its return to Redis. */
function spansAlone({ output }: GatewayProcess): readonly Span[] {
  const said = [...output().matchAll(/"time":"([^"]+)".*"msg":"(Redis cannot|Sharing snapshots)/g)].map(
    ([, time = '', what]) => ({ at: Date.parse(time) - Date.now() + performance.now(), what }),
  );
  return said.flatMap(({ at, what }, index) =>
    what === 'Redis cannot' ? [{ from: at, to: (said[index + 1]?.at ?? at) + 1000 }] : [],
  );
}

/** The window in which requests are counted: so long that delays of a busy machine matter little. */
const SECONDS = 5;

/**
 * The most requests that certainly arrived within {@link SECONDS}. Windows that overlap one of the spans do not count. While
 * this process is blocked, requests wait unread, so a request may have arrived before it was read.
 */
function mostTogether({ seen }: FakeUpstream, except: readonly Span[]): number {
  const ms = SECONDS * 1000;
  const counts = seen
    .filter(({ at }) => !except.some(({ from, to }) => at + ms > from && at < to))
    .map(({ at }) => seen.filter((other) => other.notBefore >= at && other.at < at + ms).length);
  return Math.max(0, ...counts);
}

describe.skipIf(isRedisMissing)('gateways behind a load balancer, with one Redis', () => {
  it('gateways give right answers whichever of them is killed, also without Redis and without the upstream', async () => {
    const redis = await startRedis();
    const upstream = await startFakeUpstream({}, onTestFinished);
    // The upstream is so slow that some gateways are killed while they wait for a response.
    upstream.plan('tokens', late(150, json({ tokens: demoTokens })));
    upstream.plan('routes', late(150, json({ tokens: [] })));
    const listingsTaken = () => upstream.seen.filter(({ url }) => url.endsWith('/tokens')).length;
    const started: GatewayProcess[] = [];
    const balancer = startBalancer(async () => {
      const gateway = await startGatewayProcess({
        UPSTREAM_URL: upstream.url,
        REDIS_URL: redis.url,
        CHAINS_FRESH_MS: '1500',
        TOKENS_FRESH_MS: '1000',
        UPSTREAM_REQUESTS_PER_SECOND: String(REQUESTS_PER_SECOND),
      });
      started.push(gateway);
      return gateway;
    });
    await balancer.fill(3);
    await expect.poll(() => balancer.ask(QUERY).then(faultOf)).toBeUndefined();
    const seen = { right: 0, wrong: [] as string[] };
    const stop = repeat(async () => {
      const fault = await balancer.ask(QUERY).then(faultOf, String);
      if (fault === undefined) seen.right++;
      else seen.wrong.push(fault);
    });
    let asked = 0;
    // Requests for new routes all the time, so that requests to the upstream are always waiting. The tokens are listed,
    // because routes of unlisted tokens cost the upstream no request.
    const stopFlood = repeat(async () => {
      const { chainKey, address } = demoTokens[asked++ % demoTokens.length] ?? {};
      const query = `{ tokens(srcChainKey: "${chainKey}", srcToken: "${address}") { symbol } }`;
      await balancer.ask(query).catch(() => {});
    });

    async function killEachGateway(): Promise<void> {
      for (const slot of [0, 1, 2]) {
        await balancer.kill(slot);
        await balancer.restart(slot, async ({ address, output }) => {
          const answer = () => post(address, QUERY).then(faultOf);
          const fault = await answer();
          // On a busy machine the first connection to Redis may take too long. The gateway logs this, and has no data at first.
          if (output().includes('Redis cannot be used')) await expect.poll(answer).toBeUndefined();
          else expect(fault).toBeUndefined();
        });
      }
    }

    async function killRedis(): Promise<void> {
      await redis.kill();
      await expect.poll(balancer.connected).toEqual(['0', '0', '0']);
      const { right } = seen;
      await expect.poll(() => seen.right - right).toBeGreaterThan(100);
      await redis.start();
      await expect.poll(balancer.connected).toEqual(['1', '1', '1']);
      const keys = ['chains', 'tokens'].map((name) => `${prefixOf(upstream.url)}${name}:snapshot`);
      await expect.poll(() => redis.client.exists(keys)).toBe(2);
    }

    await killEachGateway();
    await killRedis();
    await stopFlood();
    const refreshed = listingsTaken();
    await expect.poll(() => listingsTaken() - refreshed).toBeGreaterThan(2);

    upstream.planBoth(reset);
    const count = upstream.count();
    await expect.poll(() => upstream.count()).toBeGreaterThan(count);
    await killRedis();
    await killEachGateway();

    await stop();
    expect(seen.wrong).toEqual([]);
    expect(seen.right).toBeGreaterThan(500);
    const together = mostTogether(upstream, started.flatMap(spansAlone));
    expect(together).toBeGreaterThan(SECONDS);
    // Two seconds more are allowed for delayed requests. Without sharing, there would be three times as many requests.
    expect(together).toBeLessThanOrEqual((SECONDS + 2) * REQUESTS_PER_SECOND);
    // At worst there are the last requests of a killed gateway, and then those of three gateways that work without Redis.
    expect(mostTogether(upstream, [])).toBeLessThanOrEqual(4 * (SECONDS + 2) * REQUESTS_PER_SECOND);
  }, 600_000);
});
