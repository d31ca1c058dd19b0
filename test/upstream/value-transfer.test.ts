/** The successor of v1, with its pages and its names of fields, is served like v1. */
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import {
  type Answer,
  type FakeUpstream,
  json,
  late,
  NEXT_TOKEN,
  paged,
  pageTokenOf,
  startFakeSuccessor,
  status,
} from '../support/fake-upstream.js';
import { codesOf, createTestGateway, isAtLeast, type Settings } from '../support/test-gateway.js';

const TOKENS = '{ tokens { chainKey address } }';

type Rows = Readonly<Record<'chains' | 'tokens' | 'listings', readonly Record<string, unknown>[]>>;

const chain = (chainKey: string, changes: Record<string, unknown> = {}) => ({
  ...successorChain(chainRow(chainKey)),
  ...changes,
});
const token = (chainKey: string, address: string, changes: Record<string, unknown> = {}) => ({
  ...successorToken(tokenRow(chainKey, address)),
  ...changes,
});

const pageSaying = (pagination: unknown, address = '0x1', headers: Record<string, string> = {}) =>
  json({ tokens: [token('a', address)], pagination }, headers);

function planPages(upstream: FakeUpstream, first: Answer, further: Answer): void {
  upstream.plan('tokens', (_response, { url }) => (pageTokenOf(url) ? further : first));
}

async function serve(listings: Parameters<typeof startFakeSuccessor>[0] = {}, config: Settings = {}) {
  return createTestGateway({
    upstream: await startFakeSuccessor({ chains: [chain('a')], tokens: [token('a', '0x1')], ...listings }),
    config: { upstreamRetries: 0, upstreamProfile: 'value-transfer', ...config },
    // After a failure no automatic refresh adds requests to those that a test counts.
    firstPauseMs: 3_600_000,
  });
}

it('rows of the successor are served like those of v1, and have the same digests', async () => {
  const document = `{
      listings { source }
      chains { chainKey chainType chainId shortName name nativeCurrency { chainKey name symbol decimals address } }
      tokens { isBridgeable chainKey address decimals symbol name price { usd } }
    }`;
  const rows = { chains: demoChains.map(successorChain), tokens: demoTokens.map(successorToken) };
  const versions = [];
  for (const [source, { query }] of [
    ['value-transfer', await serve(rows)],
    ['v1', await createTestGateway()],
  ] as const) {
    const listings = Array(2).fill({ source });
    expect(await query(document)).toEqual({ data: { listings, chains: demoChains, tokens: demoTokens } });
    versions.push(await query('{ listings { version } }'));
  }
  expect(versions[0]).toEqual(versions[1]);
});

it('rows of tokens without isSupported are served as not bridgeable', async () => {
  const odd = { isSupported: undefined };
  const tokens = [token('a', '0x1', odd), token('a', '0x2', { ...odd, isBridgeable: true })];
  const { query } = await serve({ tokens });
  const { data } = await query<Rows>('{ tokens { isBridgeable } }');
  expect(data?.tokens).toEqual([{ isBridgeable: false }, { isBridgeable: false }]);
});

it.each([
  ['value-transfer', 'isSupported', 'isBridgeable', tokenRow],
  ['v1', 'isBridgeable', 'isSupported', token],
] as const)(
  "with the profile %s, tokens with the other service's flag are refused",
  async (upstreamProfile, expected, got, row) => {
    const { query } = await serve({ tokens: [row('a', '0x1'), row('a', '0x2')] }, { upstreamProfile });
    const { errors } = await query(TOKENS);
    expect(errors?.map(({ message }) => message)).toEqual([
      expect.stringContaining(
        `expected "${expected}" in the rows of "tokens", got "${got}": check UPSTREAM_PROFILE`,
      ),
    ]);
  },
);

it.each<[string, unknown, RegExp]>([
  ['isSupported "true"', token('a', '0x2', { isSupported: 'true' }), /^tokens\[1\]: isSupported/],
  ['the same token', token('a', '0x1', { name: 'B' }), /^tokens\[1\]: duplicate of tokens\[0\]$/],
])('a row with %s is left out, counted and logged, also on a further page', async (_name, row, reason) => {
  const { query, logged, upstream } = await serve({ tokens: [token('a', '0x1'), row], pageSize: 1 });
  await query('{ chains { name } tokens { name } }');
  const { data } = await query<Rows>('{ listings { name rows rejectedRows } }');
  expect(data?.listings).toContainEqual({ name: 'tokens', rows: 1, rejectedRows: 1 });
  expect(upstream.count('tokens')).toBe(2);
  expect(logged.find(({ msg }) => msg.startsWith('Left out bad rows'))).toMatchObject({
    rejected: [expect.stringMatching(reason)],
  });
});

