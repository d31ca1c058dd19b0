import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../src/domain/listing.js';
import type { TokenOrder } from '../../src/search/order/token-order.js';
import type { TokenSearchRequest } from '../../src/search/token-search.js';
import { createTokenSnapshot, type TokenSnapshot } from '../../src/snapshots/snapshot.js';
import { chainSnapshot, fetched, hasTooManyWords, listingOf, requestOf, requests } from './generated.js';

const ORDERS: readonly TokenOrder[] = ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_ASC', 'PRICE_DESC'];

/** One page with the sort keys of its tokens, as texts. */
function pageOf(snapshot: TokenSnapshot, request: TokenSearchRequest) {
  const page = snapshot.search(request, chainSnapshot);
  const found = page.tokens.map(({ chainKey, address }, index) => ({
    token: `${chainKey} ${address}`,
    sortKey: page.sortKeyOf(index),
  }));
  return { found, hasNext: page.hasNext };
}

/** The sort key of each token found, by token. */
function placesOf(snapshot: TokenSnapshot, request: TokenSearchRequest): ReadonlyMap<string, string> {
  const { found } = pageOf(snapshot, { ...request, first: snapshot.rows.length, after: undefined });
  return new Map(found.map(({ token, sortKey }) => [token, JSON.stringify(sortKey)]));
}

/** Asks for all pages, each of the next snapshot in turn. */
function pagesWhile(snapshots: readonly TokenSnapshot[], request: TokenSearchRequest): readonly string[] {
  const tokens: string[] = [];
  let after: TokenSearchRequest['after'];
  for (let nth = 0; ; nth++) {
    const snapshot = snapshots[nth % snapshots.length];
    if (!snapshot) throw new Error('Expected a snapshot');
    const { found, hasNext } = pageOf(snapshot, { ...request, after });
    tokens.push(...found.map(({ token }) => token));
    after = found.at(-1)?.sortKey ?? after;
    // A page may be the last in one listing and not in another.
    const isLast = snapshots.every((other) => pageOf(other, { ...request, after }).found.length === 0);
    if (isLast || (snapshots.length === 1 && !hasNext)) return tokens;
  }
}

describe.each(ORDERS)('pages by %s', (order) => {
  it('give every token once, while the listing changes between them, but for those whose place moves', async () => {
    let unmoved = 0;
    await fc.assert(
      fc.asyncProperty(
        listingOf(20, 40),
        fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 40, maxLength: 40 }),
        fc.array(requests, { minLength: 4, maxLength: 4 }),
        async (rows, changes, generated) => {
          const others = rows.flatMap((row, index) => changedBy(changes[index] ?? 0, row));
          const first = await createTokenSnapshot(fetched(rows));
          const snapshots = [
            first,
            await createTokenSnapshot(fetched(others.length > 0 ? others : rows), first),
          ];
          const blank = { ...generated[0], pieces: [] } as (typeof generated)[number];
          for (const each of [...generated, blank]) {
            const request = {
              ...requestOf(rows, each),
              order,
              first: 1 + (each.first % 7),
              after: undefined,
            };
            if (hasTooManyWords(request.query)) continue;
            const [before, later] = snapshots.map((snapshot) => placesOf(snapshot, request));
            const counts = new Map<string, number>();
            for (const token of pagesWhile(snapshots, request)) {
              counts.set(token, (counts.get(token) ?? 0) + 1);
            }
            for (const [token, place] of before ?? []) {
              if (later?.get(token) !== place) continue;
              unmoved++;
              expect(counts.get(token), token).toBe(1);
            }
          }
        },
      ),
      { numRuns: 40 },
    );
    expect(unmoved).toBeGreaterThan(200);
  });
});

/** The row after a refresh: mostly as it was, else gone, moved, or with one like it on another chain. */
function changedBy(change: number, row: Token): readonly Token[] {
  if (change === 0) return [];
  if (change === 1) return [{ ...row, isBridgeable: !row.isBridgeable }];
  if (change === 2) return [{ ...row, price: { usd: 3, asOf: 1 } }];
  if (change === 3) return [row, { ...row, chainKey: 'added' }];
  return [row];
}
