/** Trusted documents are executed by their id, and with TRUSTED_DOCUMENTS_ONLY no other document is. */
import { createHash } from 'node:crypto';
import { getIntrospectionQuery } from 'graphql';
import { expect, it } from 'vitest';
import * as QUERIES from '../../src/pages/picker/queries.js';
import { TABS } from '../../src/pages/playground/tabs.js';
import { type Asked, type Received, startServer, type TestServer } from '../support/test-server.js';

const QUERY = 'query Chain($key: String!) { chain(chainKey: $key) { name } }';
const ENTITIES = 'query($r: [_Any!]!) { _entities(representations: $r) { ... on Chain { name } } }';
const INVALID = 'query Old { noSuchField }';
const DOCUMENTS = new Map([
  ['chain-by-key', QUERY],
  ['0123456789abcdef0123456789abcdef', ENTITIES],
  ['old', INVALID],
  ['broken', 'query {'],
]);
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const byHash = (sha256Hash: unknown) => ({ persistedQuery: { version: 1, sha256Hash } });
const variables = { key: 'base' };
const BASE = { data: { chain: { name: 'Base' } } };

const start = (trustedDocumentsOnly = false) =>
  startServer({ config: { trustedDocuments: DOCUMENTS, trustedDocumentsOnly } });
const jsonOf = ({ body }: Received) => JSON.parse(body.toString());
const post = (parameters: object): Asked => ({ body: JSON.stringify(parameters) });
function get(parameters: Record<string, unknown>): Asked {
  const texts = Object.entries(parameters).map(([name, value]) => [
    name,
    typeof value === 'string' ? value : JSON.stringify(value),
  ]);
  return { method: 'GET', path: `/graphql?${new URLSearchParams(texts)}` };
}

/** A request that GraphQL Yoga responds to: the writer does not support this type. */
const viaYoga = (asked: Asked): Asked => ({
  ...asked,
  headers: { accept: 'application/graphql-response+json, application/json;q=0.5' },
});

const WAYS: readonly [string, object][] = [
  ['documentId', { documentId: 'chain-by-key', variables }],
  ['doc_id', { doc_id: 'chain-by-key', variables }],
  ['documentId and its text', { documentId: 'chain-by-key', query: QUERY, variables }],
  ['the SHA-256 of its text', { documentId: `sha256:${sha256(QUERY)}`, variables }],
  ['a persisted hash', { extensions: byHash(sha256(QUERY)), variables }],
  ['its id as a persisted hash', { extensions: byHash('chain-by-key'), variables }],
  ['a hash, and facts on the client', { extensions: { ...byHash(sha256(QUERY)), client: 1 }, variables }],
];

it.each(WAYS)('trusted documents are executed by %s, by POST and GET', async (_way, parameters) => {
  const { ask } = await start();
  for (const asked of [post(parameters), get({ ...parameters })]) {
    for (let times = 0; times < 3; times++) expect(jsonOf(await ask(asked))).toEqual(BASE);
    expect(jsonOf(await ask(viaYoga(asked)))).toEqual(BASE);
  }
});

it('trusted documents are cached under the key of their text', async () => {
  const { ask, countExecuted } = await start();
  for (let times = 0; times < 2; times++) await ask(post({ query: QUERY, variables }));
  const ways = [{ documentId: 'chain-by-key' }, { doc_id: 'chain-by-key' }];
  const asked = ways.flatMap((way) => Array<Asked>(2).fill(post({ ...way, variables })));
  const { count, bodies } = await countExecuted(...asked);
  // The first request of each form is executed: its body is new, so the cache is not read.
  expect(count).toBe(2);
  expect(new Set(bodies)).toEqual(new Set([JSON.stringify(BASE)]));
});

it('an unknown id, and a known id with the text of another document, are refused each time', async () => {
  const { ask } = await start();
  for (const parameters of [
    ...['nobody', 'constructor', { a: 1 }, 'x'.repeat(8_000)].map((documentId) => ({ documentId })),
    { documentId: 'chain-by-key', query: ENTITIES },
  ]) {
    const code = 'query' in parameters ? 'BAD_USER_INPUT' : 'PERSISTED_QUERY_NOT_FOUND';
    for (const asked of [post(parameters), get({ ...parameters }), post(parameters)]) {
      const refused = await ask(asked);
      expect([refused.status, jsonOf(refused).errors[0].extensions.code]).toEqual([400, code]);
      expect(refused.body.byteLength).toBeLessThan(500);
    }
  }
});

