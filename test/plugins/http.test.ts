import { readFileSync } from 'node:fs';
import { getIntrospectionQuery } from 'graphql';
import { describe, expect, it } from 'vitest';
import { chainRow } from '../fixtures/rows.js';
import { json, stall, startFakeUpstream, status } from '../support/fake-upstream.js';
import { type Answered, codesOf, createTestGateway, isAtLeast } from '../support/test-gateway.js';
import { startServer } from '../support/test-server.js';

const BODY = JSON.stringify({ query: '{ listings { state } }' });
const POST = { method: 'POST', headers: { 'content-type': 'application/json' }, body: BODY };

const NOTHING_HERE = {
  error:
    'Nothing is here. Expected one of: / (in a browser), /graphql, /mcp, /tokenlist.json, /schema.graphql, /llms.txt, /live, /ready, /metrics.',
};

describe('cross-origin requests', () => {
  it('are open to all by default, without credentials and without reflecting the origin', async () => {
    const { fetch } = await createTestGateway();
    const { headers } = await fetch('/graphql', {
      ...POST,
      headers: { ...POST.headers, origin: 'https://any.example' },
    });
    expect(headers.get('access-control-allow-origin')).toBe('*');
    expect(headers.get('access-control-allow-credentials')).toBeNull();
    expect(headers.get('vary') ?? '').not.toContain('Origin');
  });

  it('get a response to their preflight request', async () => {
    const { fetch } = await createTestGateway();
    const response = await fetch('/graphql', {
      method: 'OPTIONS',
      headers: {
        origin: 'https://any.example',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type,apollographql-client-name',
      },
    });
    expect(response.status).toBe(204);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'access-control-allow-origin': '*',
      'access-control-allow-methods': 'GET, POST, QUERY, OPTIONS',
      'access-control-allow-headers': 'content-type,apollographql-client-name',
    });
  });
});

describe('a POST request', () => {
  const QUERY = '{chain(chainKey:"base"){name}}';

  it.each([
    ['application/json; charset=utf-8', JSON.stringify({ query: QUERY }), 200],
    ['application/graphql', QUERY, 200],
    ['application/x-www-form-urlencoded', `query=${QUERY}`, 200],
    ['text/plain', QUERY, 415],
    ['application/xml', QUERY, 415],
    ['multipart/form-data; boundary=x', QUERY, 415],
  ])('with a body of the type %s', async (type, body, status) => {
    const { fetch } = await createTestGateway();
    const response = await fetch('/graphql', { method: 'POST', headers: { 'content-type': type }, body });
    expect(response.status).toBe(status);
    if (status === 200) expect(await response.json()).toEqual({ data: { chain: { name: 'Base' } } });
  });

  it.each([
    ['GRAPHQL_PARSE_FAILED', { query: '{' }],
    ['GRAPHQL_VALIDATION_FAILED', { query: '{ nope }' }],
    ['OPERATION_RESOLUTION_FAILURE', { query: 'query A { __typename }', operationName: 'B' }],
    [
      'PERSISTED_QUERY_NOT_FOUND',
      { extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } },
    ],
    [
      'PERSISTED_QUERY_MISMATCH',
      { query: QUERY, extensions: { persistedQuery: { version: 1, sha256Hash: 'a'.repeat(64) } } },
    ],
    ['BAD_REQUEST', { query: 5 }],
  ])('can get the code %s, which the guide names', async (code, body) => {
    const { fetch } = await createTestGateway();
    const response = await fetch('/graphql', { ...POST, body: JSON.stringify(body) });
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code } }] });
    expect(readFileSync(new URL('../../src/domain/error-codes.md', import.meta.url), 'utf8')).toContain(
      `\`${code}\``,
    );
  });
});

