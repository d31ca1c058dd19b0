import { describe, expect, it } from 'vitest';
import { codesOf, createTestGateway } from '../support/test-gateway.js';

const LONG = 'x'.repeat(10_000);
const LONG_ID = Buffer.from(JSON.stringify(['Token', 'ethereum', LONG])).toString('base64url');

describe('a text that exceeds its limit', () => {
  it.each([
    ['{ chain(chainKey: $v) { id } }', { chain: null }],
    ['{ chainsByKey(chainKeys: [$v, "base"]) { name } }', { chainsByKey: [null, { name: 'Base' }] }],
    ['{ chainsByCaip2(caip2s: [$v]) { id } }', { chainsByCaip2: [null] }],
    ['{ token(chainKey: $v, address: "0x") { id } }', { token: null }],
    ['{ token(chainKey: "base", address: $v) { id } }', { token: null }],
    ['{ tokensByKey(keys: [{ chainKey: "base", address: $v }]) { id } }', { tokensByKey: [null] }],
    ['{ tokensByCaip19(caip19s: [$v]) { id } }', { tokensByCaip19: [null] }],
    ['{ tokens(srcChainKey: $v) { id } }', { tokens: [] }],
    ['{ tokenChanges(since: $v) { isReset } }', { tokenChanges: { isReset: true } }],
    [
      '{ _entities(representations: [{ __typename: "Chain", chainKey: $v }]) { __typename } }',
      { _entities: [null] },
    ],
    [
      '{ _entities(representations: [{ __typename: "Token", id: $v }]) { __typename } }',
      { _entities: [null] },
    ],
  ])('is unknown as a key, without an error: %s', async (document, data) => {
    const { query } = await createTestGateway();
    expect(await query(`query ($v: String!) ${document}`, { v: LONG })).toEqual({ data });
  });

  it('is an unknown id', async () => {
    const { query } = await createTestGateway();
    const text = 'query ($v: ID!) { node(id: $v) { id } nodes(ids: [$v]) { id } }';
    for (const v of [LONG, LONG_ID])
      expect(await query(text, { v })).toEqual({ data: { node: null, nodes: [null] } });
  });

  it.each([
    ['tokenSearch(query: $v) { totalCount }', '200 characters as "query", got 10000'],
    ['chains(search: $v) { id }', '200 characters as "search", got 10000'],
    ['chains(chainTypes: ["evm", $v]) { id }', '64 characters as "chainTypes[1]", got 10000'],
    [
      'tokenSearch(filter: { symbols: [$v] }) { totalCount }',
      '256 characters as "filter.symbols[0]", got 10000',
    ],
    [
      'tokenSearch(filter: { chainKeys: [$v] }) { totalCount }',
      '256 characters as "filter.chainKeys[0]", got 10000',
    ],
    [
      'tokenSearch(filter: { chainTypes: [$v] }) { totalCount }',
      '64 characters as "filter.chainTypes[0]", got 10000',
    ],
    [
      'destinations(srcChainKey: $v, srcToken: "0x") { chainKey }',
      '256 characters as "srcChainKey", got 10000',
    ],
    ['tokens(srcChainKey: "base", srcToken: $v) { id }', '512 characters as "srcToken", got 10000'],
    [
      'destinations(srcChainKey: "base", srcToken: $v) { chainKey }',
      '512 characters as "srcToken", got 10000',
    ],
    ['sources(dstChainKey: "base", dstToken: $v) { asOf }', '512 characters as "dstToken", got 10000'],
  ])('is refused elsewhere, by its length: %s', async (field, message) => {
    const { query } = await createTestGateway();
    const answer = await query(`query ($v: String!) { ${field} }`, { v: LONG });
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toContain(`Expected at most ${message}.`);
  });

  it.each([
    ['chains(chainTypes: $v) { id }', 'chainTypes'],
    ['tokenSearch(filter: { symbols: $v }) { totalCount }', 'filter.symbols'],
    ['tokenSearch(filter: { chainKeys: $v }) { totalCount }', 'filter.chainKeys'],
    ['tokenSearch(filter: { chainTypes: $v }) { totalCount }', 'filter.chainTypes'],
  ])('and so is a list of too many: %s', async (field, name) => {
    const { query } = await createTestGateway();
    const answer = await query(`query ($v: [String!]) { ${field} }`, { v: Array(501).fill('a') });
    expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
    expect(answer.errors?.[0]?.message).toBe(`Expected at most 500 items as "${name}", got 501.`);
  });

  it('is refused as an enum value because of its length', async () => {
    const { query } = await createTestGateway();
    const literal = await query(`{ tokenSearch(orderBy: "${LONG}") { totalCount } }`);
    expect(literal.errors?.[0]?.message).toBe(
      'Expected a value of "TokenOrder", got a text of 10000 characters.',
    );
    const variable = await query('query ($v: TokenOrder) { tokenSearch(orderBy: $v) { totalCount } }', {
      v: LONG,
    });
    expect(codesOf(variable)).toEqual(['BAD_USER_INPUT']);
  });
});

it('a message about a document shows the beginning and the end of a long text', async () => {
  const { query } = await createTestGateway();
  for (const [document, code] of [
    [`{ tokenSearch(first: "${LONG}") { totalCount } }`, 'GRAPHQL_VALIDATION_FAILED'],
    [`{ chain("${LONG}") { name } }`, 'GRAPHQL_PARSE_FAILED'],
  ]) {
    const answer = await query(document ?? '');
    expect(codesOf(answer)).toEqual([code]);
    expect(answer.errors?.[0]?.message).toMatch(/"x{100,1000} … \(\d+ characters left out\) …/);
    expect(answer.errors?.[0]?.message.length).toBeLessThan(2_000);
    expect(answer.errors?.[0]?.locations).toEqual([{ line: 1, column: expect.any(Number) }]);
  }
});

describe('the limits of an operation', () => {
  it('charge decoding ids and folding symbols', async () => {
    const { query } = await createTestGateway({ config: { maxCost: 30_000 } });
    const ids = Array(6_000).fill('x');
    const byId = 'query ($ids: [ID!]!) { nodes(ids: $ids) { __typename } }';
    expect(codesOf(await query(byId, { ids }))).toEqual(['LIMIT_EXCEEDED']);
    const filter = { symbols: Array(500).fill('\u0301'.repeat(100)) };
    const bySymbol = 'query ($filter: TokenFilter) { tokenSearch(filter: $filter) { totalCount } }';
    expect(codesOf(await query(bySymbol, { filter }))).toEqual(['LIMIT_EXCEEDED']);
  });

  it('refuse too many keys, in a message with their number, without reading them', async () => {
    const { query } = await createTestGateway({ config: { maxRows: 1_000 } });
    for (const [name, type] of [
      ['chainsByKey(chainKeys: $v)', '[String!]!'],
      ['tokensByCaip19(caip19s: $v)', '[String!]!'],
      ['chainsByCaip2(caip2s: $v)', '[String!]!'],
    ]) {
      const answer = await query(`query ($v: ${type}) { ${name} { id } }`, { v: Array(1_001).fill('x') });
      expect(answer.errors?.[0]?.message).toContain('at most 1000 rows in all; these have 1001.');
    }
  });
});
