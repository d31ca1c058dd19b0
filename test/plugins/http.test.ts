/** Status, content type and error code of a response are as GraphQL over HTTP and the guide say. */
import { readFileSync } from 'node:fs';
import { serverAudits } from 'graphql-http';
import { expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { share } from '../support/ends.js';
import { json, stall, status } from '../support/fake-upstream.js';
import { answerOf, codesOf, createTestGateway, isAtLeast } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const QUERY = '{chain(chainKey:"base"){name}}';
const ERROR_CODES = readFileSync(new URL('../../src/domain/error-codes.md', import.meta.url), 'utf8');
const NOTHING_HERE = {
  error:
    'Nothing is here. Expected one of: / (in a browser), /graphql, /mcp, /tokenlist.json, /schema.graphql, /llms.txt, /live, /ready, /metrics.',
};

it.each([
  ['application/json; charset=utf-8', JSON.stringify({ query: QUERY }), 200],
  ['Application/JSON ; Charset=UTF-8', JSON.stringify({ query: QUERY }), 200],
  ['application/graphql', QUERY, 200],
  ['application/x-www-form-urlencoded', `query=${QUERY}`, 200],
  ['application/xml', QUERY, 415],
  ['multipart/form-data; boundary=x', QUERY, 415],
])('a POST request with a body of the type %s, such as %j, gets %i', async (type, body, status) => {
  const { fetch } = await createTestGateway();
  const response = await fetch('/graphql', { method: 'POST', headers: { 'content-type': type }, body });
  expect(response.status).toBe(status);
  if (status === 200) expect(await response.json()).toEqual({ data: { chain: { name: 'Base' } } });
});

const extensions = { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } };
it.each([
  ['GRAPHQL_PARSE_FAILED', { query: '{' }],
  ['GRAPHQL_VALIDATION_FAILED', { query: '{ nope }' }],
  ['OPERATION_RESOLUTION_FAILURE', { query: 'query A { __typename }', operationName: 'B' }],
  ['PERSISTED_QUERY_NOT_FOUND', { extensions }],
  ['PERSISTED_QUERY_NOT_FOUND', { query: null, extensions }],
  ['PERSISTED_QUERY_MISMATCH', { query: QUERY, extensions }],
  ['BAD_REQUEST', { query: 5 }],
  ['BAD_REQUEST', { query: 5, extensions }],
  ['BAD_REQUEST', { query: QUERY, variables: [] }],
  ['BAD_REQUEST', { query: QUERY, operationName: 5 }],
])('a POST request can get the code %s, which the guide names', async (code, body) => {
  const { post } = await createTestGateway();
  const response = await post(body);
  expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
  expect(ERROR_CODES).toContain(`\`${code}\``);
  expect(response.headers.get('allow')).toBeNull();
});

it('a POST request that accepts no served type gets status 406, which names each type once', async () => {
  const { post } = await createTestGateway();
  const response = await post({ query: QUERY }, { accept: 'a/b,'.repeat(1_000) });
  expect(response.status).toBe(406);
  const types = response.headers.get('accept')?.split(', ') ?? [];
  expect(new Set(types).size).toBe(types.length);
});

it.each([
  [200, `application/json,${'a/b,'.repeat(1_000)}`],
  [406, `${'a/b,'.repeat(250)}application/json`],
])('of a long Accept header, only the first 1,000 characters count: %i', async (code, accept) => {
  const { post } = await createTestGateway();
  expect((await post({ query: QUERY }, { accept })).status).toBe(code);
});

const BY_GET = `?query=${QUERY}`;
const body = JSON.stringify({ query: QUERY });
const methods = 'GET, HEAD, POST, QUERY, OPTIONS';
const ofTypes =
  'Expected an Accept header with one of these types: text/event-stream; charset=utf-8, multipart/mixed; charset=utf-8, application/graphql-response+json; charset=utf-8, application/json; got';
