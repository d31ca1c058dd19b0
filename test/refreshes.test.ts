/** In any order of requests and refreshes, each answer is the one that graphql-js gives from the served listings. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { RawChain, RawToken } from './fixtures/demo.js';
import { chainRow, tokenRow } from './fixtures/rows.js';
import { createExecutor } from './graph/executor.js';
import { json, late, status } from './support/fake-upstream.js';
import { FRESH, plainOf, type Received, startServer, type TestServer } from './support/test-server.js';

/** A factor for longer runs: it multiplies the number of event sequences. */
const TIMES = Number(process.env.DIFFERENTIAL_TIMES ?? 1);

type World = { readonly chains: readonly RawChain[]; readonly tokens: readonly RawToken[] };

const FIRST: World = {
  chains: ['alpha', 'beta', 'gamma'].map((key) => chainRow(key) as RawChain),
  tokens: Array.from({ length: 8 }, (_nothing, nth) =>
    token(['alpha', 'beta'][nth % 2] ?? '', `0x${String(nth + 1).repeat(40)}`, {
      symbol: `T${nth}`,
      name: `Token ${nth}`,
      decimals: nth,
      price: { usd: 40 + nth },
    }),
  ),
};

function token(...row: Parameters<typeof tokenRow>): RawToken {
  return tokenRow(...row) as RawToken;
}

/** Changes rows of the upstream before a refresh. `nth` chooses a row, and `stamp` is different each time. */
type Change = (world: World, nth: number, stamp: number) => Partial<World>;

const changeAt = <Row>(rows: readonly Row[], nth: number, change: (row: Row) => Partial<Row>) =>
  rows.map((row, index) => (index === nth % rows.length ? { ...row, ...change(row) } : row));
const ofToken =
  (change: (stamp: number, row: RawToken) => Partial<RawToken>): Change =>
  ({ tokens }, nth, stamp) => ({ tokens: changeAt(tokens, nth, (row) => change(stamp, row)) });
const address = (stamp: number, filler: string) => `0x${stamp.toString(16).padStart(40, filler)}`;

const CHANGES: Readonly<Record<string, Change>> = {
  nothing: () => ({}),
  'a name': ofToken((stamp) => ({ name: `Name ${stamp}` })),
  'a price': ofToken((stamp) => ({ price: { usd: 50 + (stamp % 200) } })),
  'decimals, which are held back': ofToken((stamp, { decimals }) => ({
    decimals: (decimals + 1 + (stamp % 200)) % 256,
  })),
  'an address': ofToken((stamp) => ({ address: address(stamp, 'a') })),
  'the order of rows': ({ tokens }) => ({ tokens: [...tokens.slice(1), ...tokens.slice(0, 1)] }),
  'one row less': ({ tokens }, nth) =>
    tokens.length > 3 ? { tokens: tokens.filter((_row, index) => index !== nth % tokens.length) } : {},
  'one row more': ({ tokens }, _nth, stamp) => ({
    // A price near the others: one that is ten times higher later would be hidden.
    tokens: [...tokens, token('gamma', address(stamp, 'b'), { symbol: `N${stamp}`, price: { usd: 45 } })],
  }),
  'nearly all rows gone, which is held back': ({ tokens }) => ({ tokens: tokens.slice(0, 2) }),
  'the name of a chain': ({ chains }, nth, stamp) => ({
    chains: changeAt(chains, nth, () => ({ name: `Chain ${stamp}` })),
  }),
};

const FIELDS = [
  'tokens { address decimals symbol name price { usd } chain { name } }',
  'tokens { address name }',
  'chains { chainKey name tokenCount }',
  'chains { name }',
  `token(chainKey: "alpha", address: "0x${'1'.repeat(40)}") { decimals price { usd asOf } chain { name } }`,
  'tokenSearch(filter: { minPriceUsd: 50 }, first: 100) { totalCount edges { node { address } } }',
  'chain(chainKey: "beta") { name tokenCount tokens { address decimals heldBack { upstream } price { usd asOf } } }',
];
/** Each field twice: alone, so that the response is cached, and with a new variable, so that no cached one fits. */
const QUESTIONS = FIELDS.flatMap((field) => [
  `{ ${field} }`,
  `query ($new: String!) { ${field} nobody: chain(chainKey: $new) { name } }`,
]);

const questions = fc.record({
  of: fc.nat(QUESTIONS.length - 1),
  method: fc.constantFrom('GET', 'POST'),
  encoding: fc.constantFrom('', 'br', 'gzip'),
  hasTags: fc.boolean(),
});
type Choice = typeof questions extends fc.Arbitrary<infer Chosen> ? Chosen : never;

const events = fc.oneof(
  { weight: 3, arbitrary: questions.map((question) => ({ ask: question })) },
  {
    weight: 2,
    arbitrary: fc.record({
      change: fc.constantFrom(...Object.keys(CHANGES)),
      nth: fc.nat(20),
      failing: fc.constantFrom<string[]>('', '', '', '', 'chains', 'tokens', 'chains tokens'),
      meanwhile: fc.array(questions, { maxLength: 5 }),
    }),
  },
);

let asked = 0;

