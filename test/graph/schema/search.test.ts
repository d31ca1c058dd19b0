import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { stopClock } from '../../support/clock.js';
import { afterTests } from '../../support/ends.js';
import { startFakeUpstream, status } from '../../support/fake-upstream.js';
import { createTestGateway, type TestGateway } from '../../support/test-gateway.js';
import { refreshWith } from '../../support/test-server.js';

interface FoundToken {
  readonly symbol: string;
  readonly name: string;
  readonly chainKey: string;
  readonly address: string;
  readonly isBridgeable: boolean;
  readonly price: object | null;
}

const HEX = '0x00000000000000000000000000000000000000';
/** Rows of kinds that the demo listing does not have. */
const ODD_TOKENS = [
  tokenRow('ethereum', `${HEX}a1`, { symbol: 'ARB', name: 'Arbitrum' }),
  tokenRow('base', `${HEX}a2`, { symbol: '₿TCx', name: 'Bitcoin of another kind' }),
  tokenRow('base', `${HEX}a3`, { symbol: 'POKÉ', name: 'Pokémon Münze' }),
  tokenRow('base', `${HEX}a4`, { symbol: '🚀', name: 'Rocket' }),
  tokenRow('base', `${HEX}a5`, { symbol: '', name: '' }),
  tokenRow('base', `${HEX}a6`, { symbol: 'UNPRICED', name: 'Twin', price: null }),
  tokenRow('base', `${HEX}a7`, { symbol: 'UNPRICED', name: 'Twin' }),
  tokenRow('base', `${HEX}a8`, { symbol: 'UNPRICED', name: 'Twin', isBridgeable: false }),
  tokenRow('unlisted', `${HEX}a9`, { symbol: 'LOST', name: 'On a chain that is not listed' }),
];

const atEnd = afterTests();
let gateway: TestGateway;

// All tests share one gateway, because none of them changes it.
beforeAll(async () => {
  const upstream = await startFakeUpstream({ chains: demoChains, tokens: [...demoTokens, ...ODD_TOKENS] });
  gateway = await createTestGateway({ upstream, atEnd });
});

async function search(query: string, filter = {}, { query: ask } = gateway) {
  const { data, errors } = await ask<{ tokenSearch: { totalCount: number; nodes: FoundToken[] } }>(
    `query ($query: String, $filter: TokenFilter) {
      tokenSearch(query: $query, filter: $filter, first: 100) {
        totalCount nodes { symbol name chainKey address isBridgeable price { usd } }
      }
    }`,
    { query, filter },
  );
  expect(errors).toBeUndefined();
  const { nodes: found = [], totalCount = 0 } = data?.tokenSearch ?? {};
  return { found, totalCount };
}