describe('request ids', () => {
  const QUERY = 'query Named { listings { state } }';

  it.each(['abc-123', 'A/b+c=:.d', 'x'.repeat(128)])(
    'pass as they are where they are plain: %s',
    async (id) => {
      const { ask, serverLog } = await startServer();
      const { headers } = await ask({ query: QUERY, headers: { 'x-request-id': id } });
      expect(headers['x-request-id']).toBe(id);
      expect(serverLog.find(({ msg }) => msg === 'Answered')).toMatchObject({
        requestId: id,
        path: '/graphql',
        status: 200,
      });
    },
  );

  it.each(['', 'with space', '"quoted"', '<script>', 'x'.repeat(129)])(
    'are made anew for "%s"',
    async (id) => {
      const { ask, serverLog } = await startServer();
      const { headers } = await ask({ query: QUERY, headers: { 'x-request-id': id } });
      expect(headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
      expect(serverLog.find(({ msg }) => msg === 'Answered')?.requestId).toBe(headers['x-request-id']);
    },
  );
});

describe('/live, /ready and /metrics', () => {
  it('/ready is 503 with the reason until both listings have a snapshot', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', stall);
    const { fetch, snapshots } = await createTestGateway({ upstream });
    snapshots.start();
    await expect.poll(() => snapshots.status(Date.now())[0].state).toBe('FRESH');
    const response = await fetch('/ready');
    expect(response.status).toBe(503);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toEqual({
      ready: false,
      reason: 'The first snapshot of the tokens listing is being fetched.',
    });
    expect((await fetch('/live')).status).toBe(200);
  });

  it('/ready names the failure, and is 200 after the first snapshots', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('chains', status(404));
    const {
      fetch,
      snapshots,
      upstream: { plan },
    } = await createTestGateway({ upstream, firstPauseMs: 20 });
    snapshots.start();
    await expect
      .poll(async () => ((await (await fetch('/ready')).json()) as { reason: string }).reason)
      .toContain('There is no snapshot of the chains listing yet: UPSTREAM_STATUS: ');
    plan('chains', json({ chains: [chainRow('a')] }));
    await expect.poll(async () => (await fetch('/ready')).status).toBe(200);
    expect(await (await fetch('/ready')).json()).toEqual({ ready: true });
  });

  it.each(['/live/', '/liver', '/x/live', '/Live', '/graphql/ready', '/metrics/', '/Metrics', '/metricsx'])(
    'have exact paths: %s is none of them',
    async (path) => {
      const { fetch } = await createTestGateway();
      const response = await fetch(path);
      expect(response.status).toBe(404);
      expect(await response.json()).toEqual(NOTHING_HERE);
    },
  );

  it('do not match a query string that ends like them', async () => {
    const { fetch } = await createTestGateway();
    const response = await fetch(`/graphql?query=${encodeURIComponent('{ listings { state } }')}&x=/live`);
    expect(await response.json()).toHaveProperty('data.listings');
    expect((await fetch('/live?from=balancer')).status).toBe(200);
  });

  it.each(['/live', '/ready', '/metrics'])('accept only GET and HEAD: %s', async (path) => {
    const { fetch, query } = await createTestGateway();
    await query('{ chains { name } tokens { name } }');
    const [head, got] = [await fetch(path, { method: 'HEAD' }), await fetch(path)];
    expect([head.status, head.headers.get('content-type')]).toEqual([200, got.headers.get('content-type')]);
    for (const method of ['POST', 'PUT', 'DELETE']) {
      const response = await fetch(path, { method });
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
      expect(await response.json()).toEqual({ error: `Expected GET or HEAD, got ${method}.` });
    }
  });
});