it('pages are followed to the last one, each requested once and with its token encoded', async () => {
  const rows = Array.from({ length: 5 }, (_, index) => token('a', `0x${index + 1}`));
  const { query, upstream } = await serve({ tokens: rows, pageSize: 2 });
  const { data } = await query<Rows>(TOKENS);
  expect(data?.tokens.map(({ address }) => address)).toEqual(['0x1', '0x2', '0x3', '0x4', '0x5']);
  expect(upstream.seen.map(({ url }) => url)).toEqual([
    '/v1/tokens',
    '/v1/tokens?pagination%5BnextToken%5D=from+2%2F',
    '/v1/tokens?pagination%5BnextToken%5D=from+4%2F',
  ]);
});

it('pages may have tokens of 8,192 characters, but not longer ones, which are neither sent nor logged', async () => {
  const within = await serve();
  planPages(within.upstream, pageSaying({ nextToken: 'x'.repeat(8_192) }), pageSaying({}, '0x2'));
  expect((await within.query<Rows>(TOKENS)).data?.tokens).toHaveLength(2);
  const { query, logged, upstream } = await serve();
  planPages(upstream, pageSaying({ nextToken: 'x'.repeat(1_000_000) }), status(414));
  expect((await query(TOKENS)).errors).toMatchObject([
    { message: expect.stringContaining('at most 8192 characters in "pagination.nextToken", got 1000000') },
  ]);
  expect(upstream.count('tokens')).toBe(1);
  expect(Math.max(...logged.map((line) => JSON.stringify(line).length))).toBeLessThan(2_000);
});

it('pages may be empty before the last', async () => {
  const { query, upstream } = await serve();
  planPages(upstream, json({ tokens: [], pagination: { nextToken: 'more' } }), pageSaying({}));
  expect((await query<Rows>(TOKENS)).data?.tokens).toHaveLength(1);
});

it.each<[pagination: unknown, message?: string]>([
  [undefined],
  [null],
  [{}],
  [{ nextToken: null }],
  [{ nextToken: '' }],
  [{ nextToken: 2 }, 'expected a string "pagination.nextToken", got a value of type number'],
  [{ nextToken: ['more'] }, 'got an array'],
  ['more', 'expected an object "pagination", got a value of type string'],
  [[], 'expected an object "pagination", got an array'],
])('pages end with %j, or are refused whole: %s', async (pagination, message) => {
  const { query, upstream } = await serve();
  upstream.plan('tokens', pageSaying(pagination));
  const { data, errors } = await query<Rows>(TOKENS);
  if (message === undefined) expect(data?.tokens).toHaveLength(1);
  else expect(errors).toMatchObject([{ message: expect.stringContaining(message) }]);
  expect(upstream.count('tokens')).toBe(1);
});

it('pages are followed until a page is named again, which is logged; the pages so far are used', async () => {
  const { query, logged, upstream } = await serve();
  const next: Record<string, string> = { one: 'two', two: 'one' };
  upstream.plan('tokens', (_response, { url }, nth) =>
    pageSaying({ nextToken: next[pageTokenOf(url) ?? ''] ?? 'one' }, `0x${nth}`),
  );
  const { data } = await query<Rows>(TOKENS);
  expect(data?.tokens.map(({ address }) => address)).toEqual(['0x1', '0x2', '0x3']);
  expect(upstream.count('tokens')).toBe(3);
  expect(logged.filter(({ msg }) => msg.includes('for the second time'))).toMatchObject([
    { level: 'warn', listing: 'tokens', pages: 3, rows: 3 },
  ]);
});

it('pages may be a hundred, but not more', async () => {
  const rows = Array.from({ length: 101 }, (_, index) => token('a', `0x${index + 1}`));
  const { query, listings, snapshots, upstream } = await serve();
  upstream.plan('tokens', paged('tokens', rows, 1));
  const answer = await query(TOKENS);
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(answer.errors?.[0]?.message).toContain(
    'expected at most 100 pages of "tokens", got the token of a further one',
  );
  expect(upstream.count('tokens')).toBe(100);
  upstream.plan('tokens', paged('tokens', rows.slice(1), 1));
  snapshots.refreshNow();
  await expect.poll(() => listings().tokens.rows).toBe(100);
});

it('pages of one answer may together have as many bytes as the limit, but no more', async () => {
  const rows = Array.from({ length: 10 }, (_, index) => token('a', `0x${index}`, { more: 'x'.repeat(400) }));
  const bytes = Array.from({ length: 5 }, (_, page) => {
    const pagination = page < 4 ? { nextToken: `from ${2 * page + 2}/` } : {};
    return JSON.stringify({ tokens: rows.slice(2 * page, 2 * page + 2), pagination }).length;
  }).reduce((sum, length) => sum + length, 0);
  const within = await serve({ tokens: rows, pageSize: 2 }, { upstreamMaxBytes: bytes });
  expect((await within.query<Rows>(TOKENS)).data?.tokens).toHaveLength(10);
  const beyond = await serve({ tokens: rows, pageSize: 2 }, { upstreamMaxBytes: bytes - 1 });
  const answer = await beyond.query(TOKENS);
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(answer.errors?.[0]?.message).toContain(
    `expected at most ${bytes - 1} bytes in all pages of "tokens" together, got more`,
  );
});

