/** In any order of requests and refreshes, each answer is consistent with the rows that are served. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { RawChain, RawToken } from './fixtures/demo.js';
import { chainRow, tokenRow } from './fixtures/rows.js';
import { json, late, startFakeUpstream, status } from './support/fake-upstream.js';
import { refresh } from './support/test-gateway.js';
import {
  type Asked,
  FRESH,
  plainOf,
  type Received,
  startServer,
  type TestServer,
} from './support/test-server.js';

/** A factor for longer runs: it multiplies the number of event sequences. */
const TIMES = Number(process.env.DIFFERENTIAL_TIMES ?? 1);

/** The rows of the upstream. Served rows can lack a price. */
interface World {
  readonly chains: readonly RawChain[];
  readonly tokens: readonly (Omit<RawToken, 'price'> & { readonly price: RawToken['price'] | null })[];
}

const FIRST: World = {
  chains: ['alpha', 'beta', 'gamma'].map((key) => chainRow(key) as RawChain),
  tokens: Array.from(
    { length: 8 },
    (_nothing, nth) =>
      tokenRow(['alpha', 'beta'][nth % 2] ?? '', `0x${String(nth + 1).repeat(40)}`, {
        symbol: `T${nth}`,
        name: `Token ${nth}`,
        decimals: nth,
        price: { usd: 40 + nth },
      }) as RawToken,
  ),
};

/** The changes of rows before the next refresh. `nth` chooses a row, and `stamp` is different each time. */
type Change = (world: World, nth: number, stamp: number) => World;

const changeAt = <Row>(rows: readonly Row[], nth: number, change: (row: Row) => Partial<Row>) =>
  rows.map((row, index) => (index === nth % rows.length ? { ...row, ...change(row) } : row));
const ofTokens =
  (change: (tokens: World['tokens'], nth: number, stamp: number) => World['tokens']): Change =>
  (world, nth, stamp) => ({ ...world, tokens: change(world.tokens, nth, stamp) });
const ofToken = (change: (stamp: number, row: World['tokens'][number]) => Partial<World['tokens'][number]>) =>
  ofTokens((tokens, nth, stamp) => changeAt(tokens, nth, (row) => change(stamp, row)));
const chainNamed: Change = (world, nth, stamp) => ({
  ...world,
  chains: changeAt(world.chains, nth, () => ({ name: `Chain ${stamp}` })),
});
const address = (stamp: number, filler: string) => `0x${stamp.toString(16).padStart(40, filler)}`;
const named = ofToken((stamp) => ({ name: `Name ${stamp}` }));

const CHANGES: Readonly<Record<string, Change>> = {
  nothing: (world) => world,
  'a name': named,
  'a price': ofToken((stamp) => ({ price: { usd: 50 + (stamp % 200) } })),
  'decimals, which are held back': ofToken((stamp, { decimals }) => ({
    decimals: (decimals + 1 + (stamp % 200)) % 256,
  })),
  'an address': ofToken((stamp) => ({ address: address(stamp, 'a') })),
  'the order of rows': ofTokens((tokens) => [...tokens.slice(1), ...tokens.slice(0, 1)]),
  'one row less': ofTokens((tokens, nth) =>
    tokens.length > 3 ? tokens.filter((_row, index) => index !== nth % tokens.length) : tokens,
  ),
  'one row more': ofTokens((tokens, _nth, stamp) => [
    ...tokens,
    tokenRow('gamma', address(stamp, 'b'), { symbol: `N${stamp}` }) as RawToken,
  ]),
  'nearly all rows gone, which is held back': ofTokens((tokens) => tokens.slice(0, 2)),
  'a name and the name of a chain': (world, nth, stamp) => chainNamed(named(world, nth, stamp), nth, stamp),
};

/** The rows that the gateway serves at one moment, and the time of the token listing. */
interface Served extends World {
  readonly takenAt: number;
}

/** A question, and its answer computed from the rows in a second, simple way without indexes. */
interface Question {
  readonly asked: Asked;
  /** A variable whose text is different each time. */
  readonly isNewBy?: string;
  answer(served: Served): unknown;
}

const KEY = { chainKey: 'alpha', address: `0x${'1'.repeat(40)}` };
const nameOf = ({ chains }: World, key: string) => ({
  name: chains.find(({ chainKey }) => chainKey === key)?.name,
});

const ALL_TOKENS = 'tokens { address decimals symbol name price { usd } chain { name } }';
const allTokens = (served: Served) => ({
  tokens: served.tokens.map(({ address, decimals, symbol, name, price, chainKey }) => {
    return { address, decimals, symbol, name, price, chain: nameOf(served, chainKey) };
  }),
});

