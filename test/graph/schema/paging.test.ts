import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains, demoTokens, type RawToken } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { afterTests } from '../../support/ends.js';
import { codesOf, createTestGateway, type TestGateway } from '../../support/test-gateway.js';
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

async function pageOf({ query }: TestGateway, variables: object): Promise<Connection> {
  const { data, errors } = await query<{ tokenSearch: Connection }>(PAGE, variables);
  expect(errors).toBeUndefined();
  if (!data) throw new Error('Expected data');
  return data.tokenSearch;
}

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

describe('all pages together', () => {
  it.each(ORDERS)('give each of the demo tokens exactly once, by %s', async (orderBy) => {
    const pages = await pagesOf(gateway, { orderBy });
    const keys = nodesOf(pages).map(keyOf);
    expect(keys).toHaveLength(587);
    expect(keys.toSorted()).toEqual(demoTokens.map(keyOf).sort());
    expect(pages).toHaveLength(30);
    for (const { totalCount } of pages) expect(totalCount).toBe(587);
  });

  it('have the cursors of their first and last token', async () => {
    const pages = await pagesOf(gateway, { query: 'usdc' });
    for (const [index, { pageInfo, edges }] of pages.entries()) {
      expect(pageInfo).toEqual({
        hasNextPage: index < pages.length - 1,
        hasPreviousPage: index > 0,
        startCursor: edges[0]?.cursor,
        endCursor: edges.at(-1)?.cursor,
      });
    }
    const nothing = await pageOf(gateway, { query: 'no such token' });
    expect(nothing).toEqual({
      totalCount: 0,
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: false, startCursor: null, endCursor: null },
    });
  });

  it('continue after any edge, and end after the last', async () => {
    const { edges } = await pageOf(gateway, { query: 'usdc', first: 10 });
    const behindThird = await pageOf(gateway, { query: 'usdc', first: 2, after: edges[2]?.cursor });
    expect(nodesOf([behindThird]).map(keyOf)).toEqual(edges.slice(3, 5).map(({ node }) => keyOf(node)));
    const last = (await pagesOf(gateway, { query: 'usdc' })).at(-1)?.pageInfo.endCursor;
    const behindLast = await pageOf(gateway, { query: 'usdc', after: last });
    expect(behindLast).toMatchObject({
      edges: [],
      pageInfo: { hasNextPage: false, hasPreviousPage: true, startCursor: null, endCursor: null },
    });
  });
});

describe('orders', () => {
  const sorted = <Value>(values: readonly Value[], compare: (a: Value, b: Value) => number) =>
    values.slice(1).every((value, index) => compare(values[index] as Value, value) <= 0);
  const byText = (a: string, b: string) => (a < b ? -1 : Number(a > b));

  it('SYMBOL and NAME ignore letter case', async () => {
    const texts = async (orderBy: 'SYMBOL' | 'NAME', of: 'symbol' | 'name') =>
      nodesOf(await pagesOf(gateway, { orderBy, first: 100 })).map((token) => token[of].toLowerCase());
    expect(sorted(await texts('SYMBOL', 'symbol'), byText)).toBe(true);
    expect(sorted(await texts('NAME', 'name'), byText)).toBe(true);
  });

  it('PRICE_ASC and PRICE_DESC have tokens without a price last', async () => {
    const odd = await createTestGateway({
      listings: {
        chains: demoChains,
        tokens: demoTokens.map((token, row) => (row % 5 === 0 ? { ...token, price: null } : token)),
      },
    });
    for (const [orderBy, direction] of [
      ['PRICE_ASC', 1],
      ['PRICE_DESC', -1],
    ] as const) {
      const prices = nodesOf(await pagesOf(odd, { orderBy })).map(({ price }) => price?.usd ?? null);
      const priced = prices.filter((price) => price !== null);
      expect(prices.slice(priced.length)).toEqual(Array(118).fill(null));
      expect(priced).toHaveLength(469);
      expect(sorted(priced, (a, b) => direction * (a - b))).toBe(true);
    }
  });

  it('are the same in every gateway, whatever the order of the upstream', async () => {
    const other = await createTestGateway({
      listings: { chains: demoChains, tokens: demoTokens.toReversed() },
    });
    for (const orderBy of ORDERS) {
      const here = nodesOf(await pagesOf(gateway, { orderBy, first: 100 })).map(keyOf);
      expect(nodesOf(await pagesOf(other, { orderBy, first: 100 })).map(keyOf)).toEqual(here);
    }
  });
});