describe('switches', () => {
  it('without introspection the schema cannot be read or guessed from suggestions', async () => {
    const { query } = await createTestGateway({ config: { introspection: false } });
    const answer = await query(getIntrospectionQuery());
    expect(answer).not.toHaveProperty('data');
    expect(new Set(codesOf(answer))).toEqual(new Set(['GRAPHQL_VALIDATION_FAILED']));
    const guess = await query('{ chain(chainKey: "base") { nam } }');
    expect(guess.errors?.[0]?.message).toBe('Cannot query field "nam" on type "Chain".');
    expect(await query('{ chain(chainKey: "base") { name __typename } }')).toEqual({
      data: { chain: { name: 'Base', __typename: 'Chain' } },
    });
  });

  it('with introspection, errors for mistyped names have suggestions', async () => {
    const { query } = await createTestGateway();
    expect((await query('{ chain(chainKey: "base") { nam } }')).errors?.[0]?.message).toContain(
      'Did you mean "name"',
    );
  });

  it('browsers get a page at /, and other clients the list of paths, with and without the playground', async () => {
    for (const graphiql of [true, false]) {
      const { fetch } = await createTestGateway({ config: { graphiql } });
      const page = await fetch('/', { headers: { accept: 'text/html,*/*;q=0.8' } });
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      for (const accept of ['*/*', 'application/json']) {
        const other = await fetch('/', { headers: { accept } });
        expect([other.status, other.headers.get('vary')]).toEqual([404, 'Accept']);
        expect(await other.json()).toEqual(NOTHING_HERE);
      }
    }
  });
});

describe("a client's mistake", () => {
  const ask = (fetch: (path: string, init?: RequestInit) => Promise<Response>, body: object) =>
    fetch('/graphql', {
      ...POST,
      headers: { ...POST.headers, accept: 'application/graphql-response+json' },
      body: JSON.stringify(body),
    });

  it.each([
    [
      'a variable of another type',
      { query: 'query ($k: String!) { chain(chainKey: $k) { name } }', variables: { k: 5 } },
    ],
    ['a missing variable', { query: 'query ($k: String!) { chain(chainKey: $k) { name } }' }],
    ['a mutation', { query: 'mutation { x }' }],
    ['a subscription', { query: 'subscription { x }' }],
  ])('has a code and status 400, and is not an error in the log: %s', async (_name, body) => {
    const { fetch, logged } = await createTestGateway();
    const response = await ask(fetch, body);
    expect(response.status).toBe(400);
    const { errors } = (await response.json()) as Answered<unknown>;
    expect(errors?.map(({ extensions }) => extensions?.code)).toEqual(['BAD_USER_INPUT']);
    expect(logged.filter((line) => isAtLeast(line, 'error'))).toEqual([]);
  });

  it('in one field has a code, and the rest of the response is complete', async () => {
    const { fetch } = await createTestGateway();
    const response = await ask(fetch, {
      query: 'query ($k: String = "base") { chain(chainKey: $k) { name } listings { name } }',
      variables: { k: null },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      data: { chain: null, listings: [{ name: 'chains' }, { name: 'tokens' }] },
      errors: [{ path: ['chain'], extensions: { code: 'BAD_USER_INPUT' } }],
    });
  });

  it.each(['variables={', 'extensions=x'])(
    'in a GET has a code and status 400, too: %s',
    async (parameter) => {
      const { fetch, logged } = await createTestGateway();
      const response = await fetch(`/graphql?query={__typename}&${parameter}`);
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({
        errors: [{ message: expect.stringContaining('to be JSON'), extensions: { code: 'BAD_USER_INPUT' } }],
      });
      expect(logged.filter((line) => isAtLeast(line, 'error'))).toEqual([]);
    },
  );
});

describe('requests by GET', () => {
  it('are answered like those by POST', async () => {
    const { fetch, query } = await createTestGateway();
    const text = 'query ($key: String!) { chain(chainKey: $key) { name } }';
    const variables = { key: 'base' };
    const response = await fetch(
      `/graphql?query=${encodeURIComponent(text)}&variables=${encodeURIComponent(JSON.stringify(variables))}`,
    );
    expect(await response.json()).toEqual(await query(text, variables));
  });
});

it('with status 406 name each type once, for any Accept header', async () => {
  const { fetch } = await createTestGateway();
  const headers = { 'content-type': 'application/json', accept: 'a/b,'.repeat(1_000) };
  const response = await fetch('/graphql', { method: 'POST', headers, body: '{"query":"{ __typename }"}' });
  expect(response.status).toBe(406);
  const types = response.headers.get('accept')?.split(', ') ?? [];
  expect(new Set(types).size).toBe(types.length);
});
