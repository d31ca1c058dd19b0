/** Tests of HEAD and QUERY, and of the headers that the response has with each method. */
import { METHODS } from 'node:http';
import { describe, expect, it } from 'vitest';
import type { Received } from '../support/send-http.js';
import { type Asked, FRESH, pathOf, shareServer, startServer } from '../support/test-server.js';

const HTML = { accept: 'text/html' };
const NEWER = { accept: 'application/graphql-response+json' };
const SYMBOLS = '{ tokens { symbol name } }';
const TOKENS = pathOf({ query: SYMBOLS });

const server = shareServer(async () => ({ config: FRESH }));

/** Older versions of Node refuse QUERY before the gateway sees it. */
const isQueryKnown = METHODS.includes('QUERY');

const without = (names: string, headers: Iterable<[string, string | string[] | undefined]>) =>
  Object.fromEntries([...headers].filter(([name]) => !names.split(' ').includes(name)));

const lasting = ({ headers }: Received) =>
  without('date x-request-id age cache-status cache-control', Object.entries(headers));

async function expectSame(path: string, headers: Record<string, string>, status: number): Promise<void> {
  const head = await server.ask({ method: 'HEAD', path, headers });
  const got = await server.ask({ method: 'GET', path, headers });
  expect([head.status, head.body.byteLength]).toEqual([status, 0]);
  expect(got.body.byteLength).toBeGreaterThan(0);
  expect(lasting(head)).toEqual(lasting(got));
  expect(got.headers['content-length']).toBe(String(got.body.byteLength));
}

it.each<[string, number, string, Record<string, string>]>([
  ['an operation', 200, TOKENS, {}],
  ['an operation, compressed', 200, TOKENS, { 'accept-encoding': 'br' }],
  ['an operation, by the newer type', 200, TOKENS, NEWER],
  ['a stream', 200, TOKENS, { accept: 'text/event-stream' }],
  ['an operation with an error', 200, pathOf({ query: '{ tokenSearch(first: 0) { totalCount } }' }), {}],
  ['an invalid operation', 400, pathOf({ query: '{ no }' }), NEWER],
  ['no operation', 200, '/graphql', {}],
  ['the playground', 200, '/graphql', HTML],
  ['the picker', 200, '/', HTML],
  ['no page', 404, '/', {}],
  ['/live', 200, '/live', {}],
  ['/ready', 200, '/ready', {}],
  ['/llms.txt', 200, '/llms.txt', {}],
  ['/schema.graphql', 200, '/schema.graphql', { 'accept-encoding': 'gzip' }],
  ['the token list', 200, '/tokenlist.json', { 'accept-encoding': 'gzip' }],
  ['the token list of an unknown chain', 404, '/tokenlist.json?chainKey=nope', {}],
  ['/mcp', 405, '/mcp', {}],
  ['an unknown path', 404, '/nothing', {}],
])('HEAD has the status and headers of GET, and no body, for %s', async (_name, status, path, headers) => {
  await server.query('{ chains { name } tokens { name } }');
  for (let time = 0; time < 3; time++) await expectSame(path, headers, status);
});

