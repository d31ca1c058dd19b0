import { describe, expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, startFakeUpstream, text } from '../support/fake-upstream.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const GOOD_CHAIN = chainRow('good');
const ETHER = { chainKey: 'x', name: 'Ether', symbol: 'ETH', decimals: 18, address: '0xEe' };
const GOOD_TOKEN = tokenRow('good', '0xAa');

interface Listings {
  readonly listings: readonly {
    readonly name: string;
    readonly rows: number;
    readonly rejectedRows: number;
  }[];
}

/** The rows that a client gets, and the log lines about the rejected ones. */
async function serve(rows: { chains?: readonly unknown[]; tokens?: readonly unknown[] }) {
  const upstream = await startFakeUpstream({ chains: [GOOD_CHAIN], tokens: [GOOD_TOKEN], ...rows });
  const gateway = await createTestGateway({ upstream });
  const { data, errors } = await gateway.query<{
    chains: Record<string, unknown>[];
    tokens: Record<string, unknown>[];
  }>(`{
    chains { chainKey chainType chainId shortName name nativeCurrency { symbol decimals } }
    tokens { chainKey address symbol name decimals isBridgeable price { usd } }
  }`);
  expect(errors).toBeUndefined();
  const status = await gateway.query<Listings>('{ listings { name rows rejectedRows } }');
  const warnings = gateway.logged.filter(({ msg }) => msg.startsWith('Left out bad rows'));
  return {
    chains: data?.chains ?? [],
    tokens: data?.tokens ?? [],
    listings: status.data?.listings ?? [],
    warnings: warnings.map(({ rejected }) => rejected as string[]),
  };
}

/** Rejected rows of each listing, and the log lines about them; at most twenty, because further ones are only counted. */
const BAD_ROWS: Readonly<Record<'chains' | 'tokens', readonly [unknown, RegExp][]>> = {
  chains: [
    [null, /Object/],
    ['ethereum', /Object/],
    [[], /Object|chainKey/],
    [chainRow('x', { chainKey: undefined }), /chainKey/],
    [chainRow('x', { chainKey: '' }), /chainKey/],
    [chainRow('x', { chainId: undefined }), /chainId/],
    [chainRow('x', { chainId: '1' }), /chainId: .*number.*"1"/],
    [chainRow('x', { chainId: 1.5 }), /chainId/],
    [chainRow('x', { chainId: 2 ** 60 }), /chainId/],
    [chainRow('x', { chainType: undefined }), /chainType/],
    [chainRow('x', { name: null }), /name: .*null/],
    [chainRow('x', { shortName: undefined }), /shortName/],
    [chainRow('x'.repeat(257)), /chainKey: .*length/],
    [chainRow('x', { chainType: 't'.repeat(65) }), /chainType: .*length/],
    [chainRow('x', { shortName: 'n'.repeat(1025) }), /shortName: .*length/],
    [
      chainRow('x', { nativeCurrency: { ...ETHER, symbol: 's'.repeat(257) } }),
      /nativeCurrency\.symbol: .*length/,
    ],
    [chainRow('x', { nativeCurrency: undefined }), /nativeCurrency/],
    [chainRow('x', { nativeCurrency: { ...ETHER, decimals: null } }), /nativeCurrency\.decimals/],
    [chainRow('x', { nativeCurrency: { ...ETHER, address: '' } }), /nativeCurrency\.address/],
  ],
  tokens: [
    [null, /Object/],
    [tokenRow('', '0x1'), /chainKey/],
    [tokenRow('good', ''), /address/],
    [tokenRow('good', '0x1', { address: undefined }), /address/],
    [tokenRow('good', '0x1', { decimals: '6' }), /decimals: .*number.*"6"/],
    [tokenRow('good', '0x1', { decimals: 6.5 }), /decimals/],
    [tokenRow('good', '0x1', { decimals: -1 }), /decimals/],
    [tokenRow('good', '0x1', { decimals: 256 }), /decimals/],
    [tokenRow('good', '0x1', { decimals: undefined }), /decimals/],
    [tokenRow('good', '0x1', { symbol: null }), /symbol/],
    [tokenRow('good', '0x1', { name: null }), /name/],
    [tokenRow('good', '0x1', { isBridgeable: 'true' }), /isBridgeable/],
    [tokenRow('good', '0x1', { isBridgeable: null }), /isBridgeable/],
    [tokenRow('good', '0x1', { symbol: 1 }), /symbol: .*string/],
    [tokenRow('c'.repeat(257), '0x1'), /chainKey: .*length.*256.*257/],
    [tokenRow('good', 'a'.repeat(513)), /address: .*length.*512.*513/],
    [tokenRow('good', '0x1', { symbol: 's'.repeat(257) }), /symbol: .*length.*256/],
    [tokenRow('good', '0x1', { name: 'n'.repeat(1025) }), /name: .*length.*1024/],
  ],
};