it('trusted documents are checked at the start, and the ids of invalid ones are logged', async () => {
  const { logged } = await start();
  await expect
    .poll(() => logged.find(({ invalidCount }) => invalidCount !== undefined))
    .toMatchObject({
      count: 4,
      invalidCount: 2,
      invalid: {
        old: expect.stringContaining('Cannot query field "noSuchField"'),
        broken: expect.stringContaining('Syntax Error'),
      },
    });
});

const OTHER = '{ chain(chainKey: "sei") { name } }';
const typed = (type: string, body: string): Asked => ({ body, headers: { 'content-type': type } });
const refusals: readonly [string, Asked][] = [
  ['by POST', post({ query: OTHER })],
  ['by GET', get({ query: OTHER })],
  ['with its hash', post({ query: OTHER, extensions: byHash(sha256(OTHER)) })],
  ['by an unknown hash', post({ extensions: byHash(sha256(OTHER)) })],
  ['with the hash of a known one', post({ query: OTHER, extensions: byHash(sha256(QUERY)) })],
  ['beside an id that is null', post({ query: OTHER, documentId: null })],
  ['as a form', typed('application/x-www-form-urlencoded', `query=${OTHER}`)],
  ['as a bare text', typed('application/graphql', OTHER)],
  ['with another media type', typed('application/graphql+json', JSON.stringify({ query: OTHER }))],
  ['by GraphQL Yoga', viaYoga(post({ query: OTHER }))],
  ['beside a known one', post({ query: `${QUERY} ${OTHER}`, operationName: 'Chain', variables })],
  ['with _service and more', post({ query: '{ _service { sdl } chains { name } }' })],
  ['with _entities', post({ query: '{ _entities(representations: []) { __typename } }' })],
  ['with introspection', post({ query: '{ __schema { types { name } } }' })],
  ['without a document', post({ variables })],
  ['as a query that is no text', post({ query: 5 })],
  ['with a text that cannot be read', post({ query: '"' })],
  ['with a megabyte of text', post({ query: `${QUERY}${' '.repeat(900_000)}` })],
];

it.each(refusals)('TRUSTED_DOCUMENTS_ONLY refuses another document %s, each time', async (_how, asked) => {
  const { ask } = await start(true);
  for (let times = 0; times < 3; times++) {
    const refused = await ask(asked);
    const { data, errors } = jsonOf(refused);
    expect([refused.status, data, errors[0].extensions.code]).toEqual([
      403,
      undefined,
      'DOCUMENT_NOT_TRUSTED',
    ]);
    expect(errors[0].message).toContain('by its "documentId"');
  }
});

const expectAnswered = async ({ ask }: TestServer, query: string, its: object = {}) => {
  for (let times = 0; times < 3; times++)
    expect((await ask({ query, variables: its })).body.toString()).not.toContain('DOCUMENT_NOT_TRUSTED');
};

it('TRUSTED_DOCUMENTS_ONLY allows the text of a known document, with other white space and comments', async () => {
  const { ask } = await start(true);
  const query = `# A chain\n${QUERY.replaceAll(' ', '\n  ')}`;
  for (let times = 0; times < 3; times++) expect(jsonOf(await ask({ query, variables }))).toEqual(BASE);
});

it("TRUSTED_DOCUMENTS_ONLY allows the pages' own documents", async () => {
  const server = await start(true);
  for (const text of Object.values(QUERIES)) await expectAnswered(server, text);
  for (const { query } of TABS) await expectAnswered(server, query);
  const options = { inputValueDeprecation: true, schemaDescription: true };
  await expectAnswered(server, getIntrospectionQuery(options));
});

it('TRUSTED_DOCUMENTS_ONLY allows the examples of /llms.txt, which find something', async () => {
  const { ask } = await start(true);
  const { body } = await ask({ method: 'GET', path: '/llms.txt' });
  const examples = [...String(body).matchAll(/```graphql\n(.*?)```/gs)].map(([, query = '']) => query);
  expect(examples).toHaveLength(3);
  for (const query of examples) {
    const { data, errors } = jsonOf(await ask({ query }));
    expect(errors).toBeUndefined();
    for (const found of Object.values<unknown[] & { totalCount?: number }>(data))
      expect(found.totalCount ?? found.length).toBeGreaterThan(0);
  }
});

it('TRUSTED_DOCUMENTS_ONLY gives routers the SDL, and entities by known documents', async () => {
  const server = await start(true);
  for (const query of ['{ _service { sdl } }', 'query Sdl { _service { sdl } }', '{ _sdl }', ENTITIES]) {
    await expectAnswered(server, query, { r: [{ __typename: 'Chain', chainKey: 'base' }] });
  }
});
