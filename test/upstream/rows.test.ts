/** Rows of the upstream without the specified form are left out and reported, and the other rows are served. */
import { expect, it } from 'vitest';
import { MAX_LENGTHS } from '../../src/domain/text-limits.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, idOf, tokenRow } from '../fixtures/rows.js';
import { json, text } from '../support/fake-upstream.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const GOOD_CHAIN = chainRow('good');
const ETHER = { chainKey: 'x', name: 'Ether', symbol: 'ETH', decimals: 18, address: '0xEe' };
const NATIVE_CURRENCY = GOOD_CHAIN.nativeCurrency as { readonly address: string };
const GOOD_TOKEN = tokenRow('good', '0xAa');
const USDC = '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85';
const DIGITS = USDC.slice(2);
const COIN = '0x0bae207659db88bea0cbead6da0ed00aac12edcdda169e591cd41c94180b46f3';
/** One character too long for a symbol. */
const LONG = 's'.repeat(257);
const ORIGIN = { source: 'v1', takenAt: 0 };

async function serve(rows: { chains?: readonly unknown[]; tokens?: readonly unknown[] }) {
  const gateway = await createTestGateway({
    listings: { chains: [GOOD_CHAIN], tokens: [GOOD_TOKEN], ...rows },
  });
  type Rows = readonly Record<string, unknown>[];
  const { data, errors } = await gateway.query<{ chains: Rows; tokens: Rows }>(`{
    chains { chainKey chainType chainId shortName name nativeCurrency { symbol decimals } }
    tokens { chainKey address symbol name decimals isBridgeable price { usd } }
  }`);
  expect(errors).toBeUndefined();
  const status = await gateway.query<{ listings: Rows }>('{ listings { name rows rejectedRows } }');
  const warnings = gateway.logged.filter(({ msg }) => msg.startsWith('Left out bad rows'));
  return {
    query: gateway.query,
    chains: data?.chains ?? [],
    tokens: data?.tokens ?? [],
    listings: status.data?.listings ?? [],
    warnings: warnings.map(({ rejected }) => rejected as string[]),
  };
}

type Bad = readonly [row: unknown, reason: RegExp];
const badToken = (fields: object, reason: RegExp): Bad => [tokenRow('good', '0x1', fields), reason];
/** Rejected rows of each listing, and the log lines about them; at most twenty, because further ones are only counted. */
const BAD_ROWS: Readonly<Record<'chains' | 'tokens', readonly Bad[]>> = {
  chains: [
    [null, /Object/],
    [[], /Object|chainKey/],
    [chainRow(' a'), /chainKey: Expected no white space/],
    [chainRow('x', { chainKey: undefined }), /chainKey/],
    [chainRow('x', { chainKey: '' }), /chainKey/],
    [chainRow('x', { chainId: undefined }), /chainId/],
    [chainRow('x', { chainId: '1' }), /chainId: .*number.*"1"/],
    [chainRow('x', { chainId: 1.5 }), /chainId: Expected a whole number/],
    [chainRow('x', { chainId: 2 ** 60 }), /chainId: .* at most 2\^53 - 1, .* larger ones lose digits/],
    [chainRow('x', { chainType: undefined }), /chainType/],
    [chainRow('x', { name: null }), /name: .*null/],
    [chainRow('x', { shortName: undefined }), /shortName/],
    [chainRow('x'.repeat(257)), /chainKey: .*length/],
    [chainRow('x', { chainType: 't'.repeat(65) }), /chainType: .*length/],
    [chainRow('x', { shortName: 'n'.repeat(1025) }), /shortName: .*length/],
    [chainRow('x', { nativeCurrency: { ...ETHER, symbol: LONG } }), /nativeCurrency\.symbol: .*length/],
    [chainRow('x', { nativeCurrency: undefined }), /nativeCurrency/],
    [chainRow('x', { nativeCurrency: { ...ETHER, decimals: null } }), /nativeCurrency\.decimals/],
    [chainRow('x', { nativeCurrency: { ...ETHER, address: '' } }), /nativeCurrency\.address/],
    [chainRow('x', { nativeCurrency: { ...ETHER, address: '0x1 ' } }), /address: Expected no white space/],
  ],
  tokens: [
    [null, /Object/],
    [tokenRow('', '0x1'), /chainKey/],
    [tokenRow('good', ''), /address/],
    badToken({ address: undefined }, /address/),
    badToken({ decimals: '6' }, /decimals: .*number.*"6"/),
    ...[6.5, -1, 256, undefined].map((decimals) => badToken({ decimals }, /decimals/)),
    badToken({ symbol: null }, /symbol/),
    badToken({ name: null }, /name/),
    badToken({ isBridgeable: 'true' }, /isBridgeable/),
    badToken({ isBridgeable: null }, /isBridgeable/),
    badToken({ symbol: 1 }, /symbol: .*string/),
    [tokenRow('c'.repeat(257), '0x1'), /chainKey: .*length.*256.*257/],
    [tokenRow('İ'.repeat(129), '0x1'), /chainKey: .*length.*256.*258/],
    [tokenRow('good', 'a'.repeat(513)), /address: .*length.*512.*513/],
    badToken({ symbol: LONG }, /symbol: .*length.*256/),
    badToken({ name: 'n'.repeat(1025) }, /name: .*length.*1024/),
  ],
};