it.each(['chains', 'tokens'] as const)(
  'bad rows of the %s listing are left out, counted and logged with their places',
  async (listing) => {
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
  },
);

describe('unusual rows that are served', () => {
  it.each<[string, unknown]>([
    ['missing', undefined],
    ['null', null],
    ['a number', 1],
    ['empty', {}],
    ['a text', { usd: '1' }],
    ['null in US dollars', { usd: null }],
    ['below zero', { usd: -1 }],
  ])('a token whose price is %s is served without one', async (_name, price) => {
    const { tokens, listings } = await serve({ tokens: [tokenRow('good', '0x1', { price })] });
    expect(tokens).toMatchObject([{ address: '0x1', price: null }]);
    expect(listings[1]).toMatchObject({ rows: 1, rejectedRows: 0 });
  });

  it('an infinite price and a price of zero are null', async () => {
    const upstream = await startFakeUpstream();
    const row = (address: string, usd: string) =>
      JSON.stringify(tokenRow('good', address)).replace(/"price":\{"usd":[^}]*\}/, `"price":{"usd":${usd}}`);
    upstream.plan('tokens', text(`{"tokens":[${row('0x1', '1e999')},${row('0x2', '0')}]}`));
    const { query } = await createTestGateway({ upstream });
    expect(await query('{ tokens { price { usd } } }')).toEqual({
      data: { tokens: [{ price: null }, { price: null }] },
    });
  });

  it('a token without name, symbol or isBridgeable is served with empty texts and as not bridgeable', async () => {
    const bare = { chainKey: 'good', address: '0x1', decimals: 6 };
    const { tokens, listings } = await serve({ tokens: [bare] });
    expect(tokens).toEqual([{ ...bare, symbol: '', name: '', isBridgeable: false, price: null }]);
    expect(listings[1]).toMatchObject({ rows: 1, rejectedRows: 0 });
  });

  it('empty names, unknown fields and types in capitals', async () => {
    const { chains, tokens } = await serve({
      chains: [{ ...chainRow('c', { chainType: 'EVM', name: '', shortName: '' }), more: { deep: [1] } }],
      tokens: [{ ...tokenRow('c', '0x1', { symbol: '', name: '' }), tags: ['a'] }],
    });
    expect(chains).toMatchObject([{ chainKey: 'c', chainType: 'evm', name: '', shortName: '' }]);
    expect(tokens).toMatchObject([{ symbol: '', name: '' }]);
  });
});

describe('of duplicates the first row is served, and the others count as rejected', () => {
  it('of a chainKey', async () => {
    const { chains, warnings } = await serve({
      chains: [chainRow('a', { name: 'first' }), chainRow('A', { name: 'second' }), chainRow('b')],
    });
    expect(chains.map(({ chainKey, name }) => [chainKey, name])).toEqual([
      ['a', 'first'],
      ['b', 'The b chain'],
    ]);
    expect(warnings).toEqual([['chains[1]: duplicate of chains[0]']]);
  });

  it('many bad rows are logged in one line', async () => {
    const good = Array.from({ length: 50 }, (_, index) => tokenRow('good', `0x${index}`));
    const { warnings } = await serve({ tokens: [...good, ...good.map(() => null)] });
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toHaveLength(20);
  });
});