it.each<[string, Answer, string]>([
  ['fails', status(503), 'UPSTREAM_STATUS'],
  ['gets HTTP 422', status(422), 'UPSTREAM_STATUS'],
  ['has another form', json({ rows: [] }), 'UPSTREAM_MALFORMED'],
])('pages are all refused if one %s, and the last good listing stays', async (_name, fault, code) => {
  const { query, listings, upstream } = await serve({}, { tokensFreshMs: 20 });
  const before = await query(TOKENS);
  planPages(upstream, pageSaying({ nextToken: 'more' }, '0x2'), fault);
  await expect.poll(() => listings().tokens.lastFailure?.code).toBe(code);
  expect(await query(TOKENS)).toEqual(before);
});

it('pages are refused in an answer of v1, which has only whole listings', async () => {
  const { query, upstream } = await serve({}, { upstreamProfile: 'v1' });
  upstream.plan('tokens', pageSaying({ nextToken: 'more' }));
  expect(codesOf(await query(TOKENS))).toEqual(['UPSTREAM_MALFORMED']);
});

it('pages are all as old as the oldest page', async () => {
  const { query, upstream } = await serve({}, { priceMaxAgeMs: 86_400_000 });
  const first = pageSaying({ nextToken: 'more' }, '0x1', { age: '60' });
  planPages(upstream, late(50, first), pageSaying({}, '0x2', { age: '7200' }));
  const before = Date.now();
  const { data } = await query<{ tokens: { price: { asOf: string } }[] }>('{ tokens { price { asOf } } }');
  const times = data?.tokens.map(({ price }) => Date.parse(price.asOf) + 7_200_000) ?? [];
  expect(times).toEqual([times[0], times[0]]);
  // The second page was requested 50 ms after the first, and was as old then as its Age says.
  expect(times[0]).toBeGreaterThanOrEqual(before + 45);
  expect(times[0]).toBeLessThanOrEqual(Date.now());
});

const ROUTES = '{ tokens(srcChainKey: "a", srcToken: "0x1") { chainKey address } }';

it('a request for routes has both parameters of the successor, on every page', async () => {
  const reachable = [token('b', '0x2'), token('a', '0x3')];
  const { query, upstream } = await serve();
  await query(TOKENS);
  upstream.plan('tokens', paged('tokens', reachable, 1));
  const served = reachable.map(({ chainKey, address }) => ({ chainKey, address }));
  expect((await query<Rows>(ROUTES)).data?.tokens).toEqual(served);
  const asked = upstream.seen.slice(1).map(({ url }) => [...new URL(url, 'http://fake').searchParams]);
  const both = Object.entries({ transferrableFromChainKey: 'a', transferrableFromTokenAddress: '0x1' });
  expect(asked).toEqual([both, [...both, [NEXT_TOKEN, 'from 1/']]]);
});

it('a request for routes from a token without its chain is refused with a message', async () => {
  const { query, logged, upstream } = await serve();
  const answer = await query('{ tokens(srcToken: "0x1") { address } chains { chainKey } }');
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  expect(answer).toMatchObject({
    data: { tokens: null, chains: [{ chainKey: 'a' }] },
    errors: [
      { path: ['tokens'], message: expect.stringMatching(/"srcChainKey" beside "srcToken", got none/) },
    ],
  });
  expect(upstream.count('tokens')).toBe(0);
  expect(logged.filter((line) => isAtLeast(line, 'warn'))).toEqual([]);
});

it('a request for routes is answered with no tokens if there are none, or if HTTP 422 says that the token is unknown', async () => {
  const { query, upstream } = await serve();
  upstream.plan('tokens', status(422, {}, '{"error":{"message":"unsupported token"}}'));
  expect(await query(ROUTES)).toEqual({ data: { tokens: [] } });
  expect(codesOf(await query(TOKENS))).toEqual(['UPSTREAM_STATUS']);
  upstream.plan('tokens', json({ tokens: [], pagination: {} }));
  expect(await query(ROUTES.replace('0x1', '0x2'))).toEqual({ data: { tokens: [] } });
});

it('a request for routes is refused if the pages of routes are incomplete', async () => {
  const { query, upstream } = await serve();
  planPages(upstream, pageSaying({ nextToken: 'more' }), status(422));
  expect(codesOf(await query(ROUTES))).toEqual(['UPSTREAM_STATUS']);
});
