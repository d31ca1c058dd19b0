/** A document beyond a limit is refused with an error that names the limit, and no error repeats long texts. */
import { getIntrospectionQuery } from 'graphql';
import { expect, it } from 'vitest';
import type { Config } from '../../src/config/config.js';
import { schema } from '../../src/graph/schema/index.js';
import { callTool, prepareTool } from '../../src/mcp/call-tool.js';
import { TOOLS } from '../../src/mcp/tools.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { type Answered, codesOf, createTestGateway } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

function deep(levels: number): string {
  const fields = Array.from({ length: levels - 1 }, (_, index) => (index % 2 === 0 ? 'chains' : 'tokens'));
  return fields.reduceRight<string>((inner, _field, index) => {
    const field = index === 0 ? 'chains(search: "solana")' : index % 2 === 1 ? 'tokens' : 'chain';
    return `{ ${field} ${inner} }`;
  }, '{ name }');
}

const chained = ['a', 'b', 'c', 'd', 'e', 'f'].map((name, nth, { [nth + 1]: next = 'g' }) => {
  return `fragment ${name} on Chain { ...${next} ...${next} }`;
});

it.each<[string, Partial<Config>, string | undefined, string, string]>([
  ['depth', { maxDepth: 4 }, deep(4), deep(5), 'at most 4 levels of fields; this one has 5.'],
  [
    'depth, through fragments',
    { maxDepth: 3 },
    undefined,
    '{ chains { ...a } } fragment a on Chain { ... on Chain { tokens { ...b } } } fragment b on Token { chain { name } }',
    'at most 3 levels of fields; this one has 4.',
  ],
  [
    'aliases, those of a fragment wherever it is spread',
    { maxAliases: 3 },
    '{ a: listings { state } b: listings { s: state } }',
    '{ a: listings { ...f } b: listings { ...f } } fragment f on ListingStatus { s: state }',
    'at most 3 aliases; this one has 4.',
  ],
  [
    'lexical tokens',
    { maxQueryTokens: 6 },
    '{ listings { state } }',
    '{ listings { state name } }',
    'at most 6 lexical tokens; this one has more.',
  ],
  [
    'characters, those of comments too',
    {},
    `{ __typename } #${'-'.repeat(99_984)}`,
    `{ __typename } #${'-'.repeat(99_985)}`,
    'at most 100000 characters; this one has 100001.',
  ],
  [
    'lines, those in comments and texts too',
    { maxQueryTokens: 20 },
    `{ ${'\n# x'.repeat(9)} ${'\n'.repeat(5)} __type(name: """${'\n'.repeat(5)}""") { name } }`,
    `{ ${'\n# x'.repeat(9)} ${'\n'.repeat(5)} __type(name: """${'\n'.repeat(6)}""") { name } }`,
    'at most 20 lines; this one has 21.',
  ],
  [
    'fields, those of a fragment wherever it is spread',
    { maxQueryTokens: 100 },
    undefined,
    `{ chains { ...a } } ${chained.join(' ')} fragment g on Chain { name chainKey }`,
    'at most 100 fields with its fragments expanded; this one has 129.',
  ],
  [
    'levels of lists in the type of a variable',
    {},
    'query ($text: String, $lists: [[Int!]!]) { chains(search: $text) { name } _entities(representations: [{ __typename: "Chain", chainKey: "a", lists: $lists }]) { __typename } }',
    'query ($text: String, $lists: [[[Int!]!]!]) { chains(search: $text) { name } _entities(representations: [{ lists: $lists }]) { __typename } }',
    'at most 2 levels of lists in the type of a variable; this one has 3.',
  ],
])('an error names the limit and the number: %s', async (_name, config, allowed, refused, message) => {
  const { query } = await createTestGateway({ config });
  if (allowed !== undefined) expect(codesOf(await query(allowed))).toEqual([]);
  const answer = await query(refused);
  expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
  expect(answer.errors?.[0]?.message).toBe(`An operation may have ${message}`);
  expect(answer).not.toHaveProperty('data');
});

