import fc from 'fast-check';
import { caip2Of } from '../../src/domain/caip.js';
import type { Chain, Fetched, Token } from '../../src/domain/listing.js';
import type { TokenOrder } from '../../src/search/order/token-order.js';
import { interpretationsOf } from '../../src/search/text.js';
import type { TokenSearchFilter } from '../../src/search/token-filter.js';
import type { TokenSearchRequest } from '../../src/search/token-search.js';
import { type ChainSnapshot, createChainSnapshot } from '../../src/snapshots/snapshot.js';
import { chainRow } from '../fixtures/rows.js';
import { sortKeyOf } from './reference.js';

/* Generates listings and requests for tests of the search. */

const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const CONTRACT = `0x${'12'.repeat(20)}`;

const currency = (chainKey: string, symbol: string, address = PLACEHOLDER) => ({
  nativeCurrency: { chainKey, name: symbol, symbol, decimals: 18, address },
});
const CHAIN_ROWS = [
  chainRow('base', { chainId: 8453 }),
  chainRow('bsc', { shortName: 'BSC', name: 'BNB Chain', ...currency('bsc', 'BNB') }),
  chainRow('tron', { chainType: 'tvm', name: 'TRON', chainId: 728126428, ...currency('tron', 'USD₮') }),
  chainRow('o & c', { chainType: 'odd', shortName: '', name: 'S & P', ...currency('o & c', 'OC', CONTRACT) }),
] as unknown as readonly Chain[];
export const chains = CHAIN_ROWS.map((chain) => ({ ...chain, caip2: caip2Of(chain) }));
const CHAIN_KEYS = [...chains.map(({ chainKey }) => chainKey), 'not listed'];

/** Typical texts of upstreams, and unusual ones: without letters, with emoji, or with another length when folded. */
const texts = fc.oneof(
  fc.constantFrom(
    'USDC',
    'usd',
    'USD Coin',
    'ETH',
    'Ether',
    'Wrapped Ether',
    'Token',
    'BNB',
    'a',
    'aaa',
    'ab a',
  ),
  fc.constantFrom(
    'S & P',
    'S&P 500',
    '$',
    '& !',
    '.e',
    'S*USDC',
    '',
    '  ',
    'USD₮0',
    '₿',
    'É',
    'e\u0301',
    'ΑΣ Β',
  ),
  fc.constantFrom(
    '漢字',
    '日本 円',
    '🚀',
    'a🚀b',
    'Ａｂ',
    'ﬁ',
    'İ',
    'ﷺ',
    '\u200b',
    '\u0301',
    '\ud83d',
    'a´b',
    '__proto__',
  ),
  fc.string({ unit: fc.constantFrom('a', 'b', 'c', '1', ' '), maxLength: 8 }),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.constantFrom('x', 'ab ').map((text) => text.repeat(80)),
  fc.constantFrom(
    CONTRACT,
    `USD Coin ${CONTRACT}`,
    'eip155:7',
    'LayerZero',
    'opBNB',
    'yearn.finance',
    'crvUSD S',
  ),
);
const joined = fc
  .tuple(fc.array(texts, { maxLength: 3 }), fc.constantFrom('', ' ', ' ', '  '))
  .map(([parts, between]) => parts.join(between));
const addresses = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(PLACEHOLDER, `0x${'0'.repeat(40)}`, CONTRACT) },
  { weight: 4, arbitrary: fc.stringMatching(/^0x[0-9a-fA-F]{40}$/) },
  { weight: 1, arbitrary: fc.stringMatching(/^[1-9A-Za-z]{32,44}$/) },
);
export const prices = fc.option(
  fc
    .oneof(fc.constantFrom(0, -0, 0.5, 1, 1, Number.MAX_VALUE), fc.double({ min: 0, max: 9, noNaN: true }))
    .map((usd) => ({ usd, asOf: 1 })),
);
const tokens: fc.Arbitrary<Token> = fc.record({
  isBridgeable: fc.boolean(),
  chainKey: fc.constantFrom(...CHAIN_KEYS),
  address: addresses,
  decimals: fc.constant(6),
  symbol: joined,
  name: joined,
  price: prices,
  logoUrl: fc.constant(null),
  heldBack: fc.constant([]),
});
/** Token listings. */
export const listingOf = (minLength: number, maxLength: number) =>
  fc.uniqueArray(tokens, {
    minLength,
    maxLength,
    selector: ({ chainKey, address }) =>
      `${chainKey} ${address.toLowerCase().replace(/^0x0+$/, `0x${'e'.repeat(40)}`)}`,
  });

