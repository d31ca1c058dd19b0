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

/** What a client sees of these rows, and what the log says of those that are left out. */
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

describe('a bad chain row is left out, counted and logged with its place', () => {
  it.each<[string, unknown, RegExp]>([
    ['null', null, /Object/],
    ['a text', 'ethereum', /Object/],
    ['a list', [], /Object|chainKey/],
    ['no chainKey', chainRow('x', { chainKey: undefined }), /chainKey/],
    ['an empty chainKey', chainRow('x', { chainKey: '' }), /chainKey/],
    ['no chainId', chainRow('x', { chainId: undefined }), /chainId/],
    ['a chainId that is text', chainRow('x', { chainId: '1' }), /chainId: .*number.*"1"/],
    ['a chainId that is no whole number', chainRow('x', { chainId: 1.5 }), /chainId/],
    ['a chainId that JSON cannot hold', chainRow('x', { chainId: 2 ** 60 }), /chainId/],
    ['no chainType', chainRow('x', { chainType: undefined }), /chainType/],
    ['a null name', chainRow('x', { name: null }), /name: .*null/],
    ['no shortName', chainRow('x', { shortName: undefined }), /shortName/],
    ['an endless chainKey', chainRow('x'.repeat(257)), /chainKey: .*length/],
    ['an endless chainType', chainRow('x', { chainType: 't'.repeat(65) }), /chainType: .*length/],
    ['an endless shortName', chainRow('x', { shortName: 'n'.repeat(1025) }), /shortName: .*length/],
    [
      'a nativeCurrency with an endless symbol',
      chainRow('x', { nativeCurrency: { ...ETHER, symbol: 's'.repeat(257) } }),
      /nativeCurrency\.symbol: .*length/,
    ],
    ['no nativeCurrency', chainRow('x', { nativeCurrency: undefined }), /nativeCurrency/],
    [
      'a nativeCurrency without decimals',
      chainRow('x', { nativeCurrency: { ...ETHER, decimals: null } }),
      /nativeCurrency\.decimals/,
    ],
    [
      'a nativeCurrency with an empty address',
      chainRow('x', { nativeCurrency: { ...ETHER, address: '' } }),
      /nativeCurrency\.address/,
    ],
  ])('%s', async (_name, row, reason) => {
    const { chains, listings, warnings } = await serve({ chains: [GOOD_CHAIN, row, chainRow('after')] });
    expect(chains.map(({ chainKey }) => chainKey)).toEqual(['good', 'after']);
    expect(listings[0]).toEqual({ name: 'chains', rows: 2, rejectedRows: 1 });
    expect(warnings).toEqual([[expect.stringMatching(/^chains\[1\]: /)]]);
    expect(warnings[0]?.[0]).toMatch(reason);
  });
});

describe('a bad token row is left out, counted and logged with its place', () => {
  it.each<[string, unknown, RegExp]>([
    ['null', null, /Object/],
    ['an empty chainKey', tokenRow('', '0x1'), /chainKey/],
    ['an empty address', tokenRow('good', ''), /address/],
    ['no address', tokenRow('good', '0x1', { address: undefined }), /address/],
    ['decimals that are text', tokenRow('good', '0x1', { decimals: '6' }), /decimals: .*number.*"6"/],
    ['decimals that are no whole number', tokenRow('good', '0x1', { decimals: 6.5 }), /decimals/],
    ['decimals below zero', tokenRow('good', '0x1', { decimals: -1 }), /decimals/],
    ['decimals that no asset has', tokenRow('good', '0x1', { decimals: 256 }), /decimals/],
    ['no decimals', tokenRow('good', '0x1', { decimals: undefined }), /decimals/],
    ['a null symbol', tokenRow('good', '0x1', { symbol: null }), /symbol/],
    ['a null name', tokenRow('good', '0x1', { name: null }), /name/],
    ['isBridgeable that is text', tokenRow('good', '0x1', { isBridgeable: 'true' }), /isBridgeable/],
    ['a null isBridgeable', tokenRow('good', '0x1', { isBridgeable: null }), /isBridgeable/],
    ['a symbol that is a number', tokenRow('good', '0x1', { symbol: 1 }), /symbol: .*string/],
    ['an endless chainKey', tokenRow('c'.repeat(257), '0x1'), /chainKey: .*length.*256.*257/],
    ['an endless address', tokenRow('good', 'a'.repeat(513)), /address: .*length.*512.*513/],
    ['an endless symbol', tokenRow('good', '0x1', { symbol: 's'.repeat(257) }), /symbol: .*length.*256/],
    ['an endless name', tokenRow('good', '0x1', { name: 'n'.repeat(1025) }), /name: .*length.*1024/],
  ])('%s', async (_name, row, reason) => {
    const { tokens, listings, warnings } = await serve({
      tokens: [GOOD_TOKEN, row, tokenRow('good', '0x2')],
    });
    expect(tokens.map(({ address }) => address)).toEqual(['0xAa', '0x2']);
    expect(listings[1]).toEqual({ name: 'tokens', rows: 2, rejectedRows: 1 });
    expect(warnings).toEqual([[expect.stringMatching(/^tokens\[1\]: /)]]);
    expect(warnings[0]?.[0]).toMatch(reason);
  });
});