it.each(['chains', 'tokens'] as const)('bad %s are left out, counted, logged by place', async (listing) => {
  const bad = BAD_ROWS[listing];
  // The gateway refuses a first listing with more bad rows than good ones, so as many good rows are added.
  const good = bad.map((_, nth) =>
    listing === 'chains' ? chainRow(`c${nth}`, { chainId: nth }) : tokenRow('good', `0x${nth}`),
  );
  const { listings, warnings, ...served } = await serve({
    [listing]: [...bad.map(([row]) => row), ...good],
  });
  expect(served[listing]).toHaveLength(bad.length);
  const counts = { rows: bad.length, rejectedRows: bad.length };
  expect(listings.find(({ name }) => name === listing)).toMatchObject(counts);
  expect(warnings).toHaveLength(1);
  for (const [nth, [, reason]] of bad.entries()) {
    expect(warnings[0]?.[nth]).toMatch(new RegExp(`^${listing}\\[${nth}\\]: `));
    expect(warnings[0]?.[nth]).toMatch(reason);
  }
});

it('bad rows are logged once, however often they are sent, and again if others are bad', async () => {
  const rows = [GOOD_TOKEN, tokenRow('good', '0x1', { decimals: '6' })];
  const listings = { chains: [GOOD_CHAIN], tokens: rows };
  const gateway = await createTestGateway({ hasListings: true, listings });
  const lines = () => gateway.logged.filter(({ msg }) => msg.startsWith('Left out bad rows')).length;
  for (let times = 0; times < 3; times++) await gateway.refresh();
  expect(lines()).toBe(1);
  gateway.upstream.plan('tokens', json({ tokens: [...rows].reverse() }));
  await gateway.refresh();
  expect(lines()).toBe(2);
});

it('a price that is larger than any number of JavaScript is null', async () => {
  const infinite = text(JSON.stringify({ tokens: [GOOD_TOKEN] }).replace('0.9998', '1e999'));
  const { query } = await createTestGateway({ listings: { tokens: infinite } });
  expect(await query('{ tokens { price { usd } } }')).toEqual({ data: { tokens: [{ price: null }] } });
});

it('chains with empty names, and rows with unknown fields and types in capitals, are served', async () => {
  const { chains, tokens, listings } = await serve({
    chains: [{ ...chainRow('c', { chainType: 'EVM', name: '', shortName: '' }), more: { deep: [1] } }],
    tokens: [{ ...tokenRow('c', '0x1'), tags: ['a'] }],
  });
  expect(chains).toMatchObject([{ chainKey: 'c', chainType: 'evm', name: '', shortName: '' }]);
  expect(tokens).toMatchObject([{ chainKey: 'c', symbol: 'USDC' }]);
  expect(listings[1]).toMatchObject({ rows: 1, rejectedRows: 0 });
});

