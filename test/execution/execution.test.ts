/** Fields called `then` and defaults of non-null variables are nothing special; documents are cached from their second request on. */
import { buildSchema } from 'graphql';
import { expect, it } from 'vitest';
import { createDocuments } from '../../src/execution/documents.js';
import { startServer } from '../support/test-server.js';

it.each([
  ['{ then: __typename }', '{"data":{"then":"Query"}}'],
  ['{ chain(chainKey: "base") { then: name } }', '{"data":{"chain":{"then":"Base"}}}'],
  ['{ chains(search: "base") { then: chainKey } }', '{"data":{"chains":[{"then":"base"}]}}'],
  ['query ($k: String! = "base") { chain(chainKey: $k) { name } }', '{"data":{"chain":{"name":"Base"}}}'],
])('a field `then` and the default of a non-null variable are executed as usual: %s', async (query, body) => {
  const { post, countExecuted } = await startServer();
  for (let nth = 0; nth < 2; nth++) expect(await (await post({ query })).text()).toBe(body);
  expect((await countExecuted({ query }, { query }, { query })).bodies).toEqual([body, body, body]);
});

const LIMITS = { maxDepth: 12, maxAliases: 30, maxQueryTokens: 2_000, introspection: true };
const schema = buildSchema('type Query { a: Int }');
const long = (query: string) => `${query} #${'x'.repeat(90_000)}`;

it('a document is cached from its second request on, and stays cached while others are sent once or are long', () => {
  const { accepted } = createDocuments(schema, LIMITS);
  expect(accepted('{ a }')?.isLasting).toBe(false);
  const known = accepted('{ a }');
  expect(known?.isLasting).toBe(true);
  for (let nth = 0; nth < 400; nth++) accepted(nth % 2 ? `{ a # ${nth}\n}` : `{ unknown${nth} }`);
  for (const query of ['{ b }', '{ b }', '{ a }', '{ a }']) accepted(long(query));
  expect(accepted('{ a }')?.document).toBe(known?.document);
});