it('HEAD has the headers of GET for the files of a page and the metrics, too', async () => {
  for (const [page, pattern] of [
    ['/', /\/picker\/[^"]+\.js/],
    ['/graphql', /\/graphql\/playground\/[^"]+start\.js/],
  ] as const) {
    const { body } = await server.ask({ method: 'GET', path: page, headers: HTML });
    await expectSame(pattern.exec(body.toString())?.[0] ?? '', {}, 200);
  }
  // Two scrapes differ in length.
  const metrics = await server.ask({ method: 'HEAD', path: '/metrics' });
  expect([metrics.status, metrics.body.byteLength]).toEqual([200, 0]);
  expect(Number(metrics.headers['content-length'])).toBeGreaterThan(1_000);
});

it('HEAD shares the cache with GET, and is logged as HEAD without bytes', async () => {
  const query = '{ tokens { own: symbol } }';
  const [got, head] = [
    { query, method: 'GET' },
    { query, method: 'HEAD', headers: { 'x-request-id': 'a-head' } },
  ];
  expect((await server.countExecuted(head, got, head, got, head)).count).toBe(2);
  const { headers } = await server.ask(head);
  expect(headers['cache-status']).toBe('gateway; hit');
  const line = server.serverLog.find(({ requestId }) => requestId === 'a-head');
  expect(line).toMatchObject({ method: 'HEAD', status: 200, bytes: 0 });
});

describe.skipIf(!isQueryKnown)('a QUERY request', () => {
  const byQuery = ({ headers, ...parameters }: Asked): Asked => ({
    method: 'QUERY',
    path: '/graphql',
    body: JSON.stringify(parameters),
    ...(headers ? { headers } : {}),
  });
  const cachingOf = ({ headers }: Received) =>
    ['cache-control', 'etag', 'last-modified', 'vary'].map((name) =>
      String(headers[name]).replace(/max-age=\d+/, 'max-age'),
    );
  const variables = { k: 'base' };
  const persistedQuery = { version: 1, sha256Hash: 'a'.repeat(64) };

  it.each([
    ['an operation', { query: SYMBOLS }],
    [
      'variables, and a named operation',
      {
        query: 'query A($k: String!) { chain(chainKey: $k) { name } } query B { listings { name } }',
        operationName: 'A',
        variables,
      },
    ],
    ['an unknown field', { query: '{ nothing }' }],
    ['no query', {}],
    ['an unknown hash', { extensions: { persistedQuery } }],
    ['JSON that is no object', undefined],
  ])('a QUERY request with %s gets the bytes and the status of a POST', async (_what, parameters) => {
    const body = parameters === undefined ? '7' : JSON.stringify(parameters);
    for (let time = 0; time < 3; time++) {
      const posted = await server.ask({ method: 'POST', body });
      const queried = await server.ask({ method: 'QUERY', path: '/graphql', body });
      expect(queried.status).toBe(posted.status);
      expect(queried.body.equals(posted.body)).toBe(true);
      expect(queried.headers['content-type']).toBe(posted.headers['content-type']);
    }
  });

  it('a QUERY request has the caching headers of a GET, is stored by its body, and gets 304 if the client has the response', async () => {
    const query = '{ tokens { queried: symbol name } }';
    for (let time = 0; time < 3; time++) {
      for (const encoding of ['identity', 'gzip']) {
        const headers = { 'accept-encoding': encoding };
        const got = await server.ask({ query, method: 'GET', headers });
        const queried = await server.ask(byQuery({ query, headers }));
        expect(cachingOf(queried)).toEqual(cachingOf(got));
        expect(queried.body.equals(got.body)).toBe(true);
        expect(queried.headers['cache-status']).toBe(
          `gateway; ${time === 0 && encoding === 'identity' ? 'fwd=miss' : 'hit'}`,
        );
        const etag = queried.headers.etag ?? '';
        const again = await server.ask(byQuery({ query, headers: { ...headers, 'if-none-match': etag } }));
        expect([again.status, again.body.byteLength]).toEqual([304, 0]);
      }
    }
    expect((await server.ask(byQuery({ query: '{ nothing }' }))).headers['cache-control']).toBe('no-store');
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
  ])('a QUERY request with the Content-Type %s is answered with %i', async (type, status) => {
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
  });

  it('a QUERY request has the size limit of a POST, is not supported at other paths, and is logged', async () => {
    const large = byQuery({ query: `{ chains { name } } # ${'x'.repeat(1_100_000)}` });
    expect((await server.ask(large)).status).toBe(413);
    const asked = byQuery({ query: `query Names ${SYMBOLS}`, operationName: 'Names' });
    expect((await server.ask({ ...asked, path: '/live' })).status).toBe(405);
    expect((await server.ask({ ...asked, path: '/nothing' })).status).toBe(404);
    await server.ask(asked);
    await server.ask(byQuery({ query: '{ nothing }' }));
    const lines = [
      expect.objectContaining({ method: 'QUERY', status: 200, operation: 'Names' }),
      expect.objectContaining({ method: 'QUERY', codes: ['GRAPHQL_VALIDATION_FAILED'] }),
    ];
    await expect.poll(() => server.serverLog).toEqual(expect.arrayContaining(lines));
  });
});

it('the endpoint names QUERY as supported, also for pages of other origins', async () => {
  for (const method of ['GET', 'POST'])
    expect((await server.ask({ query: SYMBOLS, method })).headers['accept-query']).toBe('application/json');
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
  expect([refused.status, refused.headers.allow]).toEqual([405, 'GET, HEAD, POST, QUERY, OPTIONS']);
  expect((await server.ask({ method: 'GET', path: '/live' })).headers).not.toHaveProperty('accept-query');
});

const QUERY = '{ chain(chainKey: "base") { name } }';
const NOT_COMPARED = 'x-request-id x-cost content-length date age etag cache-control last-modified';
const ACCEPTED = [
  undefined,
  '*/*',
  'application/json',
  'application/json, application/graphql-response+json',
  'application/graphql-response+json',
  'application/graphql-response+json, application/json',
  'application/graphql-response+json,application/json;q=0.9',
  'application/graphql-response+json, application/graphql+json, application/json, text/event-stream, multipart/mixed',
  'application/graphql-response+json, application/json, multipart/mixed',
  // Unknown before the first response.
  'application/graphql-response+json;q=0.8, application/json;q=0.7',
];

function comparable(headers: Iterable<[string, string | string[] | undefined]>) {
  return Object.entries(without(NOT_COMPARED, headers))
    .map(([name, value]) => [name.toLowerCase(), String(value).replace(/(^|, )Accept, Accept-Encoding$/, '')])
    .filter(([, value]) => value !== '')
    .sort();
}

it.each([
  ['all origins', '*' as const],
  ['one origin', ['https://a.example']],
])(
  'a response without errors has the Content-Type of Yoga, and otherwise the headers of one with errors, for %s and with any Accept header',
  async (_name, corsOrigins) => {
    const { ask, fetch, executed } = await startServer({ config: { ...FRESH, corsOrigins } });
    let nth = 0;
    for (const method of ['GET', 'POST', ...(isQueryKnown ? ['QUERY'] : [])])
      for (const accept of ACCEPTED)
        for (const origin of [undefined, 'https://a.example', 'https://b.example']) {
          const headers = { ...(accept ? { accept } : {}), ...(origin ? { origin } : {}) };
          const partsOf = (query: string) =>
            method === 'GET'
              ? { path: pathOf({ query }) }
              : { path: '/graphql', body: JSON.stringify({ query }) };
          const { path, ...body } = partsOf(QUERY);
          const type = method === 'GET' ? {} : { 'content-type': 'application/json' };
          const byYoga = await fetch(path, { method, headers: { ...type, ...headers }, ...body });
          const failed = await ask({
            method,
            headers,
            ...partsOf('{ tokenSearch(first: 0) { totalCount } }'),
          });
          const before = executed();
          // Yoga responds to the first request of an unusual kind, the writer to the next ones.
          await ask({ method, headers, ...partsOf(`${QUERY} # ${nth++}`) });
          const written = await ask({ method, headers, ...partsOf(`${QUERY} # ${nth++}`) });
          expect(executed() - before).toBe(2);
          const what = `${method} ${accept} ${origin}`;
          expect(written.headers['content-type'], what).toBe(byYoga.headers.get('content-type'));
          expect(comparable(Object.entries(written.headers)), what).toEqual(
            comparable(Object.entries(failed.headers)),
          );
          expect(written.body.toString()).toBe(await byYoga.text());
        }
  },
);