const namesOf = (found: readonly FoundToken[]) =>
  found.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`);

const symbolsOf = (found: readonly FoundToken[]) => [...new Set(found.map(({ symbol }) => symbol))];

const USDC_ON_ETHEREUM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const STG = '0x2F6F07CDcf3588944Bf4C42aC74ff24bF56e7590';
const ON_SOLANA =
  demoTokens.find(({ address }) => /^[1-9A-HJ-NP-Za-km-z]{40,}$/.test(address))?.address ?? '';

describe('a query as a person types it', () => {
  // Symbols that are the word or begin with it come before symbols that contain it further inside. A query can be the name
  // or words of the name, and have characters that a keyboard or a clipboard adds.
  it.each<[symbols: string, typed: string]>([
    ['USDC USDC.e USDC.n stgUSDC S*USDC', 'usdc|USDC'],
    [
      'USDC USDC.e',
      'UsDc|  usdc |ＵＳＤＣ|us\u200bdc|\ufeffusdc\u00a0|usdc,|"usdc"|$usdc|native usdc|usdc token',
    ],
    ['USDC.n', 'USDC.n|bridged noble'],
    ['S*USDC', 'susdc'],
    ['USD', 'usd'],
    ['USDT USDt USD₮0 USDT0', 'usdt|usd₮'],
    ['USD₮0 USDT0', 'usdt0|usd₮0|ｕｓｄ₮０'],
    ['m.USDT', 'musdt'],
    ['rETH', 'reth'],
    ['BTC BTC.b ₿TCx BTCN', 'btc|₿tc'],
    ['1INCH', '1inch'],
    ['aUSD_', 'ausd'],
    ['0G', '0g'],
    ['STG stgUSDC', 'stg'],
    ['G', 'g'],
    ['SOL', 'sol'],
    ['USDT USDt', 'tether'],
    ['USDC', 'coin usd|usdcoin|usd-coin'],
    ['STG USD₮0', 'stargate'],
    ['PENGU', 'pudgy|pengu'],
    ['YFI', 'yearn.finance|finance'],
    ['crvUSD', 'curve fi'],
    ['sDAI', 'savings'],
    ['POKÉ', 'poke|munze|pokémon'],
    ['🚀', '🚀'],
    ['₿TCx', 'btcx'],
  ])('finds first %s by any of %j', async (symbols, queries) => {
    const expected = symbols.split(' ');
    for (const typed of queries.split('|')) {
      const { found } = await search(typed);
      expect([typed, symbolsOf(found).slice(0, expected.length)]).toEqual([typed, expected]);
    }
  });

  // A query names the chain by any of its common names, also with punctuation or filler words between the words.
  it.each<[symbols: string, chainKeys: string, typed: string]>([
    ['ETH ARB', 'arbitrum ethereum', 'eth arb'],
    ['ARB ETH', 'ethereum arbitrum', 'arb eth'],
    ['ARB', 'ethereum', 'ethereum arb'],
    ['ETH', 'arbitrum ethereum', 'eth arbitrum'],
    [
      'USDC S*USDC',
      'base',
      'usdc base|base usdc|usdc/base|usdc-base|usdc@base|base:usdc|usdc (base)|usdc on base|usdc to base chain',
    ],
    ['USDC.e', 'klaytn', 'usdc kaia'],
    ['KAIA USDC.e USDT WETH', 'klaytn', 'kaia|klaytn'],
    ['VANA', 'islander', 'vana'],
    ['USDC', 'hyperliquid', 'usdc hyperevm'],
    ['USDC USDC.e', 'optimism', 'usdc op|usdc op mainnet|usdc opmainnet'],
    ['USDT S*USDT', 'bsc', 'usdt bnb|usdt bsc|usdt bnb chain|usdt binance|usdt bnb smart chain'],
    ['USDC', 'zksync', 'usdc zksync era'],
    ['USDC', 'xlayer', 'usdc x layer'],
    ['USDC', 'avalanche', 'usdc avax'],
    ['USDC', 'polygon', 'usdc matic'],
    ['LOST', 'unlisted', 'lost unlisted'],
    ['VIC', 'tomo', 'viction'],
    ['AVAX', 'avalanche', 'avax network'],
    ['USDC', 'arbitrum', 'usdc arbitrum one|usdc arb one'],
    ['USDC S*USDC', 'polygon', 'usdc polygon pos'],
    ['WETH', 'bera', 'weth berachain'],
    ['USDT S*USDT', 'ethereum', 'usdt ethereum mainnet'],
    ['ETH', 'ethereum optimism celo', 'eth mainnet'],
    ['USDC', 'ethereum optimism celo', 'usdc mainnet'],
  ])('finds %s only on %s by any of %j', async (symbols, chainKeys, queries) => {
    const expected = symbols.split(' ');
    for (const typed of queries.split('|')) {
      const { found } = await search(typed);
      expect([typed, symbolsOf(found).slice(0, expected.length)]).toEqual([typed, expected]);
      const foundOn = [...new Set(found.map(({ chainKey }) => chainKey))];
      expect([typed, foundOn]).toEqual([typed, chainKeys.split(' ')]);
    }
  });

  it.each<[what: string, typed: string, address: string]>([
    ['a pasted address', USDC_ON_ETHEREUM, USDC_ON_ETHEREUM],
    ['one in small letters', USDC_ON_ETHEREUM.toLowerCase(), USDC_ON_ETHEREUM],
    ['one in capitals', `0X${USDC_ON_ETHEREUM.slice(2).toUpperCase()}`, USDC_ON_ETHEREUM],
    ['one with spaces around it', `  ${USDC_ON_ETHEREUM}\n`, USDC_ON_ETHEREUM],
    ['one in quotes', `"${USDC_ON_ETHEREUM}"`, USDC_ON_ETHEREUM],
    ['one with a comma', `${USDC_ON_ETHEREUM},`, USDC_ON_ETHEREUM],
    ['one with a prefix', `ethereum:${USDC_ON_ETHEREUM}`, USDC_ON_ETHEREUM],
    ['one in a link', `https://example.org/token/${USDC_ON_ETHEREUM}#code`, USDC_ON_ETHEREUM],
    ['one that is not hex with a comma', `${ON_SOLANA},`, ON_SOLANA],
    ['one that lives on several chains', STG.toLowerCase(), STG],
    ['one that is not hex', ON_SOLANA, ON_SOLANA],
    [
      'the native placeholder',
      '0xEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE',
      '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
    ],
    ['the zero address', `0x${'0'.repeat(40)}`, '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'],
  ])('%s finds its tokens on all chains', async (_what, typed, address) => {
    const { totalCount } = await search(typed);
    const listed = demoTokens.filter((token) => token.address.toLowerCase() === address.toLowerCase());
    expect(listed.length).toBeGreaterThan(0);
    expect(totalCount).toBe(listed.length);
  });

  it.each([
    ['its CAIP-19 identifier', `eip155:137/erc20:${STG}`],
    ['that in small letters and quotes', `"eip155:137/erc20:${STG.toLowerCase()}"`],
    ['its address and the CAIP-2 identifier of its chain', `${STG} eip155:137`],
    ['its address and the chainId', `137 ${STG}`],
  ])('a token on one of many chains is found by %s alone', async (_what, typed) => {
    const { found } = await search(typed);
    expect(found).toEqual([expect.objectContaining({ symbol: 'STG', chainKey: 'polygon' })]);
  });

  it('a whole Move type finds its token, in the forms of pages and explorers', async () => {
    const types = demoTokens.filter(({ address }) => address.includes('::'));
    expect(types.length).toBeGreaterThan(3);
    for (const { address } of types) {
      const account = address.slice(2, address.indexOf(':'));
      const long = address.replace(account, account.padStart(64, '0'));
      const chainKeys = types.filter((type) => type.address === address).map(({ chainKey }) => chainKey);
      for (const typed of [address, ` "${address}"`, long, long.replace(account, account.toUpperCase())]) {
        const { found } = await search(typed);
        expect(found.map(({ chainKey }) => chainKey).sort()).toEqual(chainKeys.sort());
      }
    }
  });

  it('a Move type with parameters finds its token, with or without white space', async () => {
    const type = '0xabc::lp::LP<0x1::a::A,0x2::b::B<u8>>';
    const tokens = [tokenRow('base', type, { symbol: 'POOL' }), tokenRow('base', '0x1::a::A')];
    const other = await createTestGateway({ listings: { chains: demoChains, tokens } });
    const spaced = [
      '0xabc::lp::LP<0x1::a::A, 0x2::b::B<u8>>',
      '0xABC::lp::LP< 0x1::a::A,\n 0x2::b::B<u8> > base',
    ];
    for (const typed of [type, ...spaced])
      expect(namesOf((await search(typed, {}, other)).found)).toEqual(['POOL base']);
  });

  it.each([
    '0xa0b8…eb48',
    '0xA0b8...eB48',
    '0xA0b86..06eB48',
    '"0xa0b86991c6…cE3606eB48" ethereum',
    `0x${USDC_ON_ETHEREUM.slice(2).padStart(64, '0')}`,
    USDC_ON_ETHEREUM.slice(2),
  ])('an address is found by %s', async (typed) => {
    const { found } = await search(typed);
    expect(found).toEqual([expect.objectContaining({ symbol: 'USDC', chainKey: 'ethereum' })]);
  });

  it('the start and end of a Move type, as the picker shows them, find its token', async () => {
    const { found } = await search('0x1::a…Coin aptos');
    expect(found).toEqual([expect.objectContaining({ symbol: 'APT', chainKey: 'aptos' })]);
  });

  it('the start of an address finds all addresses with that start, in any letter case', async () => {
    for (const typed of ['0x20c000', '0X20C00000', '"0x20c000"', '0x20c000 tempo']) {
      const { totalCount } = await search(typed);
      const listed = demoTokens.filter(({ address }) => address.toLowerCase().startsWith('0x20c000'));
      expect(listed.length).toBeGreaterThan(1);
      expect(totalCount).toBe(listed.length);
    }
  });

  it('the first zeros of the zero address do not find native assets', async () => {
    const { found } = await search('0x00000000');
    expect(found.filter(({ symbol }) => symbol === 'ETH')).toEqual([]);
    expect((await search(`0x${'0'.repeat(40)} ethereum`)).found).toMatchObject([{ symbol: 'ETH' }]);
  });

  it.each([
    ['an address', USDC_ON_ETHEREUM],
    ['the start of an address', USDC_ON_ETHEREUM.slice(0, 12)],
    ['the start and the end of an address', '0xA0b8...eB48'],
    ['a type of Move', '0x1::aptos_coin::AptosCoin'],
    ['an address that is not hex', ON_SOLANA],
    ['a CAIP-19 identifier', `eip155:1/erc20:${USDC_ON_ETHEREUM}`],
    ['a CAIP-2 identifier', 'eip155:4242'],
  ])('a token that has %s in its texts is not found by it', async (_what, typed) => {
    const fakes = [`${typed} Token`, `USD Coin ${typed}`].flatMap((text, index) => [
      tokenRow('base', `${HEX}${10 + index}`, { symbol: text, name: 'Fake' }),
      tokenRow('base', `${HEX}${20 + index}`, { symbol: 'FAKE', name: text }),
    ]);
    const other = await createTestGateway({
      listings: { chains: demoChains, tokens: [...demoTokens, ...fakes] },
    });
    expect(namesOf((await search(typed, {}, other)).found)).toEqual(namesOf((await search(typed)).found));
  });

  it('an address and a chain find the token on that chain', async () => {
    const { found } = await search(`${STG.toLowerCase()} poly`);
    expect(found.map(({ chainKey }) => chainKey)).toEqual(
      demoTokens
        .filter(({ address, chainKey }) => address === STG && chainKey.startsWith('poly'))
        .map(({ chainKey }) => chainKey),
    );
    expect(found.length).toBeGreaterThan(0);
  });

  it.each([
    ['nonsense', 'qqqq'],
    ['less than six digits of an address', USDC_ON_ETHEREUM.slice(0, 7)],
    ['a part of an address that is not its start', `0x${USDC_ON_ETHEREUM.slice(8, 20)}`],
    ['an unknown address', `0x${'12'.repeat(20)}`],
    ['the start of one address with the end of another', '0xA0b8…2913'],
    ['less than four digits at the start and at the end of an address', '0xA0b…b48'],
    ['a case-sensitive address in another case', ON_SOLANA.toLowerCase()],
    ['a word that matches beside one that does not', 'usdc qqqq'],
    ['two words that match only different tokens', 'pengu ethereum'],
    ['punctuation alone', '***'],
    ['a regular expression', '.*'],
    ['a line of the index', 'usdc\nusdt'],
  ])('%s finds none', async (_what, typed) => {
    expect(await search(typed)).toEqual({ found: [], totalCount: 0 });
  });

  it.each(['', ' ', '\u200b', '\n\t'])('%j finds all', async (typed) => {
    const { totalCount } = await search(typed);
    expect(totalCount).toBe(demoTokens.length + ODD_TOKENS.length);
  });

  it.each([
    // "eth" is inside "Tether", and "usds" is in "USD Stablecoin" across two words.
    ['base eth', 'USDT'],
    ['usds', 'crvUSD'],
    // "ink" means the chain Ink, but "Lightlink" and "Chainlink" end with it.
    ['usdc ink', 'USDC lightlink'],
  ])('"%s" does not find %s, of which it is only inside a name', async (typed, unwanted) => {
    const { found } = await search(typed);
    expect(found.filter(({ symbol, chainKey }) => `${symbol} ${chainKey}`.startsWith(unwanted))).toEqual([]);
  });

  it('puts the tokens of a chain before tokens with a part of its name in their own', async () => {
    const { found } = await search('base', { isBridgeable: true });
    const onBase = found.filter(({ chainKey }) => chainKey === 'base');
    expect(onBase.length).toBeGreaterThan(10);
    expect(found.slice(0, onBase.length)).toEqual(onBase);
  });

  it('orders equal matches by the tokens of the chain, then by the number of chains, rounded down to a power of two', async () => {
    const row = (chainKey: string, nth: number, symbol: string) =>
      tokenRow(chainKey, `0x${chainKey.charCodeAt(0)}${nth}`, { symbol, name: 'Same' });
    const tokens = [
      ...['AA', 'BB', 'CC', 'DD'].map((symbol, nth) => row('z', nth, symbol)),
      ...['AA', 'BB', 'CC'].map((symbol, nth) => row('y', nth, symbol)),
      ...['AA', 'EE'].map((symbol, nth) => row('x', nth, symbol)),
      { ...row('x', 9, 'BB'), isBridgeable: false },
    ];
    const other = await createTestGateway({
      listings: { chains: ['x', 'y', 'z'].map((key) => chainRow(key)), tokens },
    });
    const orderOf = async (typed: string) => namesOf((await search(typed, {}, other)).found).join(', ');
    // z has 4 bridgeable tokens, y and x have 3 and 2; AA and BB are on 3 chains, CC on 2.
    expect(await orderOf('same')).toBe('AA z, BB z, CC z, DD z, AA y, BB y, CC y, AA x, EE x, BB x');
    // A blank query sorts by the symbol's number of chains first.
    expect(await orderOf('')).toBe('AA z, BB z, CC z, AA y, BB y, CC y, AA x, BB x, DD z, EE x');
  });

  it('puts a native asset before the other tokens of its symbol on its chain, and then bridgeable ones', async () => {
    const native = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
    const tokens = [
      tokenRow('a', '0x1', { symbol: 'METIS', isBridgeable: false }),
      tokenRow('a', '0x2', { symbol: 'Metis' }),
      tokenRow('a', native, { symbol: 'METIS', isBridgeable: false, price: null }),
      tokenRow('b', '0x3', { symbol: 'Metis', isBridgeable: false }),
      tokenRow('b', '0x4', { symbol: 'METIS' }),
    ];
    const other = await createTestGateway({ listings: { chains: [chainRow('a'), chainRow('b')], tokens } });
    for (const typed of ['metis', 'met', '']) {
      const { found } = await search(typed, {}, other);
      const on = (key: string) =>
        found.filter(({ chainKey }) => chainKey === key).map(({ address }) => address);
      expect(on('a')).toEqual([native, '0x2', '0x1']);
      expect(on('b')).toEqual(['0x4', '0x3']);
    }
  });

  it('puts bridgeable and priced tokens first among equal symbols', async () => {
    const { found } = await search('unpriced');
    expect(found.map(({ isBridgeable, price }) => [isBridgeable, price !== null])).toEqual([
      [true, true],
      [true, false],
      [false, true],
    ]);
  });

  it('tries looser interpretations if the filter removes all matches', async () => {
    // A token AVAX is listed, but it is not bridgeable.
    const { found } = await search('avax', { isBridgeable: true });
    expect(found.length).toBeGreaterThan(1);
    expect(new Set(found.map(({ chainKey }) => chainKey))).toEqual(new Set(['avalanche']));
  });

  it('gives a token on an unlisted chain no chain type', async () => {
    for (const chainTypes of [[''], ['evm'], ['undefined']]) {
      expect((await search('lost', { chainTypes })).totalCount).toBe(0);
    }
    expect((await search('lost')).totalCount).toBe(1);
  });

  it('is BAD_USER_INPUT with too many words', async () => {
    const answer = await gateway.query('{ tokenSearch(query: "a b c d e f g h i") { totalCount } }');
    expect(answer.errors?.[0]).toMatchObject({
      message: 'Expected at most 8 words to search for, got 9.',
      extensions: { code: 'BAD_USER_INPUT' },
    });
  });

  it('finds every token by its own symbol, name, chain and address', async () => {
    for (const { symbol, name, chainKey, address } of demoTokens.filter((_token, row) => row % 7 === 0)) {
      const chain = demoChains.find((candidate) => candidate.chainKey === chainKey);
      for (const typed of [`${symbol} ${name}`, `${symbol} ${chain?.name}`, `${symbol} ${address}`]) {
        const { found } = await search(typed, { chainKeys: [chainKey] });
        expect(found, typed).toContainEqual(expect.objectContaining({ symbol, chainKey }));
      }
    }
  });
});