const TYPES = new Map(demoChains.map(({ chainKey, chainType }) => [chainKey, chainType]));
type FilteredToken = Pick<FoundToken, 'chainKey' | 'symbol' | 'isBridgeable' | 'price'>;

describe('filters', () => {
  const everyone = (filter: object) =>
    pagesOf(gateway, { filter, first: 100 }).then((pages) => nodesOf(pages));
  const countOf = (isKept: (token: FilteredToken) => boolean) => demoTokens.filter(isKept).length;

  it.each<[string, object, (token: FilteredToken) => boolean]>([
    [
      'chainKeys',
      { chainKeys: ['base', 'nope', 'sei'] },
      ({ chainKey }) => ['base', 'sei'].includes(chainKey),
    ],
    ['an unknown chainKey', { chainKeys: ['nope'] }, () => false],
    [
      'chainKeys in any letter case, with repeats',
      { chainKeys: ['BASE', 'base'] },
      ({ chainKey }) => chainKey === 'base',
    ],
    ['no chainKeys', { chainKeys: [] }, () => false],
    [
      'chainTypes in any letter case',
      { chainTypes: ['Solana', 'APTOS', 'nope'] },
      ({ chainKey }) => ['solana', 'aptos'].includes(TYPES.get(chainKey) ?? ''),
    ],
    ['symbols', { symbols: ['usdt', 'wEth'] }, ({ symbol }) => /^(usdt|weth)$/i.test(symbol)],
    ['a symbol written otherwise', { symbols: ['usdt0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
    ['a symbol with marks', { symbols: ['ＵＳＤ₮0'] }, ({ symbol }) => /^usd[t₮]0$/i.test(symbol)],
    ['parts of symbols', { symbols: ['usd'] }, ({ symbol }) => /^usd$/i.test(symbol)],
    ['isBridgeable', { isBridgeable: false }, ({ isBridgeable }) => !isBridgeable],
    ['hasPrice', { hasPrice: true }, ({ price }) => price !== null],
    ['minPriceUsd', { minPriceUsd: 112.4 }, ({ price }) => (price?.usd ?? 0) >= 112.4],
    ['maxPriceUsd', { maxPriceUsd: 112.4 }, ({ price }) => (price?.usd ?? 0) <= 112.4],
    ['both bounds', { minPriceUsd: 1, maxPriceUsd: 1 }, ({ price }) => price?.usd === 1],
    ['bounds that exclude each other', { minPriceUsd: 2, maxPriceUsd: 1 }, () => false],
    ['all that is null', { chainKeys: null, symbols: null, isNative: null, minPriceUsd: null }, () => true],
    [
      'several together',
      { symbols: ['ETH'], isBridgeable: true, chainKeys: ['base', 'sei'] },
      ({ symbol, isBridgeable, chainKey }) => symbol === 'ETH' && isBridgeable && chainKey === 'base',
    ],
  ])('%s keep what they say', async (_name, filter, isKept) => {
    const found = await everyone(filter);
    expect(found.every((token) => isKept(token))).toBe(true);
    expect(found).toHaveLength(countOf(isKept));
  });

  it('isNative matches the placeholder and the address of the native currency', async () => {
    const native = await everyone({ isNative: true });
    const others = await everyone({ isNative: false });
    expect(native.every(({ isNative }) => isNative)).toBe(true);
    expect(others.some(({ isNative }) => isNative)).toBe(false);
    expect(native.length + others.length).toBe(587);
    expect(native.map(keyOf)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^(solana|aptos|tron|sui|ton) /)]),
    );
  });

  it('on prices match nothing once prices are too old', async () => {
    const old = await createTestGateway({ config: { priceMaxAgeMs: -60_000 } });
    expect((await pageOf(old, { filter: { hasPrice: true } })).totalCount).toBe(0);
    expect((await pageOf(old, { filter: { minPriceUsd: 0 } })).totalCount).toBe(0);
    expect((await pageOf(old, { filter: { hasPrice: false } })).totalCount).toBe(587);
    const keys = nodesOf(await pagesOf(old, { orderBy: 'PRICE_DESC' })).map(keyOf);
    expect(new Set(keys).size).toBe(587);
  });
});

