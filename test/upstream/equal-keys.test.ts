import { describe, expect, it } from 'vitest';
import { MAX_LENGTHS } from '../../src/domain/text-limits.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor } from '../support/fake-successor.js';
import { json, startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const USDC = '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85';
const DIGITS = USDC.slice(2);
const COIN = '0x0bae207659db88bea0cbead6da0ed00aac12edcdda169e591cd41c94180b46f3';
const NATIVE_CURRENCY = chainRow('a').nativeCurrency as object;
const ORIGIN = { source: 'v1', takenAt: 0 };

interface Served {
  readonly tokens: readonly { readonly chainKey: string; readonly address: string }[];
  readonly listings: readonly { readonly rows: number; readonly rejectedRows: number }[];
}

/** The rows that a client gets, and the log lines about the rejected ones. */
async function serve(rows: { chains?: readonly unknown[]; tokens: readonly unknown[] }) {
  const upstream = await startFakeUpstream({ chains: [chainRow('a')], ...rows });
  const gateway = await createTestGateway({ upstream });
  const { data } = await gateway.query<Served>(
    '{ tokens { chainKey address } listings { rows rejectedRows } }',
  );
  const warnings = gateway.logged.filter(({ msg }) => msg.startsWith('Left out bad rows'));
  return { ...gateway, data, rejected: warnings.flatMap(({ rejected }) => rejected as string[]) };
}

describe('two spellings of one address are one token', () => {
  it.each([
    ['in another letter case', USDC, USDC.toUpperCase()],
    ['without 0x', USDC, DIGITS],
    ['without the zero that it begins with', USDC, `0x${DIGITS.slice(1)}`],
    ['as 32 bytes', USDC, `0x${DIGITS.padStart(64, '0')}`],
    ['short and long', '0x1', `0x${'1'.padStart(64, '0')}`],
    ['of 32 bytes without their first zero', COIN, COIN.replace('0x0', '0x')],
    ['a short and a long account of Move', '0x1::coin::COIN', `0x${'1'.padStart(64, '0')}::coin::COIN`],
    [
      'an account of Move without its first zero',
      `${COIN}::coin::T`,
      `${COIN.replace('0x0', '0x')}::coin::T`,
    ],
    ['an account within the parameters of a type', '0xa::lp::LP<0x2::a::A>', '0xA::lp::LP<0x02::a::A>'],
    ['of the native asset', '0x0', '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'],
    ['of the native asset, without 0x', '0'.repeat(40), 'e'.repeat(40)],
  ])('%s', async (_what, one, other) => {
    const { data, rejected, query } = await serve({ tokens: [tokenRow('a', one), tokenRow('A', other)] });
    expect(data?.tokens).toEqual([{ chainKey: 'a', address: one }]);
    expect(rejected).toEqual(['tokens[1]: duplicate of tokens[0]']);
    const ids = [one, other].map((address) =>
      Buffer.from(JSON.stringify(['Token', 'A', address])).toString('base64url'),
    );
    const found = await query(
      `query ($keys: [TokenKey!]!, $ids: [ID!]!) {
        tokensByKey(keys: $keys) { address }
        nodes(ids: $ids) { ... on Token { address } }
      }`,
      { ids, keys: [one, other].map((address) => ({ chainKey: 'A', address })) },
    );
    expect(found.data).toEqual({
      tokensByKey: [{ address: one }, { address: one }],
      nodes: [{ address: one }, { address: one }],
    });
  });

  it('but Move names, base58 and modules that look like addresses are case-sensitive', async () => {
    const addresses = [
      '0x1::coin::COIN',
      '0x1::coin::Coin',
      '0x1::m0x02::T',
      '0x1::m0x2::T',
      'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v',
      'epjfwdd5aufqssqem2qn1xzybapc8g4weggkzwytdt1v',
    ];
    const rows = addresses.map((address) => tokenRow('a', address));
    const { data } = await serve({ tokens: [...rows, tokenRow('b', '0x1::coin::COIN')] });
    expect(data?.tokens.map(({ address }) => address)).toEqual([...addresses, '0x1::coin::COIN']);
  });
});

describe('the key of a chain', () => {
  it('is served in lower case everywhere, whatever the upstream sends', async () => {
    const native = { ...NATIVE_CURRENCY, chainKey: 'ETHEREUM' };
    const upstream = await startFakeUpstream({
      chains: [chainRow('Ethereum', { nativeCurrency: native })],
      tokens: [tokenRow('ETHEREUM', USDC)],
    });
    const { query } = await createTestGateway({ upstream });
    const { data } = await query(
      `{ chains { chainKey tokenCount nativeCurrency { chainKey } }
         tokens(srcChainKey: "eThereum") { chainKey chain { chainKey } } }`,
    );
    expect(data).toEqual({
      chains: [{ chainKey: 'ethereum', tokenCount: 1, nativeCurrency: { chainKey: 'ethereum' } }],
      tokens: [{ chainKey: 'ethereum', chain: { chainKey: 'ethereum' } }],
    });
  });

  it('is lower case in routes, too', async () => {
    const upstream = await startFakeUpstream({ chains: [chainRow('a')] });
    upstream.plan('tokens', (response, request, nth) => {
      const isForRoutes = request.url?.includes('srcToken') === true;
      json({ tokens: [isForRoutes ? tokenRow('B', '0x1') : tokenRow('a', USDC)] })(response, request, nth);
    });
    const { query } = await createTestGateway({ upstream });
    const { data } = await query(`{ destinations(srcChainKey: "A", srcToken: "${USDC}") { chainKey } }`);
    expect(data).toEqual({ destinations: [{ chainKey: 'b' }] });
  });
});

describe('white space or an invisible character in a key or an address rejects the row', () => {
  it.each([
    ['a space at the end', ' '],
    ['a no-break space', '\u00a0'],
    ['a tab', '\t'],
    ['an ideographic space', '\u3000'],
    ['a zero-width space', '\u200b'],
    ['a soft hyphen', '\u00ad'],
    ['a mark of direction', '\u202e'],
    ['a byte order mark', '\ufeff'],
    ['a filler of Hangul', '\u3164'],
    ['a control character', '\u0000'],
  ])('%s', async (_what, mark) => {
    const tokens = [
      tokenRow('a', USDC),
      tokenRow(`a${mark}`, USDC, { decimals: 18 }),
      tokenRow('a', `${USDC}${mark}`, { decimals: 18 }),
      tokenRow('a', `0x${mark}${DIGITS}`, { decimals: 18 }),
    ];
    const fetched = await TOKENS.parse(tokens, ORIGIN);
    expect(fetched.rows.map(({ decimals }) => decimals)).toEqual([6]);
    expect(fetched.rejected.first).toEqual([
      'tokens[1]: chainKey: Expected no white space and no invisible characters',
      'tokens[2]: address: Expected no white space and no invisible characters',
      'tokens[3]: address: Expected no white space and no invisible characters',
    ]);
    expect(fetched.contradictory?.size).toBe(0);
    const only = await TOKENS.parse([tokenRow('b', '0x2'), ...tokens.slice(1)], ORIGIN);
    const known = await TOKENS.parse([tokenRow('a', USDC)], ORIGIN);
    // Each of the three stands for the token as it would be without the mark.
    expect(only.unreadable).toMatchObject({ count: 3, unnamed: 0 });
    expect([...(only.unreadable?.keys ?? [])]).toEqual(
      known.rows.map(({ chainKey, address }) => `${chainKey.length} ${chainKey} ${address.toLowerCase()}`),
    );
  });

  it('also in a chain and in the address of its native currency', async () => {
    const native = { ...NATIVE_CURRENCY, address: '0x1 ' };
    const { rows, rejected } = await CHAINS.parse(
      [chainRow('a'), chainRow(' a', { chainId: 2 }), chainRow('b', { nativeCurrency: native })],
      ORIGIN,
    );
    expect(rows.map(({ chainKey }) => chainKey)).toEqual(['a']);
    expect(rejected.count).toBe(2);
  });
});

describe('equal keys with unequal guarded facts', () => {
  const rows = [
    tokenRow('a', '0x2', { symbol: 'GOOD' }),
    tokenRow('a', USDC, { decimals: 6 }),
    tokenRow('A', DIGITS, { decimals: 18 }),
  ];

  it('the rows are not served, and each is counted with its reason', async () => {
    const { data, rejected } = await serve({ tokens: rows });
    expect(data?.tokens).toEqual([{ chainKey: 'a', address: '0x2' }]);
    expect(data?.listings[1]).toEqual({ rows: 1, rejectedRows: 2 });
    expect(rejected).toEqual([
      'tokens[1]: contradicts tokens[2]: decimals 6 and 18',
      'tokens[2]: contradicts tokens[1]: decimals 6 and 18',
    ]);
  });

  it('are stored by key, apart from unreadable rows, each variant once and at most ten', async () => {
    const versions = [6, 18, 6, ...Array.from({ length: 50 }, (_, decimals) => 20 + decimals)];
    const fetched = await TOKENS.parse(
      [...rows.slice(0, 1), ...versions.map((decimals) => tokenRow('a', USDC, { decimals }))],
      ORIGIN,
    );
    expect(fetched.unreadable).toEqual({ count: 0, keys: new Set(), unnamed: 0 });
    expect(fetched.rejected.count).toBe(versions.length);
    expect([...(fetched.contradictory ?? [])]).toEqual([
      [
        expect.stringContaining(USDC.toLowerCase()),
        [6, 18, 20, 21, 22, 23, 24, 25, 26, 27].map((decimals) => expect.objectContaining({ decimals })),
      ],
    ]);
  });

  it.each([
    ['chainId', { chainId: 8 }, 'chainId 7 and 8'],
    ['chainType', { chainType: 'solana' }, 'chainType evm and solana'],
    [
      'native currency',
      { nativeCurrency: { ...NATIVE_CURRENCY, decimals: 6 } },
      'nativeCurrency ETH 18 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE and ETH 6 0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
    ],
  ])('of a chain: %s', async (_fact, changes, reason) => {
    const { rows, rejected, contradictory } = await CHAINS.parse(
      [chainRow('a'), chainRow('A', changes), chainRow('b')],
      ORIGIN,
    );
    expect(rows.map(({ chainKey }) => chainKey)).toEqual(['b']);
    expect(rejected.first).toEqual([
      `chains[0]: contradicts chains[1]: ${reason}`,
      `chains[1]: contradicts chains[0]: ${reason}`,
    ]);
    expect(contradictory?.get('a')).toHaveLength(2);
  });

  it('two spellings of one native address do not contradict each other', async () => {
    const native = { ...NATIVE_CURRENCY, address: '0x0' };
    const { rows, rejected } = await CHAINS.parse(
      [chainRow('a'), chainRow('a', { nativeCurrency: native })],
      ORIGIN,
    );
    expect(rows).toHaveLength(1);
    expect(rejected.first).toEqual(['chains[1]: duplicate of chains[0]']);
  });

  it('the reason stays short, however long the symbols are', async () => {
    const long = (letter: string) => tokenRow('a', '0x1', { symbol: letter.repeat(MAX_LENGTHS.symbol) });
    const { rejected } = await TOKENS.parse([tokenRow('a', '0x2'), long('x'), long('y')], ORIGIN);
    expect(Math.max(...rejected.first.map(({ length }) => length))).toBeLessThan(250);
  });

  it('of the successor, too', async () => {
    const upstream = await startFakeSuccessor({
      chains: [successorChain(chainRow('a'))],
      tokens: rows.map(successorToken),
    });
    const { query } = await createTestGateway({ upstream, config: { upstreamProfile: 'value-transfer' } });
    const { data } = await query('{ tokens { symbol } }');
    expect(data).toEqual({ tokens: [{ symbol: 'GOOD' }] });
  });
});