describe('without a chain listing', () => {
  it('tokens are found by the keys of their chains, and a filter by type is an error', async () => {
    const { query, upstream } = await createTestGateway({
      listings: {
        chains: [chainRow('ethereum')],
        tokens: [tokenRow('ethereum', '0x1'), tokenRow('base', '0x2')],
      },
      config: { upstreamRetries: 0 },
    });
    upstream.plan('chains', status(500));
    const answer = await query<{ found: { edges: { node: object }[] }; typed: null }>(
      `{ found: tokenSearch(query: "usdc base") { edges { node { chainKey } } }
         typed: tokenSearch(filter: { chainTypes: ["evm"] }) { totalCount } }`,
    );
    expect(answer.data?.found.edges).toEqual([{ node: { chainKey: 'base' } }]);
    expect(answer.data?.typed).toBeNull();
    expect(answer.errors).toEqual([
      expect.objectContaining({ path: ['typed'], extensions: { code: 'UPSTREAM_STATUS' } }),
    ]);
  });

  it('tokens are listed without waiting for chains, if the search does not need them', async () => {
    const upstream = await startFakeUpstream({
      chains: [chainRow('base')],
      tokens: [tokenRow('base', '0x2')],
    });
    let fail = () => {};
    upstream.plan('chains', (...asked) => {
      fail = () => status(500)(...asked);
    });
    const { query } = await createTestGateway({ upstream, config: { upstreamRetries: 0 } });
    const plain = await query('{ tokenSearch(query: " ", filter: { hasPrice: true }) { totalCount } }');
    expect(plain.data).toEqual({ tokenSearch: { totalCount: 1 } });
    // This query could name a chain, so the search waits for the chains.
    const named = query('{ tokenSearch(query: "usdc") { totalCount } }');
    const isFirst = await Promise.race([named.then(() => true), sleep(200, false)]);
    expect(isFirst).toBe(false);
    await expect.poll(() => upstream.count('chains')).toBe(1);
    fail();
    expect((await named).data).toEqual({ tokenSearch: { totalCount: 1 } });
  });
});