const QUESTIONS: readonly Question[] = [
  { asked: { query: `{ ${ALL_TOKENS} }` }, answer: allTokens },
  {
    asked: {
      query: `query ($nobody: String!) { ${ALL_TOKENS} nobody: chain(chainKey: $nobody) { name } }`,
    },
    isNewBy: 'nobody',
    answer: (served) => ({ ...allTokens(served), nobody: null }),
  },
  {
    asked: { query: '{ tokens { address name } }' },
    answer: ({ tokens }) => ({ tokens: tokens.map(({ address, name }) => ({ address, name })) }),
  },
  {
    asked: { query: '{ chains { chainKey name tokenCount } }' },
    answer: ({ chains, tokens }) => ({
      chains: chains.map(({ chainKey, name }) => {
        return { chainKey, name, tokenCount: tokens.filter((token) => token.chainKey === chainKey).length };
      }),
    }),
  },
  {
    asked: { query: '{ chains { name } }' },
    answer: ({ chains }) => ({ chains: chains.map(({ name }) => ({ name })) }),
  },
  {
    asked: {
      query:
        'query ($chainKey: String!, $address: String!) { token(chainKey: $chainKey, address: $address) { decimals price { usd asOf } } }',
      variables: KEY,
    },
    answer(served) {
      const token = served.tokens.find(({ address }) => address === KEY.address);
      const asOf = new Date(served.takenAt).toISOString();
      return {
        token: token
          ? { decimals: token.decimals, price: token.price && { usd: token.price.usd, asOf } }
          : null,
      };
    },
  },
  {
    asked: {
      query:
        '{ tokenSearch(filter: { minPriceUsd: 50 }, first: 100) { totalCount edges { node { address } } } }',
    },
    answer({ tokens }) {
      const found = tokens.filter(({ price }) => price && price.usd >= 50);
      // Sorted, because only the set of rows is compared.
      return {
        tokenSearch: { totalCount: found.length, addresses: found.map(({ address }) => address).sort() },
      };
    },
  },
  {
    asked: { query: '{ chain(chainKey: "beta") { name tokens { address decimals price { usd } } } }' },
    answer: (served) => ({
      chain: {
        ...nameOf(served, 'beta'),
        tokens: served.tokens
          .filter(({ chainKey }) => chainKey === 'beta')
          .map(({ address, decimals, price }) => ({ address, decimals, price })),
      },
    }),
  },
];

const questions = fc.record({
  /** The index of the question. */
  of: fc.nat(QUESTIONS.length - 1),
  method: fc.constantFrom('GET', 'POST'),
  encoding: fc.constantFrom('', 'br', 'gzip'),
  hasTags: fc.boolean(),
});
type Choice = typeof questions extends fc.Arbitrary<infer Chosen> ? Chosen : never;

/** Choices of listings whose refresh fails: mostly no listing. */
const FAILING: readonly string[] = ['', '', '', '', 'chains', 'tokens', 'chains tokens'];

const events = fc.oneof(
  { weight: 3, arbitrary: questions.map((question) => ({ ask: question })) },
  {
    weight: 2,
    arbitrary: fc.record({
      change: fc.constantFrom(...Object.keys(CHANGES)),
      nth: fc.nat(20),
      /** The listings whose refresh fails. */
      failing: fc.constantFrom(...FAILING),
      meanwhile: fc.array(questions, { maxLength: 5 }),
    }),
  },
);

/** The rows that the gateway serves, in the form of the upstream. */
function servedBy({ snapshots }: TestServer): Served {
  const { chains, tokens } = snapshots.current();
  if (!chains || !tokens) throw new Error('Expected both listings to be there');
  return {
    chains: chains.rows as readonly RawChain[],
    tokens: tokens.rows as unknown as World['tokens'],
    takenAt: tokens.takenAt,
  };
}

/** The rows that answers can contain: all but tokens with held-back facts. */
function shown({ chains, tokens }: World, heldBack: ReadonlySet<string> = new Set()): readonly string[] {
  const guarded = tokens.filter(({ address }) => !heldBack.has(address));
  return [
    JSON.stringify(chains, ['chainKey', 'name']),
    JSON.stringify(guarded, ['chainKey', 'address', 'decimals', 'name', 'price', 'usd']),
  ];
}

/** The addresses of tokens with held-back facts, and of new tokens that wait. */
function heldBackBy({ snapshots }: TestServer): ReadonlySet<string> {
  const tokens = snapshots.current().tokens;
  const held = tokens?.rows.filter(({ heldBack }) => heldBack.length > 0) ?? [];
  const waiting = tokens?.guard?.held.flatMap(({ rows }) => rows) ?? [];
  return new Set([...held, ...waiting].map(({ address }) => address));
}

let newcomers = 0;