const ofDocument = 'Expected a document as "query", such as "{ chains { name } }"; got';
const latin1 = 'application/json; charset=iso-8859-1';
const misspelt = { body: '{"qeury":"{a}"}', headers: { 'content-type': 'application/json' } };
it.each<[string, number, string, RequestInit, string]>([
  ['a method', 405, '', { method: 'PUT', body }, `Expected one of the methods ${methods}, got "PUT".`],
  [
    'a mutation by GET',
    405,
    '?query=mutation{a}',
    {},
    'Expected a query, got a mutation: this graph is read-only.',
  ],
  ['a type of the response', 406, BY_GET, { headers: { accept: 'image/png' } }, `${ofTypes} "image/png".`],
  ['a charset of the response', 406, BY_GET, { headers: { accept: latin1 } }, `${ofTypes} "${latin1}".`],
  [
    'a type of the body',
    415,
    '',
    { method: 'POST', body, headers: { 'content-type': 'text/plain' } },
    'Expected the Content-Type application/json, got "text/plain".',
  ],
  [
    'a body without a type',
    415,
    '',
    { method: 'POST', body: new TextEncoder().encode(body) },
    'Expected the Content-Type application/json, got none.',
  ],
  ['no document', 200, '', {}, `${ofDocument} none.`],
  [
    'a misspelt member',
    400,
    '',
    { method: 'POST', ...misspelt },
    `${ofDocument} only other members, such as "qeury".`,
  ],
])('the refusal of %s is a %i, and says what was expected', async (_name, status, query, init, message) => {
  const { ask, address, serverLog } = await startServer();
  const response = await fetch(`${address}/graphql${query}`, init);
  expect(response.status).toBe(status);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await response.json()).toEqual({ errors: [{ message, extensions: { code: 'BAD_REQUEST' } }] });
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  await ask({ query: QUERY });
  expect(serverLog).toContainEqual(expect.objectContaining({ status, codes: ['BAD_REQUEST'] }));
});

it.each([
  ['query A { __typename }', 'B', '"B"'],
  ['query A { __typename } query B { __typename }', undefined, 'none'],
])('the refusal of %j with operationName %j says what was expected', async (query, operationName, got) => {
  const { post } = await createTestGateway();
  const response = await post({ query, operationName });
  expect(response.status).toBe(400);
  const message = `Expected the name of an operation in the document as "operationName", got ${got}. Leave it out only if there is one operation.`;
  expect(await response.json()).toMatchObject({ errors: [{ message }] });
});

it.each(['GET', 'POST'])('an empty operationName counts as none in a request by %s', async (method) => {
  const { ask } = await startServer();
  const one = await ask({ method, query: 'query A { __typename }', operationName: '' });
  expect([one.status, JSON.parse(String(one.body))]).toEqual([200, { data: { __typename: 'Query' } }]);
  const query = 'query A { a: __typename } query B { __typename }';
  const two = await ask({ method, query, operationName: '' });
  expect([two.status, String(two.body)]).toEqual([400, expect.stringContaining('got none.')]);
});

it('the id of a request is its x-request-id if that is short and plain, otherwise a new one', async () => {
  const { ask, serverLog } = await startServer();
  const allowed = ['abc-123', 'A/b+c=:.d', 'x'.repeat(128)];
  for (const given of [...allowed, '', 'with space', '"quoted"', '<script>', 'x'.repeat(129)]) {
    const { headers } = await ask({ query: '{ listings { state } }', headers: { 'x-request-id': given } });
    const id = headers['x-request-id'];
    expect(id).toEqual(allowed.includes(given) ? given : expect.stringMatching(/^[0-9a-f-]{36}$/));
    const line = serverLog.findLast(({ msg }) => msg === 'Answered');
    expect(line).toMatchObject({ requestId: id, path: '/graphql', status: 200 });
  }
});

it('/ready is 503 with the reason until both listings have a snapshot, also after a failure', async () => {
  const listings = { chains: status(404), tokens: stall };
  const { fetch, snapshots, upstream } = await createTestGateway({ firstPauseMs: 20, listings });
  snapshots.start();
  const reason = async () => ((await (await fetch('/ready')).json()) as { reason: string }).reason;
  await expect.poll(reason).toContain('There is no snapshot of the chains listing yet: UPSTREAM_STATUS: ');
  upstream.plan('chains', json({ chains: [chainRow('a')] }));
  await expect.poll(reason).toBe('The first snapshot of the tokens listing is being fetched.');
  const response = await fetch('/ready');
  expect([response.status, response.headers.get('cache-control')]).toEqual([503, 'no-store']);
  expect((await fetch('/live')).status).toBe(200);
  const ready = await createTestGateway({ hasListings: true });
  const answer = await ready.fetch('/ready');
  expect([answer.status, await answer.json()]).toEqual([200, { ready: true }]);
});

