/** A text or list that exceeds its limit is unknown as a key and refused elsewhere, and messages shorten it. */
import { expect, it } from 'vitest';
import { share } from '../support/ends.js';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const LONG = 'x'.repeat(10_000);

const gateway = share((atEnd) => createTestGateway({ atEnd }));
const query = (text: string, variables?: object) => gateway.query(text, variables);

it.each([
  ['chain(chainKey: $v) { id }', null],
  ['chainsByKey(chainKeys: [$v, "base"]) { name }', [null, { name: 'Base' }]],
  ['chainsByCaip2(caip2s: [$v]) { id }', [null]],
  ['token(chainKey: $v, address: "0x") { id }', null],
  ['token(chainKey: "base", address: $v) { id }', null],
  ['tokensByKey(keys: [{ chainKey: "base", address: $v }]) { id }', [null]],
  ['tokensByCaip19(caip19s: [$v]) { id }', [null]],
  ['tokens(srcChainKey: $v) { id }', []],
  ['tokenChanges(since: $v) { isReset }', { isReset: true }],
  ['_entities(representations: [{ __typename: "Chain", chainKey: $v }]) { __typename }', [null]],
  ['_entities(representations: [{ __typename: "Token", id: $v }]) { __typename }', [null]],
])('a long text is unknown as a key, without an error: %s', async (field, found) => {
  const answer = await query(`query ($v: String!) { found: ${field} }`, { v: LONG });
  expect(answer).toEqual({ data: { found } });
});

it.each([
  ['tokenSearch(query: $v) { totalCount }', 200, 'query'],
  ['chains(search: $v) { id }', 200, 'search'],
  ['chains(chainTypes: ["evm", $v]) { id }', 64, 'chainTypes[1]'],
  ['tokenSearch(filter: { symbols: [$v] }) { totalCount }', 256, 'filter.symbols[0]'],
  ['tokenSearch(filter: { chainKeys: [$v] }) { totalCount }', 256, 'filter.chainKeys[0]'],
  ['tokenSearch(filter: { chainTypes: [$v] }) { totalCount }', 64, 'filter.chainTypes[0]'],
  ['destinations(srcChainKey: $v, srcToken: "0x") { chainKey }', 256, 'srcChainKey'],
  ['tokens(srcChainKey: "base", srcToken: $v) { id }', 512, 'srcToken'],
  ['destinations(srcChainKey: "base", srcToken: $v) { chainKey }', 512, 'srcToken'],
  ['sources(dstChainKey: "base", dstToken: $v) { asOf }', 512, 'dstToken'],
])('a long text is refused as other arguments, by its length: %s', async (field, limit, name) => {
  const answer = await query(`query ($v: String!) { ${field} }`, { v: LONG });
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  expect(answer.errors?.[0]?.message).toBe(`Expected at most ${limit} characters as "${name}", got 10000.`);
});

it.each([
  ['chains(chainTypes: $v) { id }', 'chainTypes'],
  ['tokenSearch(filter: { symbols: $v }) { totalCount }', 'filter.symbols'],
  ['tokenSearch(filter: { chainKeys: $v }) { totalCount }', 'filter.chainKeys'],
  ['tokenSearch(filter: { chainTypes: $v }) { totalCount }', 'filter.chainTypes'],
])('a list of more than 500 items is refused: %s', async (field, name) => {
  const answer = await query(`query ($v: [String!]) { ${field} }`, { v: Array(501).fill('a') });
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  expect(answer.errors?.[0]?.message).toBe(`Expected at most 500 items as "${name}", got 501.`);
});

it('a long enum value is refused because of its length', async () => {
  const literal = await query(`{ tokenSearch(orderBy: "${LONG}") { totalCount } }`);
  expect(literal.errors?.[0]?.message).toBe(
    'Expected a value of "TokenOrder", got a text of 10000 characters.',
  );
  const byVariable = 'query ($v: TokenOrder) { tokenSearch(orderBy: $v) { totalCount } }';
  expect(codesOf(await query(byVariable, { v: LONG }))).toEqual(['BAD_USER_INPUT']);
});

it('the limits of an operation count the work of decoding ids', async () => {
  const { query } = await createTestGateway({ config: { maxCost: 30_000 } });
  const ids = Array(6_000).fill('x');
  const byId = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }';
  expect(codesOf(await query(byId, { ids }))).toEqual(['LIMIT_EXCEEDED']);
});

it('the limits of an operation refuse too many keys, in a message with their number, without reading them', async () => {
  const { query } = await createTestGateway({ config: { maxRows: 1_000 } });
  for (const field of ['chainsByKey(chainKeys:', 'tokensByCaip19(caip19s:', 'chainsByCaip2(caip2s:']) {
    const text = `query ($v: [String!]!) { ${field} $v) { id } }`;
    const answer = await query(text, { v: Array(1_001).fill('x') });
    expect(answer.errors?.[0]?.message).toContain('at most 1000 rows in all; these have 1001.');
  }
});