describe('odd rows that are good', () => {
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

  it('a price that passes all numbers is none, and so is one of zero', async () => {
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

describe('duplicates collapse to the first, and count as rejected', () => {
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

  it('of an address on one chain, as it is looked up', async () => {
    const { tokens, listings, warnings } = await serve({
      tokens: [
        tokenRow('a', '0xAb', { name: 'first' }),
        tokenRow('a', '0xaB', { name: 'second' }),
        tokenRow('b', '0xab', { name: 'elsewhere' }),
        tokenRow('s', 'Base58', { name: 'exact' }),
        tokenRow('s', 'base58', { name: 'another' }),
        tokenRow('a', `0x${'0'.repeat(40)}`, { name: 'zero' }),
        tokenRow('a', '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', { name: 'placeholder' }),
      ],
    });
    expect(tokens.map(({ name }) => name)).toEqual(['first', 'elsewhere', 'exact', 'another', 'zero']);
    expect(listings[1]).toMatchObject({ rows: 5, rejectedRows: 2 });
    expect(warnings).toEqual([['tokens[1]: duplicate of tokens[0]', 'tokens[6]: duplicate of tokens[5]']]);
  });

  it('log one line for many bad rows, and not each of them', async () => {
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

describe('an answer with more parts than any listing is refused', () => {
  const row = JSON.stringify(GOOD_TOKEN);
  it.each([
    ['rows', `{"tokens":[${'0,'.repeat(200_000)}0]}`, '200000 rows in "tokens"'],
    [
      'names of members',
      `{"tokens":[${row},{${Array.from({ length: 1000 }, (_, nth) => `"\\"${nth}":0`).join(',')}}]}`,
      '1000 names of members',
    ],
    [
      'objects',
      `{"tokens":[${row}],"more":[${Array.from({ length: 10 }, () => `[${'{},'.repeat(100_000)}{}]`).join(',')}]}`,
      '1000000 objects and arrays',
    ],
    [
      'values',
      `{"tokens":[${row}],"more":[${Array.from({ length: 21 }, () => `[${'0,'.repeat(199_990)}0]`).join(',')}]}`,
      '2800000 values',
    ],
  ])('%s', async (_name, body, most) => {
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', text(body));
    const { query } = await createTestGateway({ upstream });
    const answer = await query('{ tokens { symbol } }');
    expect(codesOf(answer)).toEqual(['UPSTREAM_MALFORMED']);
    expect(answer.errors?.[0]?.message).toContain(`expected at most ${most}, got`);
  });

  it('but not for what looks like parts in a text, or ends in the midst of one', async () => {
    const name = `${'{[,'.repeat(60)}\\"${'],'.repeat(20)}`;
    const upstream = await startFakeUpstream();
    const body = Buffer.from(
      JSON.stringify({ tokens: [{ ...GOOD_TOKEN, name }], more: '{,'.repeat(2_500_000) }),
    );
    upstream.plan('tokens', (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      const at = body.indexOf('\\') + 1;
      response.write(body.subarray(0, at));
      setTimeout(() => response.end(body.subarray(at)), 20);
    });
    const { query } = await createTestGateway({ upstream });
    expect(await query('{ tokens { name } }')).toEqual({ data: { tokens: [{ name }] } });
  });
});

describe('a wrong envelope refuses the listing', () => {
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
  ];

  it.each(ENVELOPES)('%s', async (_name, body) => {
    const upstream = await startFakeUpstream();
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
  });

  it.each(ENVELOPES)('%s, and the last good one stays', async (_name, body) => {
    const upstream = await startFakeUpstream({ tokens: [GOOD_TOKEN] });
    const { query, snapshots } = await createTestGateway({ upstream, config: { tokensFreshMs: 5 } });
    const before = await query('{ tokens { symbol } }');
    upstream.plan('tokens', text(body));
    await expect.poll(() => snapshots.status(Date.now())[1].lastFailure?.code).toBe('UPSTREAM_MALFORMED');
    expect(await query('{ tokens { symbol } }')).toEqual(before);
  });

  it('of routes is only of those rows that are bad, which are logged', async () => {
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

  it('of routes, too, where no rows are an answer and no good row is none', async () => {
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    upstream.plan('tokens', json({ tokens: [{}] }));
    expect(codesOf(await query('{ tokens(srcToken: "0x1") { symbol } }'))).toEqual(['UPSTREAM_MALFORMED']);
    upstream.plan('tokens', json({ tokens: [] }));
    expect(await query('{ tokens(srcToken: "0x1") { symbol } }')).toEqual({ data: { tokens: [] } });
  });
});
