/** A search for what people type finds the rows that they mean first. */
import { describe, expect, it } from 'vitest';
import { share } from '../support/ends.js';
import { searchIn } from '../support/searches.js';
import { createTestGateway } from '../support/test-gateway.js';
import { TYPED, TYPED_FOR_BRIDGEABLE, type TypedQuery } from './people.js';

const gateway = share((atEnd) => createTestGateway({ atEnd }));

async function expectMeant({ typed, rows, didYouMean }: TypedQuery, filter = {}): Promise<void> {
  const found = await searchIn(gateway, { query: typed, filter, first: 3 });
  const first = found.nodes.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`);
  const suggested = found.didYouMean.map((query) => query.toLowerCase());
  const isSuggested = first.length === 0 && didYouMean !== undefined;
  expect(suggested).toEqual(isSuggested ? [didYouMean] : []);
  if (rows.length > 1) expect(first).toEqual(expect.arrayContaining([...rows]));
  else expect(first.slice(0, 1)).toEqual(isSuggested ? [] : rows);
}

const NOT_YET: readonly string[] = ['metis on metis'];

/** For comparison: with equal matches in alphabetical order, half of the queries failed. */
describe.each(Object.entries(TYPED))('what people type: %s', (_kind, queries) => {
  for (const query of queries) {
    const test = NOT_YET.includes(query.typed) ? it.fails : it;
    test(`"${query.typed}" finds ${query.rows.join(', ') || 'nothing'}`, () => expectMeant(query));
  }
});

it.each(TYPED_FOR_BRIDGEABLE)('among bridgeable tokens, "$typed" finds $rows', async (query) => {
  await expectMeant(query, { isBridgeable: true });
});