describe('an invalid argument', () => {
  const cursorOf = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');

  const CURSOR = 'Expected a cursor as "after"';

  it.each<[variables: object, message: string]>([
    ...[0, 101, -1].map(
      (first) => [{ first }, `Expected 1 to 100 as "first", got ${first}.`] as [object, string],
    ),
    ...['nonsense', '', cursorOf(20), `${cursorOf(['RELEVANCE', 1, 'a', 'b', 'c'])}!`].map(
      (after) => [{ after }, CURSOR] as [object, string],
    ),
    ...[
      ['BEST', 1, 'a', 'b', 'c'],
      ['RELEVANCE', '1', 'a', 'b', 'c'],
      ['RELEVANCE', 1, 'a', 'b'],
      ['RELEVANCE', 1, 'a', 'b', 'c', 'd'],
      ['RELEVANCE', 1, 'a', 'b', 'c'.repeat(4000)],
    ].map((parts) => [{ after: cursorOf(parts) }, CURSOR] as [object, string]),
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

  it('null as a size or a cursor means the default', async () => {
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
    const odd = await createTestGateway({
      listings: {
        chains: demoChains,
        tokens: [long, { ...long, address: `${long.address}b` }, { ...long, chainKey: `${long.chainKey}d` }],
      },
    });
    for (const orderBy of ORDERS) {
      const pages = await pagesOf(odd, { orderBy, first: 1 });
      expect(new Set(nodesOf(pages).map(({ id }) => id)).size).toBe(3);
      expect(pages).toHaveLength(3);
      for (const { pageInfo } of pages) expect(pageInfo.endCursor?.length).toBeLessThan(4096);
    }
  });
});

describe('sort keys', () => {
  it('differ for tokens that differ only in lone surrogates', async () => {
    const address = (last: string) => `${'a'.repeat(130)}${last}`;
    const odd = await createTestGateway({
      listings: {
        chains: demoChains,
        tokens: ['\ud800', '\ud801', '\ufffd'].map((last) => tokenRow('base', address(last))),
      },
    });
    const pages = await pagesOf(odd, { orderBy: 'SYMBOL', first: 1 });
    expect(pages).toHaveLength(3);
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
      const listing = [
        ...demoTokens.filter((token, row) => isStaying(token, row) || (row + nth) % 3 === 0).toReversed(),
        ...Array.from(
          { length: 15 * nth },
          (_nothing, row) =>
            tokenRow('base', `0x${(1000 * nth + row).toString(16).padStart(40, '0')}`, {
              symbol: `${'AMZ'.charAt(row % 3)}${row}`,
              name: `${'AMZ'.charAt(row % 3)}${row}`,
            }) as RawToken,
        ),
      ];
      listings.push(listing);
      return listing;
    });
    const staying = demoTokens.filter(isStaying).filter((token) => {
      if (orderBy !== 'RELEVANCE') return true;
      return new Set(listings.map((listing) => frequencyIn(listing, token))).size === 1;
    });
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
