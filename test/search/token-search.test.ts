import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Token } from '../../src/domain/listing.js';
import { createTokenSnapshot, type TokenSnapshot } from '../../src/snapshots/snapshot.js';
import { demoTokens } from '../fixtures/demo.js';
import {
  chainSnapshot,
  chains,
  fetched,
  type Generated,
  hasTooManyWords,
  listingOf,
  prices,
  requestOf,
  requests,
} from './generated.js';
import { searchPlainly } from './reference.js';

/** Compares all pages after the request's cursor with the reference search. */
function expectPlainResults(snapshot: TokenSnapshot, generated: Generated): void {
  const request = requestOf(snapshot.rows, generated);
  const listed = generated.knowsChains ? chains : undefined;
  if (hasTooManyWords(request.query)) {
    expect(() => snapshot.search(request, undefined)).toThrow('Expected at most 8 words');
    return;
  }
  const total = searchPlainly(snapshot.rows, listed, { ...request, after: undefined }).length;
  const expected = searchPlainly(snapshot.rows, listed, request);
  let { after } = request;
  for (let start = 0; start === 0 || start < expected.length; start += request.first) {
    const page = snapshot.search({ ...request, after }, generated.knowsChains ? chainSnapshot : undefined);
    const rest = expected.slice(start, start + request.first);
    expect(page.tokens.map(identify)).toEqual(rest.map(identify));
    expect(page).toMatchObject({
      totalCount: total,
      hasPrevious: expected.length - start < total,
      hasNext: start + rest.length < expected.length,
    });
    if (rest.length > 0) after = page.sortKeyOf(rest.length - 1);
  }
}

const identify = ({ chainKey, address, symbol, name }: Token) => `${chainKey} ${address} ${symbol} ${name}`;

describe('the indexed search finds the same as the reference search', () => {
  it('in generated listings, and after a refresh of prices', async () => {
    await fc.assert(
      fc.asyncProperty(
        listingOf(1, 30),
        fc.array(prices, { minLength: 30, maxLength: 30 }),
        fc.array(requests, { minLength: 5, maxLength: 5 }),
        async (rows, otherPrices, generated) => {
          const snapshot = await createTokenSnapshot(fetched(rows));
          const repriced = rows.map((row, index) => ({ ...row, price: otherPrices[index] ?? null }));
          const later = await createTokenSnapshot(fetched(repriced), snapshot);
          expect(later.indexes).toBe(snapshot.indexes);
          for (const each of [snapshot, later, snapshot]) {
            for (const request of generated) expectPlainResults(each, request);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  // More rows than are sorted in one step.
  it('in a long listing of mostly different texts', async () => {
    const rows = fc.sample(listingOf(1500, 1500), { numRuns: 1, seed: 1 })[0] ?? [];
    const snapshot = await createTokenSnapshot(fetched(rows));
    fc.assert(
      fc.property(requests, (generated) => expectPlainResults(snapshot, { ...generated, first: 100 })),
      { numRuns: 8 },
    );
  });

  it('in the demo listing', async () => {
    const rows = demoTokens.map((row) => ({
      ...row,
      logoUrl: null,
      price: { ...row.price, asOf: 1 },
      heldBack: [],
    }));
    const snapshot = await createTokenSnapshot(fetched(rows));
    fc.assert(
      fc.property(requests, (generated) => expectPlainResults(snapshot, { ...generated, first: 100 })),
      { numRuns: 40 },
    );
  });
});