describe('rows with unusual texts', () => {
  it('are found by their texts', async () => {
    const symbols = ['USDC.x', 'USDC \n', 'US DC', 'xusdc usdc'];
    const tokens = symbols.map((symbol, nth) =>
      tokenRow('base', `0x${nth + 1}`, { symbol, name: 'abcd'[nth] }),
    );
    const other = await createTestGateway({ listings: { chains: [chainRow('base')], tokens } });
    expect((await search('usdc', {}, other)).found.map(({ name }) => name)).toEqual(['b', 'a', 'd']);
  });
});

const CURRENCY = { chainKey: 'two', name: 'Two', symbol: 'TWO', decimals: 18 };

describe('the cached result of a search', () => {
  it('expires when the chains change', async () => {
    const other = await createTestGateway({
      listings: {
        chains: [chainRow('one', { name: 'First' }), chainRow('two', { name: 'Second' })],
        tokens: [tokenRow('one', '0x1'), tokenRow('two', '0x2')],
      },
      config: { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000, holdBackTimes: 1, holdBackMs: 0 },
    });
    const foundOn = async () =>
      [await search('first', {}, other), await search('', { isNative: true }, other)].map(({ found }) =>
        found.map(({ chainKey }) => chainKey),
      );
    expect(await foundOn()).toEqual([['one'], []]);
    const chains = [
      chainRow('one', { name: 'Third' }),
      chainRow('two', { name: 'First', nativeCurrency: { ...CURRENCY, address: '0x2' } }),
    ];
    await refreshWith(other, [tokenRow('one', '0x1'), tokenRow('two', '0x2')], chains);
    expect(await foundOn()).toEqual([['two'], ['two']]);
  });

  it('expires when prices become too old', async () => {
    const other = await createTestGateway({ config: { tokensFreshMs: 3_600_000, priceMaxAgeMs: 60_000 } });
    const clock = stopClock();
    const count = async () => (await search('', { hasPrice: true }, other)).totalCount;
    expect(await count()).toBe(demoTokens.length);
    clock.advance(60_001);
    expect(await count()).toBe(0);
  });
});
