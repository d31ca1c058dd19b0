/** Generated operations get the bytes that graphql-js gives, however they are sent and whatever is cached. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Service } from '../../src/domain/listing.js';
import { UpstreamError } from '../../src/domain/upstream-error.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { json, startFakeUpstream } from '../support/fake-upstream.js';
import { type Operation, operationsOf } from '../support/generated-operations.js';
import { hasZstd, plainOf, type Received, startServer, type TestServer } from '../support/test-server.js';

const TIMES = Number(process.env.DIFFERENTIAL_TIMES ?? 1);
const CHAINS = demoChains.filter(({ chainKey }) => ['ethereum', 'base', 'solana', 'sei'].includes(chainKey));
const TOKENS = demoTokens.slice(0, 40);
/** The earlier listing: one row differs, one is removed later, and one is added later. */
const CHAINS_BEFORE = demoChains.filter((chain) => CHAINS.slice(1).includes(chain));
const TOKENS_BEFORE = [
  ...TOKENS.slice(0, 38),
  ...TOKENS.slice(38, 39).map((token) => ({ ...token, name: 'Another name' })),
  ...demoTokens.slice(40, 41),
];
const [, UNKNOWN, FAILING] = TOKENS.map(({ address }) => address);
const WITHOUT = ['ListingStatus.ageSeconds', 'ListingFailure.at'];

const down = (code: 'UPSTREAM_STATUS' | 'UPSTREAM_TIMEOUT') =>
  Promise.reject(new UpstreamError(code, `The upstream failed with "${code}".`));

const STATES: Readonly<Record<string, (service: Service) => Partial<Service>>> = {
  'while nothing fails': () => ({}),
  'without a chain listing': (listing) => ({
    fetch: (name) => (name === 'chains' ? down('UPSTREAM_STATUS') : listing.fetch(name)),
  }),
  'without a token listing': (listing) => ({
    fetch: (name) => (name === 'tokens' ? down('UPSTREAM_TIMEOUT') : listing.fetch(name)),
  }),
  'while some routes fail': (listing) => ({
    async routes(filter) {
      if (filter.srcToken === FAILING || filter.srcChainKey === 'nope') return down('UPSTREAM_STATUS');
      const taken = await listing.fetch('tokens');
      return filter.srcToken === UNKNOWN ? { ...taken, rows: [] } : taken;
    },
  }),
};

async function startWith(state: (listing: Service) => Partial<Service>): Promise<TestServer> {
  const server = await startServer({
    upstream: await startFakeUpstream({ chains: CHAINS_BEFORE, tokens: TOKENS_BEFORE }),
    config: {
      chainsFreshMs: 3_600_000,
      tokensFreshMs: 3_600_000,
      destinationsFreshMs: 3_600_000,
      maxAliases: 100_000,
      maxQueryTokens: 100_000,
      maxDepth: 100,
      maxRoutesPerOperation: 1000,
      upstreamRetries: 0,
    },
    firstPauseMs: 3_600_000,
    decorate: (listing) => ({ ...listing, source: listing.source, ...state(listing) }),
  });
  // Warm up, so that the first response equals the later ones.
  server.snapshots.refreshNow();
  await expect
    .poll(() =>
      server.snapshots.status(Date.now()).every(({ state, lastFailure }) => state === 'FRESH' || lastFailure),
    )
    .toBe(true);
  return server;
}

async function cursorsOf({ ask }: TestServer): Promise<readonly string[]> {
  const { body } = await ask({ query: '{ tokenChanges { cursor } chainChanges { cursor } }' });
  const { data } = JSON.parse(body.toString()) as { data: Record<string, { cursor: string } | null> };
  return Object.values(data).flatMap((changes) => changes?.cursor ?? []);
}