it.each([
  ['an alias', (name: string) => `{ ${name}: __typename }`],
  ['a field', (name: string) => `{ ${name} }`],
  ['a fragment', (name: string) => `{ ...${name} } fragment ${name} on Query { __typename }`],
  ['a variable', (name: string) => `query ($${name}: String) { chains(search: $${name}) { name } }`],
  ['an operation', (name: string) => `query ${name} { __typename }`],
  ['a directive', (name: string) => `{ __typename @${name} }`],
])('an error names the limit on the length of the name of %s, in any document', async (_name, document) => {
  const { query } = await createTestGateway();
  for (const comment of ['', `# ${'-'.repeat(5_000)}\n`, `# ${'x'.repeat(5_000)}\n`]) {
    const longest = await query(comment + document('x'.repeat(200)));
    expect(codesOf(longest)).not.toContain('LIMIT_EXCEEDED');
    const longer = await query(comment + document('x'.repeat(201)));
    expect(codesOf(longer)).toEqual(['LIMIT_EXCEEDED']);
    expect(longer.errors?.[0]?.message).toBe(
      'Expected names of at most 200 characters in the document, such as aliases; got a longer one.',
    );
    expect(longer).not.toHaveProperty('data');
  }
});

it('an error names the limit on comparisons of fields', async () => {
  const { query } = await createTestGateway();
  const repeated = (times: number) => `{ ${'__typename '.repeat(times)}}`;
  expect(codesOf(await query(repeated(500)))).toEqual([]);
  const answer = await query(repeated(1_900));
  expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
  expect(answer.errors?.[0]?.message).toMatch(/compared in 500000 steps; this one takes more. Send several/);
});

it('an error names the limit on the length of operationName, without the name', async () => {
  const { post } = await createTestGateway();
  const response = await post({ query: '{ __typename }', operationName: 'x'.repeat(201) });
  expect(response.status).toBe(400);
  const message = 'Expected at most 200 characters as "operationName", got 201.';
  expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'BAD_USER_INPUT' } }] });
});

it('the limits let the standard introspection query through, but not other fields beside it', async () => {
  const { query } = await createTestGateway({ config: { maxDepth: 3 } });
  expect(codesOf(await query(getIntrospectionQuery()))).toEqual([]);
  expect(codesOf(await query(`{ __typename ${deep(5).slice(1)}`))).toEqual(['LIMIT_EXCEEDED']);
});

it('the limits apply to each operation of a document separately', async () => {
  const { post } = await createTestGateway({ config: { maxAliases: 1 } });
  const query = 'query A { a: listings { state } } query B { b: listings { state } }';
  expect(await (await post({ query, operationName: 'B' })).json()).toHaveProperty('data.b');
});

it.each([
  ['the limits are', 'a: __typename', 10],
  // GraphQL adds one error, which says that there are more.
  ['invalid fields are', 'no', 11],
])('%s reported in few errors', async (_what, field, most) => {
  const { post } = await createTestGateway({ config: { maxAliases: 0 } });
  const operations = Array.from({ length: 30 }, (_nothing, nth) => `query Q${nth} { ${field} }`);
  const response = await post({ query: operations.join(' '), operationName: 'Q1' });
  expect(await response.json()).toHaveProperty('errors.length', most);
});

it('the limits leave fragments that spread themselves to the rule of GraphQL and syntax errors to the parser, and do not count texts and comments as names', async () => {
  const { query } = await createTestGateway();
  const answer = await query('{ chains { ...a } } fragment a on Chain { tokens { chain { ...a } } }');
  expect(codesOf(answer)).toEqual(['GRAPHQL_VALIDATION_FAILED']);
  expect(answer.errors?.[0]?.message).toContain('Cannot spread fragment "a" within itself');
  const text = 'x'.repeat(300);
  const { data } = await query<object>(`{ chain(chainKey: "${text}") { name } } # ${text}`);
  expect(data).toEqual({ chain: null });
  expect(codesOf(await query('{ chains { "unterminated } }'))).toEqual(['GRAPHQL_PARSE_FAILED']);
});

const LONG = 'x'.repeat(900_000);
const SEARCH = 'query A($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }';
const unknown = Object.fromEntries(Array.from({ length: 40 }, (_nothing, nth) => [`no${nth}`, 1]));

