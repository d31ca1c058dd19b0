/** Several whole gateways that share one upstream through one real Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { onTestFinished } from 'vitest';
import { fingerprint } from '../../src/domain/digests.js';
import { encodeListing } from '../../src/storage/stored-listing.js';
import { TOKENS } from '../../src/upstream/listing-kinds.js';
import { peerScope } from '../../src/upstream/services.js';
import { tokenRow } from '../fixtures/rows.js';
import { repeat } from './ends.js';
import { type Answer, type FakeUpstream, json, startFakeUpstream } from './fake-upstream.js';
import { startRedis, type TestRedis } from './redis.js';
import { createTestGateway, defaultConfig, type TestGateway, type TestOptions } from './test-gateway.js';

/** Starts this many gateways. By default, the upstream's prices change in each response. The test's end ends them. */
export async function startPeers(count: number, options: TestOptions & { redis?: TestRedis } = {}) {
  const { redis = await startRedis(), upstream = await startMovingUpstream(), ...rest } = options;
  async function join(others: TestOptions = {}): Promise<TestGateway> {
    const config = { upstreamRetries: 0, redisUrl: redis.url, ...rest.config, ...others.config };
    const gateway = await createTestGateway({ ...rest, upstream, ...others, config });
    gateway.snapshots.start();
    return gateway;
  }
  const gateways = await Promise.all(Array.from({ length: count }, () => join()));
  return {
    redis,
    upstream,
    gateways,
    join,
    key: (name: string) => prefixOf(upstream.url) + name,
  };
}

export function prefixOf(url: string, format = 1): string {
  const scope = peerScope({ ...defaultConfig(), upstreamUrl: url });
  return `{chains-and-tokens-gateway:${format}:${scope}}:`;
}

/** The members of the key `tokens:snapshot` in Redis, as a gateway without a guard would write these rows. */
export async function snapshotOf(url: string, rows: readonly unknown[], takenAt: number) {
  const listing = await TOKENS.parse(rows, { source: 'v1', takenAt });
  const text = await encodeListing(TOKENS, listing, { v1: fingerprint(url) });
  return { takenAt, text: text.toString() };
}

export async function startMovingUpstream(): Promise<FakeUpstream> {
  return startFakeUpstream({ tokens: moving() });
}

/** The chain that the tokens of {@link moving} are on. */
export const CHAIN = 'ethereum';
export const SYMBOLS = ['ONE', 'TWO', 'THREE', 'FOUR'] as const;

export function sources(count: number) {
  return Array.from({ length: count }, (_, index) => tokenRow(CHAIN, `0xa${index}`));
}

/** The same tokens, at another price in each answer. @param others further rows, which do not change */
export function moving(others: readonly object[] = []): Answer {
  return (_response, _request, usd) => {
    const tokens = SYMBOLS.map((symbol, index) =>
      tokenRow(CHAIN, `0x${index + 1}`, { symbol, price: { usd } }),
    );
    return json({ tokens: [...tokens, ...others] });
  };
}

export function refreshes(gateways: readonly TestGateway[], listing: string, outcome: string): number {
  const ended = gateways.flatMap((gateway) => gateway.refreshes);
  return ended.filter((each) => each.listing === listing && each.outcome === outcome).length;
}

export async function symbolsOf({ query }: TestGateway): Promise<readonly (string | undefined)[]> {
  const { data, errors } = await query<{ tokens: readonly { symbol: string }[] }>('{ tokens { symbol } }');
  return errors?.map(({ extensions }) => extensions?.code) ?? data?.tokens.map(({ symbol }) => symbol) ?? [];
}

const TICK_MS = 20;

/**
 * Queries each gateway again and again until the test ends. Returns the wrong answers and the longest wait. The wait is
 * measured in ticks of a timer in this process: it hardly grows while other processes use the processor.
 */
export function watchAnswers(gateways: readonly TestGateway[]) {
  const seen = { wrong: [] as unknown[], answers: 0, longestMs: 0 };
  let ticks = 0;
  const ticking = setInterval(() => ticks++, TICK_MS);
  onTestFinished(() => clearInterval(ticking));
  for (const gateway of gateways)
    repeat(async () => {
      const askedAt = ticks;
      const symbols = await symbolsOf(gateway);
      seen.longestMs = Math.max(seen.longestMs, (ticks - askedAt) * TICK_MS);
      seen.answers++;
      if (symbols.join() !== SYMBOLS.join()) seen.wrong.push(symbols);
      await sleep(20);
    });
  return seen;
}