it('one log line names the first twenty of many bad rows', async () => {
  const good = Array.from({ length: 50 }, (_, index) => tokenRow('good', `0x${index}`));
  const { warnings } = await serve({ tokens: [...good, ...good.map(() => null)] });
  expect(warnings.map(({ length }) => length)).toEqual([20]);
});

const bad = (count: number) => Array.from({ length: count }, () => ({}));

it.each([
  ['of which half can be read is served', [GOOD_TOKEN, ...bad(1)], 'FRESH'],
  ['of which a third can be read is refused', [GOOD_TOKEN, ...bad(2)], 'EMPTY'],
  ['of which most rows are duplicates is served', [GOOD_TOKEN, GOOD_TOKEN, GOOD_TOKEN], 'FRESH'],
])('a first listing %s', async (_name, tokens, state) => {
  const { query, listings } = await createTestGateway({ listings: { chains: [GOOD_CHAIN], tokens } });
  const answer = await query('{ tokens { symbol } }');
  const { lastFailure, ...status } = listings().tokens;
  expect(status.state).toBe(state);
  if (state === 'FRESH') return;
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(lastFailure?.message).toContain(
    'expected at least half of the rows in the first "tokens" listing to have the specified form, got 1 of 3',
  );
});

const ENVELOPES: [string, string][] = [
  ['null', 'null'],
  ['a bare array', JSON.stringify([GOOD_TOKEN])],
  ['rows by another name', JSON.stringify({ rows: [GOOD_TOKEN] })],
  ['null rows', '{"tokens":null}'],
  ['rows by key', JSON.stringify({ tokens: { a: GOOD_TOKEN } })],
  ['no rows', '{"tokens":[]}'],
  ['no good row', '{"tokens":[null,{}]}'],
  ['no JSON', '<html>'],
  ['more than 200,000 rows', `{"tokens":[${'0,'.repeat(200_000)}0]}`],
];

it.each(ENVELOPES)('a response with %s is refused whole: there is no listing', async (_name, body) => {
  const { query, listings } = await createTestGateway({ listings: { tokens: text(body) } });
  const answer = await query('{ tokens { symbol } chain(chainKey: "base") { name } }');
  expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
  expect(answer.data).toEqual({ tokens: null, chain: { name: 'Base' } });
  expect(listings().tokens.state).toBe('EMPTY');
});

it('a response of routes is served without the bad rows, which are logged, and refused if all of its rows are bad', async () => {
  const tokens = [GOOD_TOKEN, tokenRow('good', '0x1', { decimals: '6' }), GOOD_TOKEN];
  const { query, logged } = await createTestGateway({ listings: { tokens } });
  expect(await query('{ tokens(srcToken: "0x1") { address } }')).toEqual({
    data: { tokens: [{ address: '0xAa' }] },
  });
  expect(logged.find(({ msg }) => msg === 'Left out bad rows of the routes from a token')).toMatchObject({
    srcToken: '0x1',
    rejectedRows: 2,
    rejected: [expect.stringMatching(/^tokens\[1\]: decimals/), 'tokens[2]: duplicate of tokens[0]'],
  });
  const bad = await createTestGateway({ listings: { tokens: [{}] } });
  expect(codesOf(await bad.query('{ tokens(srcToken: "0x1") { symbol } }'))).toEqual(['UPSTREAM_MALFORMED']);
});