async function changeListings(server: TestServer): Promise<readonly string[]> {
  const before = await cursorsOf(server);
  server.upstream.plan('chains', json({ chains: CHAINS }));
  server.upstream.plan('tokens', json({ tokens: TOKENS }));
  server.snapshots.refreshNow();
  await expect
    .poll(async () => (await cursorsOf(server)).every((cursor) => !before.includes(cursor)))
    .toBe(true);
  return before;
}

let asked = 0;
const numbered = (query: string, number: number) => `${query}# ${String(number).padStart(6, '0')}`;
/**
 * The response of graphql-js without caches: another number in the comment makes the document unknown to them. The length
 * stays the same, because a long document is executed without locations.
 */
async function executed({ post }: TestServer, operation: Operation): Promise<unknown> {
  const query = numbered(operation.query.replace(/# \d+$/, ''), ++asked);
  const response = await post({ ...operation, query });
  return comparable(response.status, await response.text());
}

/** Sorts the errors, since their order depends on the order in which promises settle. */
function comparable(status: number, body: string): unknown {
  const { data, errors, ...rest } = JSON.parse(body) as { data?: unknown; errors?: object[] };
  // Compared as text, since the order of members matters.
  return {
    status,
    data: JSON.stringify(data),
    errors: errors?.map((error) => JSON.stringify(error)).sort(),
    rest,
  };
}

function received(answer: Received): unknown {
  return comparable(answer.status, plainOf(answer).toString());
}

/** The same document with one variable missing or changed, and with each operation name. */
function variantsOf({ query, variables }: Operation): readonly Operation[] {
  const names = [...query.matchAll(/^query (\w+)/gm)].map(([, name]) => name ?? '');
  const others = Object.entries(variables)
    .slice(0, 3)
    .flatMap(([name, value]) => {
      const { [name]: _one, ...rest } = variables;
      return [rest, { ...rest, [name]: null }, { ...rest, [name]: [value] }];
    });
  const first = names.length > 1 ? { operationName: names[0] ?? '' } : {};
  return [
    ...names.map((operationName) => ({ query, variables, operationName })),
    ...others.map((changed) => ({ query, variables: changed, ...first })),
  ];
}

it.each(Object.entries(STATES))(
  'a generated operation is answered as by graphql-js, however it is sent, %s',
  async (name, state) => {
    // All routes of an operation show an unlisted token as in the first row that they read. If this row is cached, its
    // price is older.
    const without = name === 'without a token listing' ? [...WITHOUT, 'Price.asOf'] : WITHOUT;
    const server = await startWith(state);
    const cursors = await changeListings(server);
    const operations = fc
      .constantFrom(true, 'often' as const)
      .chain((hasRoutes) => operationsOf({ without, hasRoutes, cursors }))
      .map(({ query, variables }) => ({ query: numbered(`${query}\n`, 0), variables }));
    let kept = 0;
    await fc.assert(
      fc.asyncProperty(operations, async (operation) => {
        const expected = await executed(server, operation);
        const [first, ...others] = [
          await server.ask(operation),
          await server.ask(operation),
          await server.ask(operation),
        ];
        for (const answer of [first, ...others]) expect(received(answer as Received)).toEqual(expected);
        if (!first || first.body.includes('"errors":[')) return;
        kept++;
        for (const other of others) expect(other.body.equals(first.body)).toBe(true);
        const got = await server.ask({ ...operation, method: 'GET' });
        expect(got.body.equals(first.body)).toBe(true);
        for (const encoding of ['br', 'gzip', ...(hasZstd ? ['zstd'] : [])]) {
          const headers = { 'accept-encoding': encoding };
          const compressed = await server.ask({ ...operation, method: 'GET', headers });
          expect(plainOf(compressed).equals(first.body)).toBe(true);
        }
        // A cached response must not be sent to a request that differs in only one thing.
        for (const other of variantsOf(operation)) {
          expect(received(await server.ask(other)), JSON.stringify(other)).toEqual(
            await executed(server, other),
          );
        }
      }),
      { numRuns: 24 * TIMES },
    );
    expect(kept).toBeGreaterThan(0);
  },
);
