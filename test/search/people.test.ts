import { beforeAll, describe, expect, it } from 'vitest';
import { afterTests } from '../support/ends.js';
import { createTestGateway, type TestGateway } from '../support/test-gateway.js';
import { TYPED, TYPED_LATER, type TypedQuery } from './people.js';

const atEnd = afterTests();
let gateway: TestGateway;

beforeAll(async () => {
  gateway = await createTestGateway({ atEnd });
});

/*
 * Measures the order by relevance against a table of queries. With equal matches in alphabetical order, half of the first
 * ones gave the right rows.
 */

/** The first rows of a search by relevance, as `SYMBOL chainKey`, and its suggestions. */
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

async function expectMeant({ typed, rows, didYouMean = [], mayAsk = false }: TypedQuery): Promise<void> {
  const { first, didYouMean: asked } = await search(typed);
  const isAsked = first.length === 0;
  const mayFind = rows.length > 0 && !(mayAsk && isAsked);
  const questions = mayAsk && !isAsked ? [] : didYouMean;
  expect(asked.map((query) => query.toLowerCase())).toEqual(questions.map((query) => query.toLowerCase()));
  if (rows.length > 1) expect(first).toEqual(expect.arrayContaining([...rows]));
  else expect(first.slice(0, 1)).toEqual(mayFind ? rows : []);
}

describe.each(Object.entries(TYPED))('what people type: %s', (_kind, queries) => {
  it.each(queries)('"$typed" finds $rows', expectMeant);
});

/** The later queries that are known to give wrong rows. */
const NOT_YET: readonly string[] = ['metis on metis'];

describe.each(Object.entries(TYPED_LATER))('what people also type: %s', (_kind, queries) => {
  for (const query of queries) {
    const test = NOT_YET.includes(query.typed) ? it.fails : it;
    test(`"${query.typed}" finds ${query.rows.join(', ') || 'nothing'}`, () => expectMeant(query));
  }
});
