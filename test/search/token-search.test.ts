/** A search finds the same tokens for any size of pages, order of rows and earlier prices. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Fetched, Token } from '../../src/domain/listing.js';
import type { TokenSearchFilter } from '../../src/search/token-filter.js';
import type { SortKey, TokenOrder } from '../../src/search/token-order.js';
import {
  createChainSnapshot,
  createTokenSnapshot,
  type TokenSnapshot,
} from '../../src/snapshots/snapshot.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';

const ORIGIN = { source: 'v1', takenAt: 1 };
const PLACEHOLDER = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';
const CONTRACT = `0x${'12'.repeat(20)}`;
const CHAIN_KEYS = ['base', 'tron', 'o & c', 'not listed'] as const;
const chainRows = [chainRow('base'), chainRow('tron', { chainType: 'tvm' }), chainRow('o & c')];
const chains = await createChainSnapshot(await CHAINS.parse(chainRows, ORIGIN));

/** Typical texts, and unusual ones: without letters, with emoji, or with another length when folded. */
const TEXTS = [
  'USDC,usd,USD Coin,ETH,Ether,Wrapped Ether,Token,a,aaa,ab a,S & P,S&P 500,$,& !,.e,S*USDC,,  ,USD₮0,₿,É'.split(
    ',',
  ),
  'e\u0301,ΑΣ Β,漢字,日本 円,🚀,a🚀b,Ａｂ,ﬁ,İ,ﷺ,\u200b,\u0301,\ud83d,a´b,__proto__,eip155:7,yearn.finance'.split(
    ',',
  ),
  [CONTRACT, `USD Coin ${CONTRACT}`, 'x'.repeat(80), 'ab '.repeat(80)],
].flat();
const SHORT = TEXTS.filter(({ length }) => length < 99);
const texts = fc.oneof(fc.constantFrom(...TEXTS), fc.string({ unit: 'grapheme', maxLength: 6 }));
const symbols = fc.array(texts, { maxLength: 2 }).map((parts) => parts.join(' '));
const prices = fc.option(fc.constantFrom(0, 0.5, 1, 1, Number.MAX_VALUE).map((usd) => ({ usd, asOf: 1 })));
const changes = fc.record({
  isBridgeable: fc.boolean(),
  chainKey: fc.constantFrom(...CHAIN_KEYS),
  address: fc.oneof(fc.constantFrom(PLACEHOLDER, CONTRACT), fc.stringMatching(/^0x[0-9a-f]{40}$/)),
  symbol: symbols,
  name: symbols,
  price: prices,
});
const { rows } = await TOKENS.parse([tokenRow('base', CONTRACT)], ORIGIN);
const tokens: fc.Arbitrary<Token> = fc
  .tuple(fc.constantFrom(...rows), changes)
  .map(([token, changed]) => ({ ...token, ...changed }));
const listings = fc.uniqueArray(tokens, {
  minLength: 20,
  maxLength: 30,
  selector: ({ chainKey, address }) => `${chainKey} ${address}`,
});
const conditions: fc.Arbitrary<TokenSearchFilter> = fc.record(
  {
    chainKeys: fc.array(fc.constantFrom(...CHAIN_KEYS), { maxLength: 3 }),
    isBridgeable: fc.boolean(),
    hasPrice: fc.boolean(),
    minPriceUsd: fc.constantFrom(0, 0.5, 1, 5),
    maxPriceUsd: fc.constantFrom(0, 1, 5),
  },
  { requiredKeys: [] },
);
const requests = fc.record({
  query: fc.oneof(fc.constantFrom('', 'a', 'usd', 'e', 'base', 'tron'), fc.constantFrom(...SHORT)),
  filter: fc.oneof(fc.constant<TokenSearchFilter>({}), conditions),
  order: fc.constantFrom<TokenOrder>('RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_ASC', 'PRICE_DESC'),
  pricesUsable: fc.boolean(),
});
type Request = typeof requests extends fc.Arbitrary<infer Generated> ? Generated : never;

const fetched = (rows: readonly Token[]): Fetched<Token> => ({
  ...ORIGIN,
  rows,
  rejected: { count: 0, first: [] },
});
const keyOf = ({ chainKey, address }: Token) => `${chainKey} ${address}`;
const search = (snapshot: TokenSnapshot, request: Request, first: number, after?: SortKey) =>
  snapshot.search({ ...request, first, after }, chains);

/** Whether a blank query with this filter must find the token. */
function isMeant({ chainKey, isBridgeable, price }: Token, { filter, pricesUsable }: Request): boolean {
  const usd = pricesUsable ? (price?.usd ?? null) : null;
  const { minPriceUsd: min, maxPriceUsd: max } = filter;
  return (
    filter.chainKeys?.includes(chainKey) !== false &&
    [null, undefined, isBridgeable].includes(filter.isBridgeable) &&
    [null, undefined, usd !== null].includes(filter.hasPrice) &&
    (min == null || (usd !== null && usd >= min)) &&
    (max == null || (usd !== null && usd <= max))
  );
}

it('the size of pages, the order of rows and indexes made with other prices do not change the tokens found', async () => {
  let found = 0;
  await fc.assert(
    fc.asyncProperty(
      listings,
      fc.array(prices, { minLength: 30, maxLength: 30 }),
      fc.array(requests, { minLength: 10, maxLength: 10 }),
      fc.integer({ min: 1, max: 7 }),
      async (rows, otherPrices, generated, pageSize) => {
        const before = await createTokenSnapshot(fetched(rows));
        const repriced = rows.map((row, nth) => ({ ...row, price: otherPrices[nth] ?? null }));
        const snapshot = await createTokenSnapshot(fetched(repriced), before);
        expect(snapshot.indexes).toBe(before.indexes);
        const anew = await createTokenSnapshot(fetched(repriced.toReversed()));
        for (const request of generated) {
          const whole = search(snapshot, request, 100);
          const keys = whole.tokens.map(keyOf);
          found += keys.length;
          expect(search(anew, request, 100).tokens.map(keyOf)).toEqual(keys);
          expect(whole).toMatchObject({ totalCount: keys.length, hasPrevious: false, hasNext: false });
          if (request.query === '') {
            const meant = repriced.filter((row) => isMeant(row, request));
            expect(keys.toSorted()).toEqual(meant.map(keyOf).sort());
          }
          let after: SortKey | undefined;
          for (let start = 0; start < keys.length; start += pageSize) {
            const page = search(snapshot, request, pageSize, after);
            expect(page.tokens.map(keyOf)).toEqual(keys.slice(start, start + pageSize));
            const hasNext = start + pageSize < keys.length;
            expect(page).toMatchObject({ totalCount: keys.length, hasPrevious: start > 0, hasNext });
            after = page.sortKeyOf(page.tokens.length - 1);
          }
        }
      },
    ),
    { numRuns: 100 },
  );
  expect(found).toBeGreaterThan(1_000);
});