const PAIRS: readonly [what: string, one: string, other: string][] = [
  ['in another letter case', USDC, USDC.toUpperCase()],
  ['without 0x', USDC, DIGITS],
  ['without the zero that it begins with', USDC, `0x${DIGITS.slice(1)}`],
  ['as 32 bytes', USDC, `0x${DIGITS.padStart(64, '0')}`],
  ['short and long', '0x1', `0x${'1'.padStart(64, '0')}`],
  ['of 32 bytes without their first zero', COIN, COIN.replace('0x0', '0x')],
  ['a short and a long account of Move', '0x1::coin::COIN', `0x${'1'.padStart(64, '0')}::coin::COIN`],
  ['an account of Move without its first zero', `${COIN}::c::T`, `${COIN.replace('0x0', '0x')}::c::T`],
  ['an account within the parameters of a type', '0xa::lp::LP<0x2::a::A>', '0xA::lp::LP<0x02::a::A>'],
  ['of the native asset', '0x0', '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'],
  ['of the native asset, without 0x', '0'.repeat(40), 'e'.repeat(40)],
];
// Each pair is on a chain of its own.
const firsts = PAIRS.map(([, address], nth) => ({ chainKey: `a${nth}`, address }));
const seconds = PAIRS.map(([, , address], nth) => ({ chainKey: `A${nth}`, address }));

it('of two spellings of one token the listing serves the first, and clients can ask for both', async () => {
  const rows = firsts.flatMap((one, nth) => [one, seconds[nth] ?? one]);
  const { tokens, warnings, query } = await serve({
    tokens: rows.map(({ chainKey, address }) => tokenRow(chainKey, address)),
  });
  expect(tokens).toMatchObject(firsts);
  const duplicates = PAIRS.map((_, nth) => `tokens[${2 * nth + 1}]: duplicate of tokens[${2 * nth}]`);
  expect(warnings).toEqual([duplicates]);
  for (const keys of [firsts, seconds]) {
    const ids = keys.map(({ chainKey, address }) => idOf('Token', chainKey, address));
    const found = await query(
      `query ($keys: [TokenKey!]!, $ids: [ID!]!) {
          tokensByKey(keys: $keys) { chainKey address }
          nodes(ids: $ids) { ... on Token { chainKey address } }
        }`,
      { ids, keys },
    );
    expect(found.data).toEqual({ tokensByKey: firsts, nodes: firsts });
  }
});

it('Move names, base58 and modules that look like addresses are compared exactly', async () => {
  const addresses = [
    ...['0x1::coin::COIN', '0x1::coin::Coin', '0x1::m0x02::T', '0x1::m0x2::T'],
    'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
    'epjfwdd5aufqssqem2qn1xzybapc8g4weggkzwytdt1v',
  ];
  const rows = addresses.map((address) => tokenRow('a', address));
  const { tokens } = await serve({ tokens: [...rows, tokenRow('b', '0x1::coin::COIN')] });
  expect(tokens.map(({ address }) => address)).toEqual([...addresses, '0x1::coin::COIN']);
});

it('the key of a chain is served in lower case everywhere, also in routes', async () => {
  const native = { ...NATIVE_CURRENCY, chainKey: 'ETHEREUM' };
  const chains = [chainRow('Ethereum', { nativeCurrency: native })];
  const routes = json({ tokens: [tokenRow('B', '0x1')] });
  const { query } = await createTestGateway({
    listings: { chains, tokens: [tokenRow('ETHEREUM', USDC)], routes },
  });
  const { data } = await query(
    `{ chains { chainKey tokenCount nativeCurrency { chainKey } }
       tokens(srcChainKey: "eThereum") { chainKey chain { chainKey } }
       destinations(srcChainKey: "ETHereum", srcToken: "${USDC}") { chainKey } }`,
  );
  expect(data).toEqual({
    chains: [{ chainKey: 'ethereum', tokenCount: 1, nativeCurrency: { chainKey: 'ethereum' } }],
    tokens: [{ chainKey: 'ethereum', chain: { chainKey: 'ethereum' } }],
    destinations: [{ chainKey: 'b' }],
  });
});