/** Sends a question, and compares the answer with every pair of listings that was served meanwhile. */
async function check(server: TestServer, choice: Choice, tags: Map<string, string>): Promise<void> {
  const { of: nth, method, encoding, hasTags } = choice;
  const of = QUESTIONS[nth];
  if (!of) throw new Error(`Expected one of ${QUESTIONS.length} questions, got ${nth}`);
  const variables = { ...of.asked.variables, ...(of.isNewBy && { [of.isNewBy]: `nobody-${newcomers++}` }) };
  const asked = { ...of.asked, variables };
  const key = JSON.stringify(asked);
  const known = [...tags.keys()].filter((tag) => tag.startsWith(key)).map((tag) => tag.slice(key.length));
  const headers: Record<string, string> = { 'accept-encoding': encoding };
  if (hasTags && known.length > 0) headers['if-none-match'] = known.join(', ');
  const before = servedBy(server);
  const answer = await server.ask({ ...asked, method, headers });
  const after = servedBy(server);
  const body = bodyOf(answer, key, tags);
  const could = [before, after].flatMap(({ chains }) =>
    [before, after].map(({ tokens, takenAt }) =>
      JSON.stringify(of.answer(plain({ chains, tokens, takenAt }))),
    ),
  );
  expect(could, 'what is served now or was when it was asked').toContain(JSON.stringify(comparable(body)));
}

/** The body. For a 304, the earlier body with this tag. */
function bodyOf(answer: Received, key: string, tags: Map<string, string>): string {
  const tag = key + answer.headers.etag;
  if (answer.status === 304) return tags.get(tag) ?? 'none that was ever sent';
  expect(answer.status).toBe(200);
  const body = plainOf(answer).toString();
  if (answer.headers.etag === undefined) return body;
  expect(tags.get(tag) ?? body, 'the body of this tag').toBe(body);
  tags.set(tag, body);
  return body;
}

function comparable(body: string): unknown {
  const { data } = JSON.parse(body) as {
    data: { tokenSearch?: { totalCount: number; edges: { node: { address: string } }[] } };
  };
  if (!data.tokenSearch) return data;
  const { totalCount, edges } = data.tokenSearch;
  return { tokenSearch: { totalCount, addresses: edges.map(({ node }) => node.address).sort() } };
}

/** The rows without the times of prices. */
function plain({ chains, tokens, takenAt }: Served): Served {
  return {
    chains,
    tokens: tokens.map((token) => ({ ...token, price: token.price && { usd: token.price.usd } })),
    takenAt,
  };
}

/** Always included, because a random sequence can lack it. */
const HELD_BACK = { change: 'decimals, which are held back', nth: 1, failing: '', meanwhile: [] };

describe('an answer', () => {
  it('an answer is consistent with the served rows, in any order of requests and refreshes', async () => {
    let held = 0;
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(events, { minLength: 5, maxLength: 12, size: 'max' }), async (order) => {
        const upstream = await startFakeUpstream(FIRST);
        const server = await startServer({
          upstream,
          config: { ...FRESH, upstreamRetries: 0 },
          firstPauseMs: 3_600_000,
        });
        await refresh(server);
        const tags = new Map<string, string>();
        let world = FIRST;
        let stamp = 0;
        for (const event of order) {
          if ('ask' in event) {
            await check(server, event.ask, tags);
            continue;
          }
          stamp++;
          const { change, nth, failing, meanwhile } = event;
          const fails = (name: string) => failing.includes(name);
          const next = CHANGES[change]?.(world, nth, stamp) ?? world;
          world = {
            chains: fails('chains') ? world.chains : next.chains,
            tokens: fails('tokens') ? world.tokens : next.tokens,
          };
          for (const path of ['chains', 'tokens'] as const) {
            // Not 500: several in a row open the circuit breaker, and then a waiting refresh seems to have ended.
            upstream.plan(path, fails(path) ? status(404) : late(nth % 4, json({ [path]: next[path] })));
          }
          const before = shown(servedBy(server));
          const inFlight = refresh(server);
          // One after the other, so that some are sent before the refresh ends, and some at about that time.
          const asked = (async () => {
            for (const choice of meanwhile)
              await Promise.all([check(server, choice, tags), check(server, choice, tags)]);
          })();
          await Promise.all([inFlight, asked]);
          const heldBack = heldBackBy(server);
          held += heldBack.size;
          const served = servedBy(server);
          const listings = server.snapshots.status(Date.now());
          for (const [nth, listing] of listings.entries()) {
            const isOld = fails(listing.name) || listing.isHeldBack;
            const [now, expected] = isOld
              ? [shown(served), before]
              : [shown(served, heldBack), shown(world, heldBack)];
            expect(now[nth], `what is served of ${listing.name}`).toBe(expected[nth]);
            if (!isOld) taken++;
          }
          // All cached responses are requested again.
          for (const of of QUESTIONS.keys()) {
            const method = nth % 2 === 0 ? 'GET' : 'POST';
            await check(server, { of, method, encoding: '', hasTags: nth % 3 === 0 }, tags);
          }
        }
      }),
      { numRuns: 6 * TIMES, examples: [[[HELD_BACK, HELD_BACK]]] },
    );
    expect(taken).toBeGreaterThan(TIMES);
    expect(held).toBeGreaterThan(0);
  });
});
