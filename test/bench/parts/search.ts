import { createRandom, type LongTailToken, longTailTokens, type Random } from '../long-tail.js';
import { type Goal, shown, table } from '../report.js';
import { tell } from '../rounds.js';
import type { Part } from './bench.js';

/** The mean of all kinds of searches, and the longest block while tokens are indexed. A listing of 100,000 must only not stop the gateway. */
const GOALS: ReadonlyMap<number, { readonly micros: number; readonly blockMs: number }> = new Map([
  [5_000, { micros: 60, blockMs: 15 }],
  [100_000, { micros: 2_000, blockMs: 250 }],
]);
const ROUNDS = 5;
const REQUESTS_OF_A_KIND = 40;

interface Page {
  readonly tokens: readonly unknown[];
  readonly hasNext: boolean;
  sortKeyOf(index: number): unknown;
}
interface Request {
  readonly query: string;
  readonly filter: object;
  readonly order: string;
  readonly first: number;
  readonly after?: unknown;
  readonly pricesUsable: boolean;
}
type Search = (request: Request, chains: unknown) => Page;

/** What is used of the built gateway. */
interface Snapshots {
  createChainSnapshot(fetched: object): unknown;
  createTokenSnapshot(fetched: object): Promise<{ readonly search: Search }>;
}
const BUILT = new URL('../../../../dist/snapshots/snapshot.js', import.meta.url).href;

/** Searches within this process, over listings of mostly different tokens. */
export const search: Part = async () => {
  const snapshots = (await import(BUILT)) as Snapshots;
  const columns: { readonly micros: ReadonlyMap<string, number>; readonly blockMs: number }[] = [];
  for (const listed of GOALS.keys()) {
    tell(`Searches of ${listed} tokens`);
    columns.push(await measure(snapshots, listed));
  }
  tell('');
  const lines = [...(columns[0]?.micros.keys() ?? [])];
  const meanOf = (micros: ReadonlyMap<string, number>) =>
    [...micros.values()].reduce((sum, each) => sum + each, 0) / micros.size;
  return {
    title: 'Searches in process',
    text: table(
      ['CPU µs', ...[...GOALS.keys()].map((listed) => `${shown(listed, 0)} tokens`)],
      [
        ...lines.map((kind) => [
          kind,
          ...columns.map(({ micros }) => shown(micros.get(kind) ?? Number.NaN, 0)),
        ]),
        ['mean', ...columns.map(({ micros }) => shown(meanOf(micros), 0))],
        ['indexing, longest block, CPU ms', ...columns.map(({ blockMs }) => shown(blockMs, 1))],
      ],
      1,
    ),
    goals: [...GOALS].flatMap(([listed, { micros, blockMs }], nth): Goal[] => {
      const column = columns[nth];
      if (!column) return [];
      const mean = meanOf(column.micros);
      return [
        {
          goal: `a search of ${shown(listed, 0)} tokens, in process: ${micros} µs`,
          measured: `${shown(mean, 0)} µs`,
          isMet: mean <= micros,
        },
        {
          goal: `indexing ${shown(listed, 0)} tokens blocks for at most ${blockMs} ms`,
          measured: `${shown(column.blockMs, 1)} ms`,
          isMet: column.blockMs <= blockMs,
        },
      ];
    }),
  };
};

