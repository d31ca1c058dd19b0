import { METHODS } from 'node:http';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterTests } from '../support/ends.js';
import { type Asked, type Received, startServer, type TestServer } from '../support/test-server.js';

const TOKENS = '{ tokens { symbol name } }';
const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };

let server: TestServer;
const atEnd = afterTests();
beforeAll(async () => {
  server = await startServer({ config: LONG, atEnd });
});

/** Older versions of Node refuse the method before the gateway sees it. */
const isKnownToNode = METHODS.includes('QUERY');

/** The request by QUERY. */
const byQuery = ({ headers, ...parameters }: Asked): Asked => ({
  method: 'QUERY',
  path: '/graphql',
  body: JSON.stringify(parameters),
  ...(headers ? { headers } : {}),
});

/** A number for queries that no other test sends, so that they are not cached. */
let asked = 0;
const fresh = (fields = 'tokens { symbol name }') => `query Names { own${asked++}: ${fields} }`;

const OF_CACHING = ['cache-control', 'etag', 'last-modified', 'vary'];
const cachingOf = ({ headers }: Received) =>
  OF_CACHING.map((name) => String(headers[name]).replace(/max-age=\d+/, 'max-age'));

describe.skipIf(!isKnownToNode)('a QUERY request', () => {
  it.each([
    ['an operation', { query: TOKENS }],
    [
      'variables',
      { query: 'query ($k: String!) { chain(chainKey: $k) { name } }', variables: { k: 'base' } },
    ],
    [
      'a named operation',
      { query: 'query A { chains { name } } query B { listings { name } }', operationName: 'A' },
    ],
    ['an unknown field', { query: '{ nothing }' }],
    ['a syntax error', { query: '{' }],
    ['no query', {}],
    ['an unknown hash', { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } }],
    ['JSON that is no object', undefined],
  ])('with %s gets the bytes and the status of a POST', async (_what, parameters) => {
    const body = parameters === undefined ? '7' : JSON.stringify(parameters);
    for (let time = 0; time < 3; time++) {
      const posted = await server.ask({ method: 'POST', body });
      const queried = await server.ask({ method: 'QUERY', path: '/graphql', body });
      expect(queried.status).toBe(posted.status);
      expect(queried.body.equals(posted.body)).toBe(true);
      expect(queried.headers['content-type']).toBe(posted.headers['content-type']);
    }
  });

  it('has the caching headers of a GET, and is answered with 304 if the client has the response', async () => {
    const query = fresh();
    for (let time = 0; time < 3; time++) {
      for (const encoding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': encoding };
        const got = await server.ask({ query, method: 'GET', headers });
        const queried = await server.ask(byQuery({ query, headers }));
        expect(cachingOf(queried)).toEqual(cachingOf(got));
        expect(queried.body.equals(got.body)).toBe(true);
        const etag = queried.headers.etag ?? '';
        const again = await server.ask(byQuery({ query, headers: { ...headers, 'if-none-match': etag } }));
        expect(again.status).toBe(304);
        expect(again.body).toHaveLength(0);
      }
    }
    expect((await server.ask(byQuery({ query: '{ nothing }' }))).headers['cache-control']).toBe('no-store');
  });

  it('is executed twice, and then answered from the cache, by its body', async () => {
    const [one, other] = [fresh(), fresh('chains { name }')];
    const requests = [one, one, one, other, one, other, other].map((query) => byQuery({ query }));
    const { count, bodies } = await server.countExecuted(...requests);
    expect(count).toBe(4);
    const [a, , , b] = bodies;
    expect(bodies).toEqual([a, a, a, b, a, b, b]);
    expect(a).not.toBe(b);
  });

  it.each([
    [undefined, 400],
    ['text/plain', 415],
    ['application/graphql', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/jsonx', 415],
    ['application/json', 200],
    ['application/json; charset=utf-8', 200],
    ['Application/JSON', 200],
  ])('with the Content-Type %s is answered with %i', async (type, status) => {
    const before = server.upstream.count();
    // A body of bytes gets no type from `fetch`.
    const response = await fetch(`${server.address}/graphql`, {
      method: 'QUERY',
      ...(type ? { headers: { 'content-type': type } } : {}),
      body: Buffer.from(JSON.stringify({ query: '{ chains { name } }' })),
    });
    expect(response.status).toBe(status);
    expect(response.headers.get('accept-query')).toBe('application/json');
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    const answer = (await response.json()) as { data?: object; errors?: { message: string }[] };
    if (status === 200) expect(answer).toMatchObject({ data: { chains: expect.any(Array) } });
    else {
      const came = type === undefined ? 'none' : JSON.stringify(type);
      expect(answer.errors?.map(({ message }) => message)).toEqual([
        `Expected a QUERY request to have the Content-Type application/json, got ${came}.`,
      ]);
    }
    expect(server.upstream.count()).toBe(before);
  });

  it('has the size limit of a POST, and is not supported at other paths', async () => {
    const large = byQuery({ query: `{ chains { name } } # ${'x'.repeat(1_100_000)}` });
    expect((await server.ask(large)).status).toBe(413);
    expect((await server.ask({ ...byQuery({ query: TOKENS }), path: '/live' })).status).toBe(405);
    expect((await server.ask({ ...byQuery({ query: TOKENS }), path: '/nothing' })).status).toBe(404);
  });

  it('is logged with its method, its operation and its errors', async () => {
    const query = fresh('chains { name }');
    await server.ask(byQuery({ query, operationName: 'Names' }));
    await server.ask(byQuery({ query: '{ nothing }' }));
    const lines = [
      expect.objectContaining({ method: 'QUERY', status: 200, operation: 'Names' }),
      expect.objectContaining({ method: 'QUERY', codes: ['GRAPHQL_VALIDATION_FAILED'] }),
    ];
    await expect.poll(() => server.serverLog).toEqual(expect.arrayContaining(lines));
  });
});

describe('the endpoint', () => {
  it('names QUERY as supported, also for pages of other origins', async () => {
    for (const method of ['GET', 'POST'])
      expect((await server.ask({ query: TOKENS, method })).headers['accept-query']).toBe('application/json');
    const preflight = await server.ask({
      method: 'OPTIONS',
      path: '/graphql',
      headers: {
        origin: 'https://a.example',
        'access-control-request-method': 'QUERY',
        'access-control-request-headers': 'content-type,apollographql-client-name',
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers).toMatchObject({
      'accept-query': 'application/json',
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, QUERY, OPTIONS',
      'access-control-allow-headers': 'content-type,apollographql-client-name',
    });
    const refused = await server.ask({ method: 'PUT', path: '/graphql', body: '{}' });
    expect(refused.status).toBe(405);
    expect(refused.headers.allow).toBe('GET, HEAD, POST, QUERY, OPTIONS');
    expect((await server.ask({ method: 'GET', path: '/live' })).headers).not.toHaveProperty('accept-query');
  });
});
