/** The pages of a search give each token once and in order, over refreshes, too; filters keep exactly what matches. */
import { expect, it } from 'vitest';
import { demoChains, demoTokens, type RawToken } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { share } from '../../support/ends.js';
import { codesOf, createTestGateway, dataOf, type TestGateway } from '../../support/test-gateway.js';
import { refreshWith, UNGUARDED } from '../../support/test-server.js';

type FoundToken = Omit<RawToken, 'price'> & {
  readonly id: string;
  readonly isNative: boolean;
  readonly price: RawToken['price'] | null;
};

interface Connection {
  readonly totalCount: number;
  readonly edges: readonly { readonly cursor: string; readonly node: FoundToken }[];
  readonly pageInfo: Readonly<Record<'hasNextPage' | 'hasPreviousPage', boolean>> &
    Readonly<Record<'startCursor' | 'endCursor', string | null>>;
}

const PAGE = `query Page($query: String, $filter: TokenFilter, $orderBy: TokenOrder, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount
    edges { cursor node { id chainKey address symbol name isBridgeable isNative price { usd } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

const ORDERS = ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC', 'PRICE_ASC'] as const;

const gateway = share((atEnd) => createTestGateway({ atEnd }));

const pageOf = async ({ query }: TestGateway, variables: object): Promise<Connection> =>
  (await dataOf(query<{ tokenSearch: Connection }>(PAGE, variables))).tokenSearch;

const serve = (tokens: readonly object[]) => createTestGateway({ listings: { tokens } });

async function pagesOf(from: TestGateway, variables: object, between = async () => {}) {
  const pages: Connection[] = [];
  let after: string | null = null;
  do {
    const page: Connection = await pageOf(from, { first: 20, ...variables, after });
    pages.push(page);
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
    await between();
  } while (after !== null);
  return pages;
}

const nodesOf = (pages: readonly Connection[]) => pages.flatMap(({ edges }) => edges.map(({ node }) => node));
const keyOf = ({ chainKey, address }: Pick<RawToken, 'chainKey' | 'address'>) => `${chainKey} ${address}`;

const tokensOf = async (from: TestGateway, variables: object) =>
  nodesOf(await pagesOf(from, { first: 100, ...variables }));

it('pages have the cursors of their first and last token, and continue after any edge', async () => {
  const pages = await pagesOf(gateway, { query: 'usdc' });
  expect(pages.length).toBeGreaterThan(1);
  for (const [index, { pageInfo, edges }] of pages.entries()) {
    expect(pageInfo).toEqual({
      hasNextPage: index < pages.length - 1,
      hasPreviousPage: index > 0,
      startCursor: edges[0]?.cursor,
      endCursor: edges.at(-1)?.cursor,
    });
  }
  const afterThird = await pageOf(gateway, { query: 'usdc', first: 2, after: pages[0]?.edges[2]?.cursor });
  expect(afterThird.edges).toEqual(pages[0]?.edges.slice(3, 5));
  const empty = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
  expect(await pageOf(gateway, { query: 'no such' })).toEqual({ totalCount: 0, edges: [], pageInfo: empty });
  expect(await pageOf(gateway, { query: 'usdc', after: pages.at(-1)?.pageInfo.endCursor })).toMatchObject({
    edges: [],
    pageInfo: { ...empty, hasPreviousPage: true },
  });
});

const byText = (a: string, b: string) => (a < b ? -1 : Number(a > b));
const byPrice = (direction: number) => (a: number | null, b: number | null) =>
  a === null || b === null ? Number(a === null) - Number(b === null) : direction * (a - b);

it('orders sort symbols and names without regard to letter case, and put tokens without a price last', async () => {
  const odd = await serve(demoTokens.map((token, row) => (row % 5 ? token : { ...token, price: null })));
  for (const orderBy of ['SYMBOL', 'NAME'] as const) {
    const member = orderBy === 'SYMBOL' ? 'symbol' : 'name';
    const texts = (await tokensOf(odd, { orderBy })).map((token) => token[member].toLowerCase());
    expect(texts).toEqual(texts.toSorted(byText));
  }
  for (const [orderBy, direction] of Object.entries({ PRICE_ASC: 1, PRICE_DESC: -1 })) {
    const prices = (await tokensOf(odd, { orderBy })).map(({ price }) => price?.usd ?? null);
    expect(prices.filter((price) => price === null)).toHaveLength(118);
    expect(prices).toEqual(prices.toSorted(byPrice(direction)));
  }
});

const TYPES = new Map(demoChains.map(({ chainKey, chainType }) => [chainKey, chainType]));
type FilteredToken = Pick<FoundToken, 'chainKey' | 'symbol' | 'isBridgeable' | 'price'>;
const usdOf = (price: FilteredToken['price']) => price?.usd ?? Number.NaN;

it.each<[filter: object, isKept: (token: FilteredToken) => boolean]>([
  [{ chainTypes: ['Solana', 'nope'] }, ({ chainKey }) => TYPES.get(chainKey) === 'solana'],
  [{ symbols: ['usdt', 'wEth'] }, ({ symbol }) => /^(usdt|weth)$/i.test(symbol)],
  [{ symbols: ['usdt0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
  [{ symbols: ['ＵＳＤ₮0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
  // A part of a symbol is not enough.
  [{ symbols: ['usd'] }, ({ symbol }) => /^usd$/i.test(symbol)],
  [{ chainKeys: null, symbols: null, isNative: null, minPriceUsd: null }, () => true],
  [{ minPriceUsd: 1, maxPriceUsd: 3120.45 }, ({ price }) => usdOf(price) >= 1 && usdOf(price) <= 3120.45],
  [{ hasPrice: false }, ({ price }) => price === null],
  [
    { symbols: ['ETH'], isBridgeable: true, chainKeys: ['BASE', 'base', 'sei'] },
    (token) => token.symbol === 'ETH' && token.isBridgeable && /^(base|sei)$/.test(token.chainKey),
  ],
])('the filter %j keeps exactly the tokens that match', async (filter, isKept) => {
  const found = await tokensOf(gateway, { filter });
  expect(found.every((token) => isKept(token))).toBe(true);
  expect(found).toHaveLength(demoTokens.filter(isKept).length);
});

it('the filter isNative matches the placeholder and the address of the native currency', async () => {
  const native = await tokensOf(gateway, { filter: { isNative: true } });
  const others = await tokensOf(gateway, { filter: { isNative: false } });
  expect(native.every(({ isNative }) => isNative)).toBe(true);
  expect(others.some(({ isNative }) => isNative)).toBe(false);
  expect(native.length + others.length).toBe(587);
  expect(native.some(({ chainKey }) => chainKey === 'aptos')).toBe(true);
});

it('filters on prices count a price that is too old as none', async () => {
  const old = await createTestGateway({ config: { priceMaxAgeMs: -60_000 } });
  const countOf = async (filter: object) => (await pageOf(old, { filter })).totalCount;
  expect(await countOf({ hasPrice: true })).toBe(0);
  expect(await countOf({ minPriceUsd: 0 })).toBe(0);
  expect(await countOf({ hasPrice: false })).toBe(587);
  expect(new Set((await tokensOf(old, { orderBy: 'PRICE_DESC' })).map(keyOf)).size).toBe(587);
});

const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

it.each<[variables: object, message: string]>([
  ...[0, 101, -1].map((first): [object, string] => [
    { first },
    `Expected 1 to 100 as "first", got ${first}.`,
  ]),
  ...[
    ...['nonsense', '', cursorOf(20), `${cursorOf(['RELEVANCE', 1, 'a', 'b', 'c'])}!`],
    cursorOf(['BEST', 1, 'a', 'b', 'c']),
    cursorOf(['RELEVANCE', '1', 'a', 'b', 'c']),
    cursorOf(['RELEVANCE', 1, 'a', 'b']),
    cursorOf(['RELEVANCE', 1, 'a', 'b', 'c', 'd']),
    cursorOf(['RELEVANCE', 1, 'a', 'b', 'c'.repeat(9000)]),
  ].map((after): [object, string] => [{ after }, 'Expected a cursor as "after"']),
  [
    { orderBy: 'NAME', after: cursorOf(['PRICE_ASC', 1, 'a', 'b', 'c']) },
    'one of the order NAME, got one of the order PRICE_ASC',
  ],
  [{ query: 'a b c d e f g h i' }, 'Expected at most 8 words to search for, got 9.'],
])('the arguments %j are refused as BAD_USER_INPUT, with what was expected', async (variables, message) => {
  const answer = await gateway.query<{ tokenSearch: null }>(PAGE, variables);
  expect(answer.data?.tokenSearch).toBeNull();
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  expect(answer.errors?.[0]?.message).toContain(message);
});

it('null in place of any argument means the default', async () => {
  const nulls = { first: null, after: null, orderBy: null, filter: null, query: null };
  const page = await pageOf(gateway, nulls);
  expect(page.edges).toHaveLength(20);
  expect(page).toEqual(await pageOf(gateway, {}));
});

it('the size of pages, the order of the listing and earlier prices do not change the tokens found, nor their order', async () => {
  // Texts without letters, with emoji, or of another length when they are folded.
  const texts = ',🚀,e\u0301,漢字,ﬁ,İ,ﷺ,\u200b,₿,S & P,yearn.finance,\ud83d'.split(',');
  const rows = [
    ...demoTokens.filter((_token, row) => row % 9 === 0),
    ...texts.map((symbol, nth) => tokenRow('base', `0x${nth}1`, { symbol, name: `${symbol} usd` })),
  ].map((row, nth) => (nth % 5 ? { ...row, price: { usd: 1 + (nth % 3) } } : { ...row, price: null }));
  const one = await serve(rows);
  const other = await createTestGateway({ config: UNGUARDED });
  const repriced = rows.map((row, nth) => (nth % 7 ? row : { ...row, price: { usd: 4 } }));
  for (const listing of [repriced, rows]) await refreshWith(other, listing.toReversed());
  for (const orderBy of ORDERS)
    for (const query of orderBy === 'RELEVANCE' ? ['', 'usd', 'base', 'e', 'a', ...texts] : ['', 'usd']) {
      const keys = (await tokensOf(one, { orderBy, query })).map(keyOf);
      expect(keys.length, query).toBeGreaterThan(0);
      for (const first of [7, 100])
        expect((await tokensOf(other, { orderBy, query, first })).map(keyOf)).toEqual(keys);
    }
});

it('cursors of rows with the longest texts can be used', async () => {
  // One character shorter than the longest keys. JSON writes each of these characters as six.
  const long = tokenRow('\ud800'.repeat(255), '\ud83d'.repeat(511), {
    symbol: '\u0001'.repeat(256),
    name: '\ud83d'.repeat(1024),
  });
  const others = [{ address: `${long.address}\ud801` }, { chainKey: `${long.chainKey}\ud801` }];
  const odd = await serve([long, ...others.map((changes) => ({ ...long, ...changes }))]);
  for (const orderBy of ORDERS) {
    const pages = await pagesOf(odd, { orderBy, first: 1 });
    expect(new Set(nodesOf(pages).map(({ id }) => id)).size).toBe(3);
    expect(pages).toHaveLength(3);
  }
});

async function pagesWhile(
  orderBy: string,
  listings: (nth: number) => readonly RawToken[],
  variables: object = { first: 100 },
) {
  const changing = await createTestGateway({ config: UNGUARDED });
  let nth = 0;
  const pages = await pagesOf(changing, { orderBy, ...variables }, async () => {
    nth++;
    await refreshWith(changing, listings(nth));
  });
  return nodesOf(pages).map(keyOf);
}

it.each(['RELEVANCE', 'NAME'])('over refreshes, pages by %s have each kept token once', async (orderBy) => {
  // Without these rows, all others keep their rank: they are not bridgeable, and no other row has their symbol.
  const isLeaving = ({ isBridgeable, symbol }: RawToken) =>
    !isBridgeable && demoTokens.filter((token) => token.symbol === symbol).length === 1;
  const keys = await pagesWhile(orderBy, (nth) => {
    const added = Array.from({ length: 15 * nth }, (_, row) => {
      const symbol = `${'AMZ'.charAt(row % 3)}x${row}`;
      const address = `0x${(1000 * nth + row).toString(16).padStart(40, '0')}`;
      return tokenRow('base', address, { symbol, name: symbol, isBridgeable: false }) as RawToken;
    });
    const kept = demoTokens.filter((token, row) => !isLeaving(token) || (row + nth) % 3 === 0);
    return [...kept.toReversed(), ...added];
  });
  expect(new Set(keys).size).toBe(keys.length);
  expect(keys.join()).toContain(`base 0x${'0'.repeat(30)}`);
  expect(demoTokens.filter((token) => !isLeaving(token) && !keys.includes(keyOf(token)))).toEqual([]);
});

it.each([undefined, 'usd'])('added bridgeable tokens move no cursor of RELEVANCE, for %j', async (query) => {
  const variables = { query, filter: { chainKeys: ['ethereum'] }, first: 5 };
  const keys = await pagesWhile(
    'RELEVANCE',
    (nth) => [
      ...demoTokens,
      ...Array.from({ length: nth % 3 }, (_, row) => {
        const address = `0x${(1000 * nth + row).toString(16).padStart(40, '0')}`;
        return tokenRow('ethereum', address, { symbol: `ZZ${row}`, isBridgeable: true }) as RawToken;
      }),
    ],
    variables,
  );
  const listed = new Set(demoTokens.map(keyOf));
  const found = (await tokensOf(gateway, variables)).map(keyOf);
  expect(keys.filter((key) => listed.has(key)).sort()).toEqual(found.sort());
});

const on = (chainKey: string, ...symbols: readonly string[]) =>
  symbols.map((symbol) => tokenRow(chainKey, `0x${symbol}`, { symbol, name: symbol }));
const fewerChains = [...on('x', 'a1', 'a2'), ...on('z', 'a2')];
const fewerTokens = [...on('x', 'a1'), ...on('y', 'a1'), ...on('z', 'a2')];
it.each([
  ['fewer chains list its symbol', '', fewerChains, ['x 0xa2', 'z 0xa2']],
  ['fewer chains list its symbol', 'a', fewerChains, ['x 0xa2', 'z 0xa2']],
  ['its chain has fewer tokens', 'a', [...fewerTokens, ...on('z', 'b')], ['z 0xa2', 'y 0xa1']],
])('a refresh that lowers the rank of a cursor hides none: %s %j', async (_why, query, listing, others) => {
  const tokens = [...on('x', 'a1', 'a2', 'b'), ...on('y', 'a1'), ...on('z', 'a2', 'b')];
  const changing = await createTestGateway({ listings: { tokens }, config: UNGUARDED });
  const { edges, pageInfo } = await pageOf(changing, { query, first: 1 });
  expect(edges[0]?.node).toMatchObject({ chainKey: 'x', symbol: 'a1' });
  await refreshWith(changing, listing);
  const next = await pageOf(changing, { query, after: pageInfo.endCursor });
  expect(next.edges.map(({ node }) => keyOf(node))).toEqual(expect.arrayContaining(others));
});

it('a refresh between two pages by price repeats or misses only tokens whose price changed', async () => {
  const isMoving = ({ symbol }: RawToken) => symbol.startsWith('USD');
  const keys = await pagesWhile('PRICE_DESC', (nth) =>
    demoTokens.map((token) => (isMoving(token) ? { ...token, price: { usd: 1 + (nth % 5) } } : token)),
  );
  const still = new Set(demoTokens.filter((token) => !isMoving(token)).map(keyOf));
  expect(keys.filter((key) => still.has(key)).sort()).toEqual([...still].sort());
});