it.each(['/live', '/ready', '/metrics'])('monitoring accepts only GET and HEAD: %s', async (path) => {
  const { fetch } = await createTestGateway();
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const response = await fetch(path, { method });
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
    expect(await response.json()).toEqual({ error: `Expected GET or HEAD, got ${method}.` });
  }
});

it.each<[string, object]>([
  ['{ chain(chainKey: "base") { nam } }', {}],
  ['query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }', { f: { symbol: ['USDC'] } }],
  ['query ($o: TokenOrder) { tokenSearch(orderBy: $o) { totalCount } }', { o: 'SYMBO' }],
  ['query ($f: TokenFilte) { tokenSearch(filter: $f) { totalCount } }', {}],
  ['{ tokenSearch(filter: { symbol: ["USDC"] }, orderBy: SYMBO, frst: 1) { totalCoun } }', {}],
  ['query ($i: Int) @skp(if: true) { tokenSearch(first: $i) { ...F ... on Tokn { id } } }', {}],
])('no error message suggests names of the schema without introspection: %s', async (text, given) => {
  const answers = [];
  for (const introspection of [true, false]) {
    const { query } = await createTestGateway({ config: { introspection } });
    answers.push(JSON.stringify(await query(text, given)).includes('Did you mean'));
  }
  expect(answers).toEqual([true, false]);
});

it('browsers get a page at /, and other clients the list of paths; GRAPHIQL=false switches only the playground off', async () => {
  for (const graphiql of [true, false]) {
    const { fetch } = await createTestGateway({ config: { graphiql } });
    const page = await fetch('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    for (const accept of ['*/*', 'application/json']) {
      const other = await fetch('/', { headers: { accept } });
      expect([other.status, other.headers.get('vary')]).toEqual([404, 'Accept']);
      expect(await other.json()).toEqual(NOTHING_HERE);
    }
    const playground = await fetch('/graphql', { headers: { accept: 'text/html' } });
    expect(/html/.test(playground.headers.get('content-type') ?? '')).toBe(graphiql);
    // A file of another version leads to that of this version.
    const { status } = await fetch(`/graphql/playground/${'x'.repeat(16)}/start.js`);
    expect(status).toBe(graphiql ? 302 : 404);
  }
});

const NEWER = { accept: 'application/graphql-response+json' };
const VARIABLE = 'query ($k: String!) { chain(chainKey: $k) { name } }';

it.each<[string, string | object]>([
  ['a variable of another type', { query: VARIABLE, variables: { k: 5 } }],
  ['a missing variable', { query: VARIABLE }],
  ['a mutation', { query: 'mutation { x }' }],
  ['a subscription', { query: 'subscription { x }' }],
  ['variables of a GET that are no JSON', '/graphql?query={__typename}&variables={'],
  ['extensions of a GET that are no JSON', '/graphql?query={__typename}&extensions=x'],
])("a client's mistake has a code and status 400, and is no error in the log: %s", async (_name, asked) => {
  const { post, fetch, logged } = await createTestGateway();
  const response = await (typeof asked === 'string' ? fetch(asked) : post(asked, NEWER));
  expect(response.status).toBe(400);
  const answer = (await response.json()) as Parameters<typeof codesOf>[0];
  expect(codesOf(answer)).toEqual(['BAD_USER_INPUT']);
  if (typeof asked === 'string') expect(answer.errors?.[0]?.message).toContain('to be JSON');
  expect(logged.filter((line) => isAtLeast(line, 'error'))).toEqual([]);
});

it("a client's mistake in one field has a code, and the rest of the response is complete", async () => {
  const { post } = await createTestGateway();
  const query = 'query ($k: String = "base") { chain(chainKey: $k) { name } listings { name } }';
  const response = await post({ query, variables: { k: null } }, NEWER);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    data: { chain: null, listings: [{ name: 'chains' }, { name: 'tokens' }] },
    errors: [{ path: ['chain'], extensions: { code: 'BAD_USER_INPUT' } }],
  });
});

const shared = share((atEnd) => createTestGateway({ atEnd }));
const fetchFn = (url: string, init?: RequestInit) => answerOf(shared.gateway, new Request(url, init));

const audits = serverAudits({ url: 'http://gateway/graphql', fetchFn });

it.each(audits.map(({ name, fn }) => [name, fn] as const))('GraphQL over HTTP: %s', async (_name, fn) => {
  expect(await fn()).toMatchObject({ status: 'ok' });
});