async function start() {
  const server = await startServer({
    listings: FIRST,
    config: { ...FRESH, upstreamRetries: 0 },
    firstPauseMs: 3_600_000,
  });
  await server.refresh();
  const { snapshots } = server;
  let from = snapshots.current();
  const ofListings = Object.assign(Object.create(snapshots), { current: () => ({ ...from }) });
  const execute = await createExecutor({ snapshots: ofListings });
  async function executed(question: Parameters<typeof execute>[0], listings: typeof from): Promise<string> {
    from = listings;
    return JSON.stringify({ data: (await execute(question))?.data });
  }
  const bodies = new Map<string, string>();

  function bodyOf(answer: Received, key: string): string {
    const tag = key + answer.headers.etag;
    if (answer.status === 304) return bodies.get(tag) ?? 'none that was ever sent';
    expect(answer.status).toBe(200);
    const body = plainOf(answer).toString();
    if (answer.headers.etag === undefined) return body;
    expect(bodies.get(tag) ?? body, 'the body of this tag').toBe(body);
    bodies.set(tag, body);
    return body;
  }

  /**
   * Sends a question. The answer must be the one from the listings that are served before it or after it, or from one of
   * each: a refresh replaces the two listings one after the other.
   */
  async function check({ of, method, encoding, hasTags }: Choice): Promise<void> {
    const query = QUESTIONS[of] ?? '';
    const question = query.startsWith('query') ? { query, variables: { new: `new-${asked++}` } } : { query };
    const key = JSON.stringify(question);
    const known = [...bodies.keys()].filter((tag) => tag.startsWith(key)).map((tag) => tag.slice(key.length));
    const headers: Record<string, string> = { 'accept-encoding': encoding };
    if (hasTags && known.length > 0) headers['if-none-match'] = known.join(', ');
    const before = snapshots.current();
    const body = bodyOf(await server.ask({ ...question, method, headers }), key);
    const both = [before, snapshots.current()];
    const pairs = both.flatMap(({ chains }) => both.map(({ tokens }) => ({ chains, tokens })));
    const bodiesOfPairs = await Promise.all(pairs.map((pair) => executed(question, pair)));
    expect(bodiesOfPairs, 'served before or after the answer').toContain(body);
  }
  return { ...server, check };
}

/** The values of a row that must equal those of the upstream while no row is held back. */
const namedOf = ({ name, price }: { name: string; price?: { usd: number } | null }) => [name, price?.usd];
const versions = ({ status }: TestServer['snapshots']) =>
  status(Date.now())
    .map(({ version }) => version)
    .join();

const event = (change: string, failing = '') => ({ change, nth: 1, failing, meanwhile: [] });
/** Always included: each change while all answers are cached, and each change while the refresh of one listing fails. */
const EACH = ['nothing', ...Object.keys(CHANGES)].flatMap((change) => [event('nothing'), event(change)]);
const ONE_ALONE = ['chains', 'tokens'].flatMap((failing) => [
  event('nothing'),
  ...Object.keys(CHANGES).map((change) => event(change, failing)),
]);

it('an answer is the one of graphql-js from the served listings, in any order of requests and refreshes', async () => {
  let held = 0;
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(events, { minLength: 5, maxLength: 12, size: 'max' }), async (order) => {
      const { check, upstream, snapshots, ...server } = await start();
      let world = FIRST;
      let stamp = 0;
      for (const event of order) {
        if ('ask' in event) {
          await check(event.ask);
          continue;
        }
        stamp++;
        const { change, nth, failing, meanwhile } = event;
        const next = { ...world, ...CHANGES[change]?.(world, nth, stamp) };
        for (const path of ['chains', 'tokens'] as const) {
          // Not 500, which would open the circuit breaker: a refresh that waits for it would count as ended.
          const fails = failing.includes(path);
          upstream.plan(path, fails ? status(404) : late(nth % 4, json({ [path]: next[path] })));
          if (!fails) world = { ...world, [path]: next[path] };
        }
        const before = versions(snapshots);
        const inFlight = server.refresh();
        // Questions are sent in turn: some before the refresh ends, and some at about that time.
        const asking = (async () => {
          for (const choice of meanwhile) await Promise.all([check(choice), check(choice)]);
        })();
        await Promise.all([inFlight, asking]);
        if (versions(snapshots) !== before) taken++;
        const { chains, tokens } = snapshots.current();
        const [, { heldBackRows, isHeldBack }] = snapshots.status(Date.now());
        held += heldBackRows;
        expect(chains?.rows.map(namedOf)).toEqual(world.chains.map(namedOf));
        if (heldBackRows === 0 && !isHeldBack)
          expect(tokens?.rows.map(namedOf)).toEqual(world.tokens.map(namedOf));
        for (const of of QUESTIONS.keys()) {
          const method = nth % 2 === 0 ? 'GET' : 'POST';
          await check({ of, method, encoding: '', hasTags: nth % 3 === 0 });
        }
      }
    }),
    { numRuns: 6 * TIMES, examples: [[EACH], [ONE_ALONE]] },
  );
  expect(taken).toBeGreaterThan(TIMES);
  expect(held).toBeGreaterThan(0);
});
