import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';
import { TYPED } from './people.js';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await createTestGateway({ atEnd: afterAll });
});

/*
 * The measure of the order by relevance: not taste, but a table. Of its 101 queries, 50 were right while equal matches
 * were ordered by the alphabet.
 */

/** The first rows that a search by relevance finds, as `SYMBOL chainKey`, and what it asks back. */
async function search(typed: string): Promise<{ first: readonly string[]; didYouMean: readonly string[] }> {
  const { data, errors } = await gateway.query<{
    tokenSearch: { nodes: { symbol: string; chainKey: string }[]; didYouMean: string[] };
  }>(
    'query ($typed: String) { tokenSearch(query: $typed, first: 3) { nodes { symbol chainKey } didYouMean } }',
    { typed },
  );
  expect(errors).toBeUndefined();
  const { nodes = [], didYouMean = [] } = data?.tokenSearch ?? {};
  return { first: nodes.map(({ symbol, chainKey }) => `${symbol} ${chainKey}`), didYouMean };
}

describe.each(Object.entries(TYPED))('what people type: %s', (_kind, queries) => {
  it.each(queries)('"$typed" finds $rows', async ({ typed, rows, didYouMean = [] }) => {
    const { first, didYouMean: asked } = await search(typed);
    expect(asked.map((query) => query.toLowerCase())).toEqual(didYouMean.map((query) => query.toLowerCase()));
    if (rows.length > 1) expect(first).toEqual(expect.arrayContaining([...rows]));
    else expect(first.slice(0, 1)).toEqual(rows);
  });
});