it.each<[string, object]>([
  ['the name of the operation', { query: SEARCH, operationName: LONG }],
  ['a name in the document', { query: `query ${LONG} { chains { name } } query B { no }` }],
  [
    'a name in ten errors',
    { query: `query ${LONG}(${'abcdefghijk'.replace(/./g, '$$$&: Int ')}) { chains { name } }` },
  ],
  ['a syntax error', { query: `{ chains { name } } ${LONG}` }],
  ['a value of a variable', { query: SEARCH, variables: { f: { symbols: [5], chainKeys: [LONG] } } }],
  ['a variable in many errors', { query: SEARCH, variables: { f: { symbols: LONG, ...unknown } } }],
  ['the name of a member', { [LONG]: 1 }],
])('a text of the client is shortened in errors: %s', async (_name, asked) => {
  const { post } = await createTestGateway();
  for (let time = 0; time < 2; time++) {
    const response = await post(asked);
    const text = await response.text();
    expect(text.length).toBeLessThan(80_000);
    expect(text).not.toContain('Expected a response');
    const { errors = [] } = JSON.parse(text) as Answered<unknown>;
    expect(errors.length).toBeGreaterThan(0);
    for (const { message } of errors) expect(message.length).toBeLessThan(2_000);
  }
});

it('a text of the client is quoted in full if it is short; a long message keeps its end', async () => {
  const { query } = await createTestGateway();
  const { errors = [] } = await query(SEARCH, { f: { symbols: LONG, no: 1 } });
  expect(errors.map(({ message }) => message.slice(-50)).join()).toContain(
    '"no" is not defined by type "TokenFilter"',
  );
  expect(errors[0]?.message).toContain('characters left out');
  const short = await query(SEARCH, { f: 'abc' });
  expect(short.errors?.[0]?.message).toContain('"abc"');
});

const ALL = '{ id address symbol name decimals chain { name } }';
const aliases = (count: number) =>
  Array.from({ length: count }, (_nothing, nth) => `${'x'.repeat(198)}${nth + 10}: symbol`).join(' ');

/** 1,500 rows of the longest texts that a row may have, in letters of three bytes. */
const LONG_ROWS = Array.from({ length: 1_500 }, (_nothing, nth) =>
  tokenRow('ethereum', `${'☃'.repeat(508)}${1e3 + nth}`, { symbol: '☃'.repeat(256), name: '☃'.repeat(1024) }),
);

it('a response is refused if the upstream sends the longest texts, but not for the same rows with shorter texts', async () => {
  const { ask } = await startServer({ listings: { chains: [chainRow('ethereum')], tokens: LONG_ROWS } });
  for (let nth = 0; nth < 3; nth++) {
    for (const method of ['POST', 'GET']) {
      const { status, body, headers } = await ask({ query: `{ tokens ${ALL} }`, method });
      // The operation writer found this, so graphql-js did not execute the operation once more.
      expect([status, headers['x-cost']]).toEqual([200, '0']);
      expect(JSON.parse(body.toString())).toEqual({
        errors: [
          {
            message: expect.stringMatching(/^Expected a response of at most 8388608 bytes/),
            extensions: { code: 'LIMIT_EXCEEDED' },
          },
        ],
      });
    }
    const { body } = await ask({ query: '{ tokens { symbol decimals } }' });
    expect(JSON.parse(body.toString()).data.tokens).toHaveLength(1_500);
  }
  // graphql-js executes this operation, because the operation writer does not support introspection.
  const byGraphqlJs = await ask({ query: `{ tokens ${ALL} __schema { queryType { name } } }` });
  expect(codesOf(JSON.parse(byGraphqlJs.body.toString()))).toEqual(['LIMIT_EXCEEDED']);
});

it('a response is refused before its operation is executed if the names are too long', async () => {
  const tokens = Array.from({ length: 3_000 }, (_nothing, nth) => tokenRow('ethereum', `0x${nth}`));
  const { query } = await createTestGateway({ listings: { chains: [chainRow('ethereum')], tokens } });
  expect(codesOf(await query(`{ tokens { ${aliases(14)} } }`))).toEqual(['LIMIT_EXCEEDED']);
  expect(codesOf(await query(`{ tokenChanges { changed { ${aliases(14)} } } }`))).toEqual(['LIMIT_EXCEEDED']);
  expect((await query<{ tokens: object[] }>(`{ tokens { ${aliases(10)} } }`)).data?.tokens).toHaveLength(
    3_000,
  );
});

it('a response that is refused is a short error for an agent', async () => {
  const [tool] = TOOLS;
  if (!tool) throw new Error('Expected a tool');
  const data = JSON.stringify({ data: { tokens: 'x'.repeat(5_000_000) } });
  const { result } = await callTool(prepareTool(schema, tool), {}, async () => data);
  expect(result).toMatchObject({ isError: true });
  expect(result.content[0]?.text).toMatch(/LIMIT_EXCEEDED.*Expected a result of at most 4194304 characters/);
});