describe('a first listing', () => {
  const bad = (count: number) => Array.from({ length: count }, () => ({}));

  it.each([
    ['of which half can be read is served', [GOOD_TOKEN, ...bad(1)], 'FRESH'],
    ['of which fewer can be read is refused', [GOOD_TOKEN, ...bad(2)], 'EMPTY'],
    ['of which most rows are duplicates is served', [GOOD_TOKEN, GOOD_TOKEN, GOOD_TOKEN], 'FRESH'],
  ])('%s', async (_name, tokens, state) => {
    const upstream = await startFakeUpstream({ chains: [GOOD_CHAIN], tokens });
    const { query, snapshots } = await createTestGateway({ upstream });
    const answer = await query('{ tokens { symbol } }');
    const { lastFailure, ...status } = snapshots.status(Date.now())[1];
    expect(status.state).toBe(state);
    if (state === 'FRESH') return;
    expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
    expect(lastFailure?.message).toContain(
      'expected at least half of the rows in "tokens" to have the specified form, as none are known yet, got 1 of 3',
    );
  });
});

describe('a response in a wrong form is refused whole', () => {
  const ENVELOPES: [string, string][] = [
    ['null', 'null'],
    ['a number', '1'],
    ['a text', '"tokens"'],
    ['a bare array', JSON.stringify([GOOD_TOKEN])],
    ['an empty object', '{}'],
    ['the other listing', JSON.stringify({ rows: [GOOD_TOKEN] })],
    ['null rows', '{"tokens":null}'],
    ['rows by key', JSON.stringify({ tokens: { a: GOOD_TOKEN } })],
    ['rows in a text', JSON.stringify({ tokens: JSON.stringify([GOOD_TOKEN]) })],
    ['no rows', '{"tokens":[]}'],
    ['no good row', '{"tokens":[null,{}]}'],
    ['no JSON', '<html>'],
    ['half of it', '{"tokens":['],
    ['nothing', ''],
    ['more rows than any listing', `{"tokens":[${'0,'.repeat(200_000)}0]}`],
  ];

  it.each(ENVELOPES)('%s: there is no listing, and an earlier one stays', async (_name, body) => {
    const upstream = await startFakeUpstream({ tokens: [GOOD_TOKEN] });
    const fed = await createTestGateway({ upstream, config: { tokensFreshMs: 5 } });
    const before = await fed.query('{ tokens { symbol } }');
    upstream.plan('tokens', text(body));
    const { query } = await createTestGateway({ upstream });
    const answer = await query(
      '{ tokens { symbol } chain(chainKey: "base") { name } listings { name state } }',
    );
    expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
    expect(answer.data).toEqual({
      tokens: null,
      chain: { name: 'Base' },
      listings: [
        { name: 'chains', state: expect.any(String) },
        { name: 'tokens', state: 'EMPTY' },
      ],
    });
    await expect.poll(() => fed.snapshots.status(Date.now())[1].lastFailure?.code).toBe('UPSTREAM_MALFORMED');
    expect(await fed.query('{ tokens { symbol } }')).toEqual(before);
  });

  it('of routes is served without the bad rows, which are logged', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan(
      'tokens',
      json({ tokens: [GOOD_TOKEN, tokenRow('good', '0x1', { decimals: '6' }), GOOD_TOKEN] }),
    );
    const { query, logged } = await createTestGateway({ upstream });
    expect(await query('{ tokens(srcToken: "0x1") { address } }')).toEqual({
      data: { tokens: [{ address: '0xAa' }] },
    });
    expect(logged.find(({ msg }) => msg === 'Left out bad rows of the routes from a token')).toMatchObject({
      srcToken: '0x1',
      rejectedRows: 2,
      rejected: [expect.stringMatching(/^tokens\[1\]: decimals/), 'tokens[2]: duplicate of tokens[0]'],
    });
  });

  it('of routes may be empty, but is refused if all of its rows are bad', async () => {
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    upstream.plan('tokens', json({ tokens: [{}] }));
    expect(codesOf(await query('{ tokens(srcToken: "0x1") { symbol } }'))).toEqual(['UPSTREAM_MALFORMED']);
    upstream.plan('tokens', json({ tokens: [] }));
    expect(await query('{ tokens(srcToken: "0x1") { symbol } }')).toEqual({ data: { tokens: [] } });
  });
});
