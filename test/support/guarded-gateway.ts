/** A gateway with stopped clocks that gets each listing from the test, to see which values it holds back. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { DAY, MINUTE, type StoppedClocks, stopClocks, until } from './clock.js';
import { temporaryDirectory } from './ends.js';
import { type FakeAnswers, type FakeListings, json, startFakeUpstream } from './fake-upstream.js';
import { createTestGateway, sampleOf, type TestGateway, type TestOptions } from './test-gateway.js';

interface GuardedRow {
  readonly chainKey: string;
  readonly address: string;
  readonly decimals: number;
  readonly price: { readonly usd: number } | null;
  readonly heldBack: readonly { readonly fact: string; readonly since: string }[];
}

export type GuardedGateway = Awaited<ReturnType<typeof startGuarded>>;

interface GuardedOptions extends TestOptions {
  readonly clock?: StoppedClocks;
}

/** Almost as long as a timer of Node can wait, in milliseconds. */
const LONG = 20 * DAY;
const SELDOM = { chainsFreshMs: LONG, tokensFreshMs: LONG, upstreamRetries: 0 };

/** Starts a gateway with both listings. The clocks of this process are stopped; `bring` advances them. */
export async function startGuarded(listings: FakeAnswers, options: GuardedOptions = {}) {
  const {
    clock = stopClocks(),
    upstream = await startFakeUpstream(listings),
    config = {},
    ...others
  } = options;
  const gateway = await createTestGateway({
    ...others,
    upstream,
    config: { ...SELDOM, ...config },
    firstPauseMs: LONG,
    hasListings: true,
  });
  const { query, snapshots, logged } = gateway;
  async function tokens() {
    const { data } = await query<{ tokens: readonly GuardedRow[] }>(
      '{ tokens { chainKey address symbol decimals price { usd } heldBack { fact served upstream since } } }',
    );
    return data?.tokens ?? [];
  }
  return {
    ...gateway,
    clock,
    config,
    tokens,
    first: async () => (await tokens())[0],
    row: async (address = '0x1') => (await tokens()).find((row) => row.address === address),
    async bring(rows: FakeListings, afterMs = MINUTE / 2, headers?: Record<string, string>) {
      clock.advance(afterMs);
      for (const name of ['chains', 'tokens'] as const) {
        const sent = rows[name];
        if (sent) upstream.plan(name, json({ [name]: sent }, headers));
      }
      await gateway.refresh();
    },
    async chains(): Promise<readonly Record<string, unknown>[]> {
      const { data } = await query<{ chains: readonly Record<string, unknown>[] }>(
        `{ chains { chainKey chainId chainType caip2 nativeCurrency { symbol decimals address }
          heldBack { fact served upstream since } } }`,
      );
      return data?.chains ?? [];
    },
    /** Waits until the gateway has written its listings to disk, and stops it as the end of its process would. */
    stop: () => stopGuarded({ snapshots }, config.snapshotDir),
    sample: (series: string) => sampleOf(gateway, series),
    heldBackLines: () => logged.map(({ msg }) => msg).filter((msg) => msg.startsWith('Held back in the ')),
    /** The last rule in the log that an operator can paste into `LISTING_RULES`. */
    ruleInLog() {
      const lines = logged.flatMap(({ msg }) => / add this line to LISTING_RULES: (.*)$/.exec(msg) ?? []);
      return lines.at(-1);
    },
    heldBackRows(): readonly [chains: number, tokens: number] {
      const [chains, tokens] = snapshots.status(Date.now());
      return [chains.heldBackRows, tokens.heldBackRows];
    },
  };
}

export const numbered = (number: number, changes: object = {}) =>
  tokenRow('a', `0x${number.toString(16)}`, { symbol: `S${number}`, ...changes });

export const numberedRows = (count: number, from = 1, changes: object = {}) =>
  Array.from({ length: count }, (_, index) => numbered(index + from, changes));

/** LISTINGS has eleven tokens; WRONG has the same tokens, but the first one with other decimals. */
const PRICED = { price: { usd: 1 } };
const [FIRST, ...OTHERS] = [numbered(1, PRICED), ...numberedRows(10, 10, PRICED)];
export const LISTINGS = { chains: [chainRow('a')], tokens: [FIRST, ...OTHERS] };
export const WRONG = [{ ...FIRST, decimals: 18 }, ...OTHERS];

export const onDisk = () => ({ config: { snapshotDir: temporaryDirectory() } });

export async function stopGuarded({ snapshots }: Pick<TestGateway, 'snapshots'>, directory = '') {
  const served = snapshots.status(Date.now()).map(({ takenAt }) => takenAt);
  const kept = () =>
    ['chains', 'tokens'].map((name) => {
      const files = readdirSync(directory).filter((file) =>
        new RegExp(`^${name}-\\w+\\.\\d+\\.snapshot$`).test(file),
      );
      const times = files.map((file) => {
        const [, json = '{}'] = readFileSync(join(directory, file), 'utf8').split('\n');
        return Number((JSON.parse(json) as { takenAt: number }).takenAt);
      });
      return Math.max(...times);
    });
  await until(async () => kept().every((takenAt, index) => takenAt === served[index]));
  snapshots.stop();
}

/** Ends a gateway, and starts another one with the same upstream, clock and settings, unless others are given. */
export async function restart(before: GuardedGateway, options: GuardedOptions = {}): Promise<GuardedGateway> {
  await before.stop();
  const { upstream, clock, config } = before;
  return startGuarded({}, { upstream, clock, ...options, config: { ...config, ...options.config } });
}