const filters: fc.Arbitrary<TokenSearchFilter> = fc.record(
  {
    chainKeys: fc.array(fc.constantFrom(...CHAIN_KEYS), { maxLength: 3 }),
    chainTypes: fc.array(fc.constantFrom('evm', 'TVM', 'odd', 'none of them'), { maxLength: 2 }),
    symbols: fc.array(fc.oneof(joined, fc.constantFrom('usdc', 'Usd', 'ETH', 'A')), { maxLength: 4 }),
    isBridgeable: fc.boolean(),
    isNative: fc.boolean(),
    hasPrice: fc.boolean(),
    minPriceUsd: fc.constantFrom(0, 0.5, 1, 5),
    maxPriceUsd: fc.constantFrom(0, 1, 5),
  },
  { requiredKeys: [] },
);
/** The identifiers of a token. */
const IDENTIFIERS = {
  start: ({ address }: Token, length: number) => address.slice(0, 7 + length),
  asset: ({ address }: Token, length: number) =>
    `eip155:${length < 5 ? 7 : 8453}/erc20:${address.toLowerCase()}`,
  chain: (_token: Token, length: number) =>
    ['eip155:7', 'EIP155:8453', '7', '728126428', '1'][length % 5] ?? '',
} as const;

/** A part of a text of the listing, an identifier, or another text. */
const pieces = fc.tuple(
  fc.nat(),
  fc.constantFrom('symbol', 'name', 'chainKey', 'address', 'other', 'start', 'asset', 'chain'),
  texts,
  fc.nat(),
  fc.nat(9),
);
/** Requests that are valid for any listing. */
export const requests = fc.record({
  pieces: fc.array(pieces, { maxLength: 4 }),
  between: fc.constantFrom(' ', ' ', '/', ' on '),
  filter: fc.oneof(fc.constant({}), filters),
  order: fc.constantFrom<TokenOrder>('RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_ASC', 'PRICE_DESC'),
  first: fc.integer({ min: 1, max: 100 }),
  after: fc.option(fc.nat(), { freq: 3 }),
  pricesUsable: fc.boolean(),
  knowsChains: fc.boolean(),
});
export type Generated = typeof requests extends fc.Arbitrary<infer Request> ? Request : never;

/** Completes a request for this listing. */
export function requestOf(rows: readonly Token[], generated: Generated): TokenSearchRequest {
  const rowAt = (number: number) => rows[number % rows.length];
  const words = generated.pieces.map(([number, field, other, start, length]) => {
    const row = rowAt(number);
    if (field === 'start' || field === 'asset' || field === 'chain') {
      return row ? IDENTIFIERS[field](row, length) : '';
    }
    const text = (field === 'other' ? undefined : row?.[field]) ?? other;
    return length === 0 ? text : text.slice(start % (text.length + 1)).slice(0, length);
  });
  const { filter, order, first, pricesUsable } = generated;
  const row = generated.after === null ? undefined : rowAt(generated.after);
  // Only the gateway computes ranks, so cursors by relevance must be its own.
  const after = row && order !== 'RELEVANCE' ? sortKeyOf(order, row) : undefined;
  const query = words.join(generated.between).split(/\s+/).slice(0, 3).join(generated.between);
  return { query, filter, order, first, pricesUsable, after };
}

/** Rows in the form of an upstream response. */
export const fetched = <Row>(rows: readonly Row[]): Fetched<Row> => ({
  rows,
  source: 'v1',
  takenAt: Date.now(),
  rejected: { count: 0, first: [] },
});

export const chainSnapshot: ChainSnapshot = await createChainSnapshot(fetched(chains));

/** Whether a query has too many words. Punctuation can split one word into many. */
export function hasTooManyWords(query: string): boolean {
  try {
    interpretationsOf(query);
    return false;
  } catch {
    return true;
  }
}
