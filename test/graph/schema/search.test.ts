/** A search finds the tokens that people mean, by symbols, names, chains, addresses and identifiers. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { foldSymbol } from '../../../src/search/text.js';
import { demoChains, demoTokens, type RawToken } from '../../fixtures/demo.js';
import { chainRow, tokenRow, USDC } from '../../fixtures/rows.js';
import { share } from '../../support/ends.js';
import { startFakeUpstream, status } from '../../support/fake-upstream.js';
import { type Found, searchIn } from '../../support/searches.js';
import { createTestGateway } from '../../support/test-gateway.js';
import { refreshWith, startServer, UNGUARDED } from '../../support/test-server.js';

const HEX = '0x00000000000000000000000000000000000000';
const ODD_TOKENS = [
  tokenRow('ethereum', `${HEX}a1`, { symbol: 'ARB', name: 'Arbitrum' }),
  tokenRow('base', `${HEX}a2`, { symbol: '₿TCx', name: 'Bitcoin of another kind' }),
  tokenRow('base', `${HEX}a3`, { symbol: 'POKÉ', name: 'Pokémon Münze' }),
  tokenRow('base', `${HEX}a4`, { symbol: '🚀', name: 'Rocket' }),
  tokenRow('base', `${HEX}a5`, { symbol: '', name: '' }),
  tokenRow('unlisted', `${HEX}a6`, { symbol: 'LOST', name: 'On a chain that is not listed' }),
];

const gateway = share(async (atEnd) => {
  const listings = { chains: demoChains, tokens: [...demoTokens, ...ODD_TOKENS] };
  return createTestGateway({ listings, atEnd });
});

async function search(query: string, filter = {}, from: Pick<typeof gateway, 'query'> = gateway) {
  const { nodes: found, totalCount } = await searchIn(from, { query, filter, first: 100 });
  return { found, totalCount, chainKeys: found.map(({ chainKey }) => chainKey) };
}

const keyOf = ({ chainKey, address }: Pick<RawToken, 'chainKey' | 'address'>) => `${chainKey} ${address}`;

const serve = (tokens: readonly object[], chains: readonly object[] = demoChains) =>
  createTestGateway({ listings: { chains, tokens } });

const namesOf = ({ found }: Awaited<ReturnType<typeof search>>) =>
  found.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`);

const STG = '0x2F6F07CDcf3588944Bf4C42aC74ff24bF56e7590';
const ON_SOLANA =
  demoTokens.find(({ address }) => /^[1-9A-HJ-NP-Za-km-z]{40,}$/.test(address))?.address ?? '';

// Symbols that are the word or begin with it come before symbols that contain it further inside. A query can be the name
// or words of the name, have characters that a keyboard or a clipboard adds, and name a chain by any of its common names.
it.each<[symbols: string, typed: string, chainKeys?: string]>([
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
  ['aUSD_', 'ausd'],
  ['1INCH', '1inch'],
  ['G', 'g'],
  ['STG stgUSDC', 'stg'],
  ['SOL', 'sol'],
  ['USDC', 'coin usd|usdcoin|usd-coin'],
  ['YFI', 'yearn.finance|finance'],
  ['crvUSD', 'curve fi'],
  ['POKÉ', 'poke|munze|pokémon'],
  ['🚀', '🚀'],
  ['₿TCx', 'btcx'],
  ['ETH ARB', 'eth arb', 'arbitrum ethereum'],
  ['ARB ETH', 'arb eth', 'ethereum arbitrum'],
  ['ARB', 'ethereum arb', 'ethereum'],
  ['ETH', 'eth arbitrum', 'arbitrum ethereum'],
  ['USDC S*USDC', 'usdc base|base usdc|usdc/base|usdc-base|usdc@base|base:usdc|usdc (base)', 'base'],
  ['USDC S*USDC', 'usdc on base|usdc to base chain', 'base'],
  ['KAIA USDC.e USDT WETH', 'kaia|klaytn', 'klaytn'],
  ['USDC USDC.e', 'usdc op|usdc op mainnet|usdc opmainnet', 'optimism'],
  ['USDT S*USDT', 'usdt bnb|usdt bsc|usdt bnb chain|usdt binance|usdt bnb smart chain', 'bsc'],
  ['USDC', 'usdc zksync era', 'zksync'],
  ['LOST', 'lost unlisted', 'unlisted'],
  ['VIC', 'viction', 'tomo'],
  ['USDC', 'usdc arbitrum one|usdc arb one', 'arbitrum'],
  ['USDC S*USDC', 'usdc polygon pos', 'polygon'],
  ['WETH', 'weth berachain', 'bera'],
  ['USDT S*USDT', 'usdt ethereum mainnet', 'ethereum'],
  ['ETH', 'eth mainnet', 'ethereum optimism celo'],
  ['USDC', 'usdc mainnet', 'ethereum optimism celo'],
])('a search finds %s first for each of %j', async (symbols, queries, chainKeys) => {
  const expected = symbols.split(' ');
  for (const typed of queries.split('|')) {
    const { found, chainKeys: foundOn } = await search(typed);
    const first = [...new Set(found.map(({ symbol }) => symbol))].slice(0, expected.length);
    expect([typed, first]).toEqual([typed, expected]);
    if (chainKeys) expect([typed, [...new Set(foundOn)]]).toEqual([typed, chainKeys.split(' ')]);
  }
});

const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
it.each([
  ...[USDC, USDC.toLowerCase(), USDC.toUpperCase(), `  ${USDC}\n`].map((typed) => [typed, USDC]),
  ...[`"${USDC}"`, `${USDC},`, `ethereum:${USDC}`].map((typed) => [typed, USDC]),
  [`https://example.org/token/${USDC}#code`, USDC],
  [STG.toLowerCase(), STG],
  [USDC.slice(0, 8), USDC.slice(0, 8)],
  [ON_SOLANA, ON_SOLANA],
  [`${ON_SOLANA},`, ON_SOLANA],
  [PLACEHOLDER.toUpperCase(), PLACEHOLDER],
  [`0x${'0'.repeat(40)}`, PLACEHOLDER],
  ...['0x20c000', '0X20C00000', '"0x20c000"', '0x20c000 tempo'].map((typed) => [typed, '0x20c000']),
])('%j finds the tokens whose address is or begins with %s', async (typed = '', start = '') => {
  const { found, totalCount } = await search(typed);
  const listed = demoTokens.filter(({ address }) => address.toLowerCase().startsWith(start.toLowerCase()));
  expect(listed.length).toBeGreaterThan(0);
  expect(totalCount).toBe(listed.length);
  expect(listed.map(keyOf)).toEqual(expect.arrayContaining(found.map(keyOf)));
});

it.each([
  ['STG polygon', `eip155:137/erc20:${STG}`],
  ['STG polygon', `"eip155:137/erc20:${STG.toLowerCase()}"`],
  ['STG polygon', `${STG} eip155:137`],
  ['STG polygon', `137 ${STG}`],
  ['STG polygon', `${STG.toLowerCase()} poly`],
  ['USDC ethereum', '0xa0b8…eb48'],
  ['USDC ethereum', '0xA0b8...eB48'],
  ['USDC ethereum', '0xA0b86..06eB48'],
  ['USDC ethereum', '"0xa0b86991c6…cE3606eB48" ethereum'],
  ['USDC ethereum', `0x${USDC.slice(2).padStart(64, '0')}`],
  ['USDC ethereum', USDC.slice(2)],
  // A token's address in Move is a type. The picker shows its start and end.
  ['APT aptos', '0x1::a…Coin aptos'],
  ['ETH ethereum', `0x${'0'.repeat(40)} ethereum`],
])('only %s is found by %s', async (token, typed) => {
  expect(namesOf(await search(typed))).toEqual([token]);
});

it('a whole Move type finds its token, in the forms of pages and explorers', async () => {
  const types = demoTokens.filter(({ address }) => address.includes('::'));
  expect(types.length).toBeGreaterThan(3);
  for (const { address } of types) {
    const account = address.slice(2, address.indexOf(':'));
    const long = address.replace(account, account.padStart(64, '0'));
    const listedOn = types.filter((type) => type.address === address).map(({ chainKey }) => chainKey);
    for (const typed of [address, ` "${address}"`, long, long.replace(account, account.toUpperCase())])
      expect((await search(typed)).chainKeys.sort()).toEqual(listedOn.sort());
  }
});

it('a Move type with parameters finds its token, with or without white space', async () => {
  const type = '0xabc::lp::LP<0x1::a::A,0x2::b::B<u8>>';
  const other = await serve([tokenRow('base', type, { symbol: 'POOL' }), tokenRow('base', '0x1::a::A')]);
  const spaced = [
    '0xabc::lp::LP<0x1::a::A, 0x2::b::B<u8>>',
    '0xABC::lp::LP< 0x1::a::A,\n 0x2::b::B<u8> > base',
  ];
  for (const typed of [type, ...spaced])
    expect(namesOf(await search(typed, {}, other))).toEqual(['POOL base']);
});

it('the first zeros of the zero address do not find native assets', async () => {
  expect(namesOf(await search('0x00000000')).filter((name) => name.startsWith('ETH '))).toEqual([]);
});

it('an identifier is not searched in symbols and names', async () => {
  const identifiers = [USDC, USDC.slice(0, 12), '0xA0b8...eB48', ON_SOLANA, 'EPjF...Dt1v'].concat(
    '0x1::aptos_coin::AptosCoin',
    `eip155:1/erc20:${USDC}`,
    'eip155:4242',
  );
  const texts = identifiers.flatMap((typed) => [`${typed} Token`, `USD Coin ${typed}`]);
  const fakes = texts.flatMap((text, nth) => [
    tokenRow('base', `${HEX}${10 + nth}`, { symbol: text, name: 'Fake' }),
    tokenRow('base', `${HEX}${50 + nth}`, { symbol: 'FAKE', name: text }),
  ]);
  const other = await serve([...demoTokens, ...fakes]);
  for (const typed of identifiers)
    expect(namesOf(await search(typed, {}, other)), typed).toEqual(namesOf(await search(typed)));
});

it.each([
  ['nonsense', 'qqqq'],
  ['less than six digits of an address', USDC.slice(0, 7)],
  ['a part of an address that is not its start', `0x${USDC.slice(8, 20)}`],
  ['an unknown address', `0x${'12'.repeat(20)}`],
  ['an address on another chain', `eip155:137/erc20:${USDC}`],
  ['the start of one address with the end of another', '0xA0b8…2913'],
  ['less than four digits at the start and at the end of an address', '0xA0b…b48'],
  ['a case-sensitive address in another case', ON_SOLANA.toLowerCase()],
  ['a word that matches beside one that does not', 'usdc qqqq'],
  ['two words that match only different tokens', 'pengu ethereum'],
  ['punctuation alone', '***'],
  ['a regular expression', '.*'],
  ['a line of the index', 'usdc\nusdt'],
])('%s finds no token', async (_what, typed) => {
  expect(await search(typed)).toEqual({ found: [], totalCount: 0, chainKeys: [] });
});

it.each(['', ' ', '\u200b', '\n\t'])('%j finds all tokens', async (typed) => {
  const { totalCount } = await search(typed);
  expect(totalCount).toBe(demoTokens.length + ODD_TOKENS.length);
});

it.each([
  // "eth" is inside "Tether", and "usds" is in "USD Stablecoin" across two words.
  ['base eth', 'USDT'],
  ['usds', 'crvUSD'],
  // "ink" means the chain Ink, but "Lightlink" and "Chainlink" end with it.
  ['usdc ink', 'USDC lightlink'],
])('"%s" does not find %s, which has a word of it only inside or across words', async (typed, unwanted) => {
  expect(namesOf(await search(typed)).filter((name) => name.startsWith(unwanted))).toEqual([]);
});

it('a search puts the tokens of a chain before other tokens with its name in theirs', async () => {
  const { chainKeys } = await search('base', { isBridgeable: true });
  const onBase = chainKeys.filter((key) => key === 'base');
  expect(onBase.length).toBeGreaterThan(10);
  expect(chainKeys.slice(0, onBase.length)).toEqual(onBase);
});

it('a search orders equal matches by the number of bridgeable tokens of the chain, then by chains of the symbol (as a power of two)', async () => {
  const row = (chainKey: string, nth: number, symbol: string) =>
    tokenRow(chainKey, `0x${chainKey.charCodeAt(0)}${nth}`, { symbol, name: 'Same' });
  const tokens = [
    ...['AA', 'BB', 'CC', 'DD'].map((symbol, nth) => row('z', nth, symbol)),
    ...['AA', 'BB', 'CC'].map((symbol, nth) => row('y', nth, symbol)),
    ...['AA', 'EE'].map((symbol, nth) => row('x', nth, symbol)),
    { ...row('x', 9, 'BB'), isBridgeable: false },
  ];
  const other = await serve(tokens);
  const orderOf = async (typed: string) => namesOf(await search(typed, {}, other)).join(', ');
  // z has 4 bridgeable tokens, y and x have 3 and 2; AA and BB are on 3 chains, CC on 2.
  expect(await orderOf('same')).toBe('AA z, BB z, CC z, DD z, AA y, BB y, CC y, AA x, EE x, BB x');
  // A blank query sorts by the symbol's number of chains first.
  expect(await orderOf('')).toBe('AA z, BB z, CC z, AA y, BB y, CC y, AA x, BB x, DD z, EE x');
});

it('a search puts a native asset before the other tokens of its symbol on its chain, and then bridgeable and priced ones', async () => {
  const other = await serve([
    tokenRow('a', '0x1', { symbol: 'METIS', isBridgeable: false }),
    tokenRow('a', '0x2', { symbol: 'Metis' }),
    tokenRow('a', PLACEHOLDER, { symbol: 'METIS', isBridgeable: false, price: null }),
    tokenRow('b', '0x3', { symbol: 'Metis', isBridgeable: false }),
    tokenRow('b', '0x4', { symbol: 'METIS', price: null }),
    tokenRow('b', '0x5', { symbol: 'METIS' }),
  ]);
  for (const typed of ['metis', 'met', '']) {
    const { found } = await search(typed, {}, other);
    const on = (key: string) =>
      found.filter(({ chainKey }) => chainKey === key).map(({ address }) => address);
    expect(on('a')).toEqual([PLACEHOLDER, '0x2', '0x1']);
    expect(on('b')).toEqual(['0x5', '0x4', '0x3']);
  }
});

it('a search puts the native asset first by the address of the native currency, too, as soon as this is known', async () => {
  const withNative = (address: string) => [
    chainRow('a', { nativeCurrency: { chainKey: 'a', name: 'A', symbol: 'A', decimals: 6, address } }),
  ];
  const tokens = [tokenRow('a', '0x1', { isBridgeable: false }), tokenRow('a', '0x2')];
  const server = await startServer({ listings: { chains: status(404), tokens }, config: UNGUARDED });
  const first = async (query: string) => {
    const { body } = await server.ask({ query: `{ tokenSearch(query: "${query}") { nodes { address } } }` });
    const { data } = JSON.parse(String(body)) as { data: { tokenSearch: Found } };
    return data.tokenSearch.nodes[0]?.address;
  };
  for (const [native, address] of Object.entries({ '': '0x2', '0x1': '0x1', '0x3': '0x2' })) {
    if (native) await refreshWith(server, tokens, withNative(native));
    for (const query of ['', '', '', 'usdc', 'usdc', 'usdc'])
      await expect.poll(() => first(query)).toBe(address);
  }
});

it('a search tries looser interpretations if the filter removes all matches', async () => {
  // A token AVAX is listed, but it is not bridgeable.
  const { chainKeys } = await search('avax', { isBridgeable: true });
  expect(chainKeys.length).toBeGreaterThan(1);
  expect(new Set(chainKeys)).toEqual(new Set(['avalanche']));
});

it('a search with a filter by chain type finds no token on an unlisted chain', async () => {
  for (const chainTypes of [[''], ['evm'], ['undefined']]) {
    expect((await search('lost', { chainTypes })).totalCount).toBe(0);
  }
  expect((await search('lost')).totalCount).toBe(1);
});

it('a search finds every token by its own symbol, name, chain and address', async () => {
  for (const { symbol, name, chainKey, address } of demoTokens.filter((_token, row) => row % 29 === 0)) {
    const chain = demoChains.find((candidate) => candidate.chainKey === chainKey);
    for (const typed of [`${symbol} ${name}`, `${symbol} ${chain?.name}`, `${symbol} ${address}`]) {
      const { found } = await search(typed, { chainKeys: [chainKey] });
      expect(found, typed).toContainEqual(expect.objectContaining({ symbol, chainKey }));
    }
  }
});

it('tokens are found by the keys of chains without a chain listing, and a filter by type is an error', async () => {
  const tokens = [tokenRow('ethereum', '0x1'), tokenRow('base', '0x2')];
  const listings = { chains: status(500), tokens };
  const { query } = await createTestGateway({ listings, config: { upstreamRetries: 0 } });
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
  const upstream = await startFakeUpstream({ tokens: [tokenRow('base', '0x2')] });
  const fail = upstream.hold('chains', status(500));
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

it('symbols with punctuation or white space are found by a whole word in them', async () => {
  const symbols = ['USDC.x', 'USDC \n', 'US DC', 'xusdc usdc'];
  const other = await serve(
    symbols.map((symbol, nth) => tokenRow('base', `0x${nth + 1}`, { symbol, name: 'abcd'[nth] })),
  );
  expect((await search('usdc', {}, other)).found.map(({ name }) => name)).toEqual(['b', 'a', 'd']);
});

it('a symbol of letters that stand for many others has no longer form, and is found by itself', async () => {
  const symbol = 'ﷺ'.repeat(256);
  expect(foldSymbol(symbol)).toHaveLength(256);
  const other = await serve([tokenRow('base', '0x1', { symbol, name: 'a' }), tokenRow('base', '0x2')]);
  expect((await search('', { symbols: [symbol] }, other)).found.map(({ name }) => name)).toEqual(['a']);
});