it.each([
  ['a space at the end', ' '],
  ['a tab', '\t'],
  ['an ideographic space', '\u3000'],
  ['a zero-width space', '\u200b'],
  ['a soft hyphen', '\u00ad'],
  ['a byte order mark', '\ufeff'],
  ['a filler of Hangul', '\u3164'],
  ['a control character', '\u0000'],
  ['Braille without dots', '\u2800'],
])('a mark in a key or an address rejects the row: %s', async (_what, mark) => {
  const marked = [
    tokenRow(`a${mark}`, USDC, { decimals: 18 }),
    ...[`${USDC}${mark}`, `0x${mark}${DIGITS}`].map((address) => tokenRow('a', address, { decimals: 18 })),
  ];
  const { rows, rejected, contradictory, unreadable } = await TOKENS.parse(
    [tokenRow('b', '0x2'), ...marked],
    ORIGIN,
  );
  expect(rows.map(({ chainKey }) => chainKey)).toEqual(['b']);
  const reason = 'Expected no white space and no invisible characters';
  const places = ['tokens[1]: chainKey', 'tokens[2]: address', 'tokens[3]: address'];
  expect(rejected.first).toEqual(places.map((place) => `${place}: ${reason}`));
  expect(contradictory?.size).toBe(0);
  // Each of the three counts as an unreadable row of the token that it would name without the mark.
  expect(unreadable).toEqual({ count: 3, unnamed: 0, keys: new Set([`1 a ${USDC.toLowerCase()}`]) });
});

it('rows with unequal guarded facts are stored by key, apart from unreadable rows, each variant once and at most ten', async () => {
  const versions = [6, 18, 6, ...Array.from({ length: 50 }, (_, decimals) => 20 + decimals)];
  const sent = [tokenRow('a', '0x2'), ...versions.map((decimals) => tokenRow('a', USDC, { decimals }))];
  const fetched = await TOKENS.parse(sent, ORIGIN);
  expect(fetched.unreadable).toEqual({ count: 0, keys: new Set(), unnamed: 0 });
  expect(fetched.rejected.count).toBe(versions.length);
  expect([...(fetched.contradictory ?? [])]).toEqual([
    [
      expect.stringContaining(USDC.toLowerCase()),
      [18, 20, 21, 22, 23, 24, 25, 26, 27, 6].map((decimals) => expect.objectContaining({ decimals })),
    ],
  ]);
});

const PLACEHOLDER = NATIVE_CURRENCY.address;
it.each([
  ['chainId', { chainId: 8 }, 'chainId 7 and 8'],
  ['chainType', { chainType: 'solana' }, 'chainType evm and solana'],
  [
    'native currency',
    { nativeCurrency: { ...NATIVE_CURRENCY, decimals: 6 } },
    `nativeCurrency ETH 18 ${PLACEHOLDER} and ETH 6 ${PLACEHOLDER}`,
  ],
])('chains with equal keys that differ in %s are not served', async (_fact, changes, reason) => {
  const sent = [chainRow('a'), chainRow('A', changes), chainRow('b')];
  const { rows, rejected, contradictory } = await CHAINS.parse(sent, ORIGIN);
  expect(rows.map(({ chainKey }) => chainKey)).toEqual(['b']);
  expect(rejected.first).toEqual([
    `chains[0]: contradicts chains[1]: ${reason}`,
    `chains[1]: contradicts chains[0]: ${reason}`,
  ]);
  expect(contradictory?.get('a')).toHaveLength(2);
});

it('rows with unequal guarded facts have a short reason, however long the symbols are', async () => {
  const long = (letter: string) => tokenRow('a', '0x1', { symbol: letter.repeat(MAX_LENGTHS.symbol) });
  const { rejected } = await TOKENS.parse([tokenRow('a', '0x2'), long('x'), long('y')], ORIGIN);
  expect(Math.max(...rejected.first.map(({ length }) => length))).toBeLessThan(250);
});
