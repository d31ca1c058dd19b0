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

/** The first rows that a search by relevance finds, as `SYMBOL chainKey`. */
async function firstRows(typed: string): Promise<readonly string[]> {
  const { data, errors } = await gateway.query<{
    tokenSearch: { edges: { node: { symbol: string; chainKey: string } }[] };
  }>(
    'query ($typed: String) { tokenSearch(query: $typed, first: 3) { edges { node { symbol chainKey } } } }',
    { typed },
  );
  expect(errors).toBeUndefined();
  return data?.tokenSearch.edges.map(({ node }) => `${node.symbol} ${node.chainKey}`) ?? [];
}

describe.each(Object.entries(TYPED))('what people type: %s', (_kind, queries) => {
  it.each(queries)('"$typed" finds $rows', async ({ typed, rows }) => {
    const first = await firstRows(typed);
    if (rows.length > 1) expect(first).toEqual(expect.arrayContaining([...rows]));
    else expect(first.slice(0, 1)).toEqual(rows);
  });
});