async function measure({ createChainSnapshot, createTokenSnapshot }: Snapshots, listed: number) {
  const random = createRandom(listed);
  const chainKeys = Array.from({ length: 80 }, (_, index) => `chain-${index}`);
  const tokens = longTailTokens(listed, chainKeys, random);
  const fetched = (rows: readonly object[]) => ({
    rows,
    source: 'v1',
    takenAt: Date.now(),
    rejected: { count: 0, first: [] },
  });
  const chains = createChainSnapshot(fetched(chainKeys.map(chainOf)));
  // The first time, V8 has optimised nothing yet, and the map of keys is made, which the parser makes otherwise.
  await createTokenSnapshot(fetched(tokens));
  let snapshot: { readonly search: Search } | undefined;
  const blockMs = await longestBlock(async () => {
    snapshot = await createTokenSnapshot(fetched(tokens));
  });
  if (!snapshot) throw new Error('Expected a snapshot');
  const searchTokens = snapshot.search;
  const ask = (requests: readonly Request[]) => {
    for (const request of requests) searchTokens(request, chains);
  };
  const kinds = [...kindsOf(tokens, random)].map(([kind, next]) => {
    const requests = Array.from({ length: REQUESTS_OF_A_KIND }, next);
    return { kind, requests: kind === 'later pages' ? requests.map(laterPage) : requests };
  });
  const micros = new Map<string, number>();
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { kind, requests } of kinds) {
      const before = cpuMicros();
      ask(requests);
      const each = (cpuMicros() - before) / requests.length;
      // The first round is for V8.
      if (round > 0) micros.set(kind, Math.min(each, micros.get(kind) ?? Number.POSITIVE_INFINITY));
    }
  }
  return { micros, blockMs };

  function laterPage(request: Request): Request {
    const { tokens: found, sortKeyOf } = searchTokens(request, chains);
    return found.length === 0 ? request : { ...request, after: sortKeyOf(found.length - 1) };
  }
}

/** What people search for, by kind. */
function kindsOf(tokens: readonly LongTailToken[], { below, pick, isLikely }: Random) {
  const request = (query: string, more: Partial<Request> = {}): Request => ({
    query,
    filter: {},
    order: 'RELEVANCE',
    first: 20,
    pricesUsable: true,
    ...more,
  });
  const order = () => pick(['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC']);
  const filter = () =>
    pick<object>([
      { chainKeys: [pick(tokens).chainKey] },
      { chainTypes: ['evm'], hasPrice: true },
      { isBridgeable: true, minPriceUsd: 10 },
      { symbols: [pick(tokens).symbol, pick(tokens).symbol] },
      { isNative: true },
    ]);
  const begin = () => (isLikely(0.5) ? pick(tokens).symbol.slice(0, 3) : '');
  return new Map<string, () => Request>([
    ['prefixes', () => request(pick([pick(tokens).symbol, pick(tokens).name]).slice(0, 1 + below(5)))],
    ['symbols', () => request(pick(tokens).symbol)],
    ['two words', () => request(`${pick(tokens).symbol} ${pick(tokens).chainKey}`)],
    [
      'infixes',
      () =>
        request(
          pick(tokens)
            .name.slice(1 + below(2))
            .slice(0, 3 + below(3)),
        ),
    ],
    ['addresses', () => request(pick(tokens).address)],
    ['nothing found', () => request(`${pick(tokens).symbol}qx zz${below(1e6)}`)],
    ['filters', () => request(begin(), { filter: filter(), order: order() })],
    ['later pages', () => request(begin(), { order: order() })],
  ]);
}

function chainOf(chainKey: string) {
  const nativeCurrency = {
    chainKey,
    name: 'Ether',
    symbol: 'ETH',
    decimals: 18,
    address: `0x${'e'.repeat(40)}`,
  };
  return {
    chainKey,
    chainType: 'evm',
    chainId: 1,
    shortName: chainKey,
    name: `The ${chainKey}`,
    nativeCurrency,
  };
}

/** The most CPU milliseconds between two turns of the event loop meanwhile; the machine is shared, so not the time. */
async function longestBlock(work: () => Promise<void>): Promise<number> {
  let longest = 0;
  let last = cpuMicros();
  let isDone = false;
  const turn = () => {
    const now = cpuMicros();
    longest = Math.max(longest, now - last);
    last = now;
    if (!isDone) setImmediate(turn);
  };
  setImmediate(turn);
  await work();
  isDone = true;
  return longest / 1000;
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}
