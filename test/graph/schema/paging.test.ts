import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains, demoTokens, type RawToken } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { afterTests } from '../../support/ends.js';
import { codesOf, createTestGateway, dataOf, type TestGateway } from '../../support/test-gateway.js';
import { refreshWith } from '../../support/test-server.js';

interface FoundToken {
  readonly id: string;
  readonly chainKey: string;
  readonly address: string;
  readonly symbol: string;
  readonly name: string;
  readonly isBridgeable: boolean;
  readonly isNative: boolean;
  readonly price: { readonly usd: number } | null;
}

interface Connection {
  readonly totalCount: number;
  readonly edges: readonly { readonly cursor: string; readonly node: FoundToken }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}

const PAGE = `query Page($query: String, $filter: TokenFilter, $orderBy: TokenOrder, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount
    edges { cursor node { id chainKey address symbol name isBridgeable isNative price { usd } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

const ORDERS = ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC', 'PRICE_ASC'] as const;

const atEnd = afterTests();
let gateway: TestGateway;
beforeAll(async () => {
  gateway = await createTestGateway({ atEnd });
});

const pageOf = async ({ query }: TestGateway, variables: object): Promise<Connection> =>
  (await dataOf(query<{ tokenSearch: Connection }>(PAGE, variables))).tokenSearch;

/** Starts another gateway with these tokens. */
const serve = (tokens: readonly object[]) => createTestGateway({ listings: { tokens } });

/** Fetches all pages, from the first to the last. */
async function pagesOf(
  from: TestGateway,
  variables: object,
  between = async () => {},
): Promise<Connection[]> {
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

/** All tokens, in the order of their pages. */
const tokensOf = async (from: TestGateway, variables: object) =>
  nodesOf(await pagesOf(from, { first: 100, ...variables }));

describe('all pages together', () => {
  it('have the cursors of their first and last token', async () => {
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
    const empty = { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null };
    expect(await pageOf(gateway, { query: 'no such token' })).toEqual({
      totalCount: 0,
      edges: [],
      pageInfo: empty,
    });
    expect(await pageOf(gateway, { query: 'usdc', after: pages.at(-1)?.pageInfo.endCursor })).toMatchObject({
      edges: [],
      pageInfo: { ...empty, hasPreviousPage: true },
    });
  });

  it('continue after any edge', async () => {
    const { edges } = await pageOf(gateway, { query: 'usdc', first: 10 });
    const afterThird = await pageOf(gateway, { query: 'usdc', first: 2, after: edges[2]?.cursor });
    expect(afterThird.edges).toEqual(edges.slice(3, 5));
  });
});

describe('orders', () => {
  const sorted = <Value>(values: readonly Value[], compare: (a: Value, b: Value) => number) =>
    values.slice(1).every((value, index) => compare(values[index] as Value, value) <= 0);
  const byText = (a: string, b: string) => (a < b ? -1 : Number(a > b));

  it.each([
    ['SYMBOL', 'symbol'],
    ['NAME', 'name'],
  ] as const)('%s ignores letter case', async (orderBy, member) => {
    const texts = (await tokensOf(gateway, { orderBy })).map((token) => token[member].toLowerCase());
    expect(sorted(texts, byText)).toBe(true);
  });

  it.each([
    ['PRICE_ASC', 1],
    ['PRICE_DESC', -1],
  ])('%s has tokens without a price last', async (orderBy, direction) => {
    const odd = await serve(
      demoTokens.map((token, row) => (row % 5 === 0 ? { ...token, price: null } : token)),
    );
    const prices = (await tokensOf(odd, { orderBy })).map(({ price }) => price?.usd ?? null);
    const priced = prices.filter((price) => price !== null);
    expect(prices.slice(priced.length)).toEqual(Array(118).fill(null));
    expect(priced).toHaveLength(469);
    expect(sorted(priced, (a, b) => direction * (a - b))).toBe(true);
  });
});

const TYPES = new Map(demoChains.map(({ chainKey, chainType }) => [chainKey, chainType]));
type FilteredToken = Pick<FoundToken, 'chainKey' | 'symbol' | 'isBridgeable' | 'price'>;

describe('filters', () => {
  it.each<[filter: object, isKept: (token: FilteredToken) => boolean]>([
    [{ chainKeys: ['nope'] }, () => false],
    [{ chainKeys: ['BASE', 'base'] }, ({ chainKey }) => chainKey === 'base'],
    [{ chainKeys: [] }, () => false],
    [
      { chainTypes: ['Solana', 'APTOS', 'nope'] },
      ({ chainKey }) => ['solana', 'aptos'].includes(TYPES.get(chainKey) ?? ''),
    ],
    [{ symbols: ['usdt', 'wEth'] }, ({ symbol }) => /^(usdt|weth)$/i.test(symbol)],
    [{ symbols: ['usdt0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
    [{ symbols: ['ＵＳＤ₮0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
    // A part of a symbol is not enough.
    [{ symbols: ['usd'] }, ({ symbol }) => /^usd$/i.test(symbol)],
    [{ chainKeys: null, symbols: null, isNative: null, minPriceUsd: null }, () => true],
    [
      { symbols: ['ETH'], isBridgeable: true, chainKeys: ['base', 'sei'] },
      ({ symbol, isBridgeable, chainKey }) =>
        symbol === 'ETH' && isBridgeable && /^(base|sei)$/.test(chainKey),
    ],
  ])('%j keeps what it says', async (filter, isKept) => {
    const found = await tokensOf(gateway, { filter });
    expect(found.every((token) => isKept(token))).toBe(true);
    expect(found).toHaveLength(demoTokens.filter(isKept).length);
  });

  it('isNative matches the placeholder and the address of the native currency', async () => {
    const native = await tokensOf(gateway, { filter: { isNative: true } });
    const others = await tokensOf(gateway, { filter: { isNative: false } });
    expect(native.every(({ isNative }) => isNative)).toBe(true);
    expect(others.some(({ isNative }) => isNative)).toBe(false);
    expect(native.length + others.length).toBe(587);
    expect(native.some(({ chainKey }) => ['solana', 'aptos', 'tron', 'sui', 'ton'].includes(chainKey))).toBe(
      true,
    );
  });

  it('on prices match nothing once prices are too old', async () => {
    const old = await createTestGateway({ config: { priceMaxAgeMs: -60_000 } });
    const countOf = async (filter: object) => (await pageOf(old, { filter })).totalCount;
    expect(await countOf({ hasPrice: true })).toBe(0);
    expect(await countOf({ minPriceUsd: 0 })).toBe(0);
    expect(await countOf({ hasPrice: false })).toBe(587);
    expect(new Set((await tokensOf(old, { orderBy: 'PRICE_DESC' })).map(keyOf)).size).toBe(587);
  });
});

describe('an invalid argument', () => {
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
      cursorOf(['RELEVANCE', 1, 'a', 'b', 'c'.repeat(4000)]),
    ].map((after): [object, string] => [{ after }, 'Expected a cursor as "after"']),
    [
      { orderBy: 'NAME', after: cursorOf(['PRICE_ASC', 1, 'a', 'b', 'c']) },
      'one of the order NAME, got one of the order PRICE_ASC',
    ],
  ])('%j is BAD_USER_INPUT, and says what was expected', async (variables, message) => {
    const answer = await gateway.query<{ tokenSearch: null }>(PAGE, variables);
    expect(answer.data?.tokenSearch).toBeNull();
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toContain(message);
  });

  it('null in place of any argument means the default', async () => {
    const page = await pageOf(gateway, {
      first: null,
      after: null,
      orderBy: null,
      filter: null,
      query: null,
    });
    expect(page.edges).toHaveLength(20);
    expect(page).toEqual(await pageOf(gateway, {}));
  });
});

describe('a cursor', () => {
  it('is of bounded length and usable for every token', async () => {
    // One character shorter than the longest key that a row may have.
    const long = tokenRow('c'.repeat(255), 'a'.repeat(511), {
      symbol: '\u0001'.repeat(256),
      name: '\ud83d'.repeat(1024),
    });
    const odd = await serve([
      ...[long, { ...long, address: `${long.address}b` }, { ...long, chainKey: `${long.chainKey}d` }],
    ]);
    for (const orderBy of ORDERS) {
      const pages = await pagesOf(odd, { orderBy, first: 1 });
      expect(new Set(nodesOf(pages).map(({ id }) => id)).size).toBe(3);
      expect(pages).toHaveLength(3);
      for (const { pageInfo } of pages) expect(pageInfo.endCursor?.length).toBeLessThan(4096);
    }
  });

  it('differs between tokens that differ only in lone surrogates', async () => {
    const odd = await serve(
      ['\ud800', '\ud801', '\ufffd'].map((last) => tokenRow('base', `${'a'.repeat(130)}${last}`)),
    );
    expect(await pagesOf(odd, { orderBy: 'SYMBOL', first: 1 })).toHaveLength(3);
  });
});

describe('a refresh between two pages', () => {
  /** Fetches all pages, with a refresh to another listing after each. */
  async function pagesWhile(orderBy: string, listings: (nth: number) => readonly RawToken[]) {
    const config = { tokensFreshMs: 3_600_000, holdBackTimes: 1, holdBackMs: 0 };
    const changing = await createTestGateway({ config });
    let nth = 0;
    const pages = await pagesOf(changing, { orderBy, first: 100 }, async () => {
      nth++;
      await refreshWith(changing, listings(nth));
    });
    return nodesOf(pages).map(keyOf);
  }

  /** The counts in a token's rank: of bridgeable tokens on its chain, and of chains (as the number of binary digits). */
  function frequencyIn(listing: readonly RawToken[], { chainKey, symbol }: RawToken): string {
    const sameSymbol = listing.filter((other) => other.symbol.toLowerCase() === symbol.toLowerCase());
    const onChain = listing.filter((other) => other.isBridgeable && other.chainKey === chainKey).length;
    const chains = new Set(sameSymbol.map((other) => other.chainKey)).size;
    return `${onChain}, ${chains.toString(2).length}`;
  }

  it.each(ORDERS)('keeps tokens in place when others are added and removed, by %s', async (orderBy) => {
    const isStaying = ({ chainKey, isBridgeable }: RawToken, row: number) =>
      row % 10 !== 0 || (isBridgeable && !['ethereum', 'optimism'].includes(chainKey));
    const listings: (readonly RawToken[])[] = [demoTokens];
    const keys = await pagesWhile(orderBy, (nth) => {
      const added = Array.from({ length: 15 * nth }, (_nothing, row) => {
        const symbol = `${'AMZ'.charAt(row % 3)}${row}`;
        const address = `0x${(1000 * nth + row).toString(16).padStart(40, '0')}`;
        return tokenRow('base', address, { symbol, name: symbol }) as RawToken;
      });
      const listing = [
        ...demoTokens.filter((token, row) => isStaying(token, row) || (row + nth) % 3 === 0).toReversed(),
        ...added,
      ];
      listings.push(listing);
      return listing;
    });
    const hasSameRank = (token: RawToken) =>
      orderBy !== 'RELEVANCE' || new Set(listings.map((listing) => frequencyIn(listing, token))).size === 1;
    const staying = demoTokens.filter(isStaying).filter(hasSameRank);
    expect(staying.length).toBeGreaterThan(200);
    const counts = new Map<string, number>();
    for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
    expect(staying.filter((token) => counts.get(keyOf(token)) !== 1)).toEqual([]);
    if (orderBy !== 'RELEVANCE') expect([...counts.values()].every((count) => count === 1)).toBe(true);
  });

  it('by price, repeats or misses only tokens whose price changed', async () => {
    const isMoving = ({ symbol }: RawToken) => symbol.startsWith('USD');
    const keys = await pagesWhile('PRICE_DESC', (nth) =>
      demoTokens.map((token) => (isMoving(token) ? { ...token, price: { usd: 1 + (nth % 5) } } : token)),
    );
    const still = new Set(demoTokens.filter((token) => !isMoving(token)).map(keyOf));
    expect(keys.filter((key) => still.has(key)).sort()).toEqual([...still].sort());
  });
});
