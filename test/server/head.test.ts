import { beforeAll, describe, expect, it } from 'vitest';
import { afterTests } from '../support/ends.js';
import { pathOf, startServer, type TestServer } from '../support/test-server.js';

const HTML = { accept: 'text/html' };
const NEWER = { accept: 'application/graphql-response+json' };
const TOKENS = pathOf({ query: '{ tokens { symbol name } }' });

let server: TestServer;
const atEnd = afterTests();
beforeAll(async () => {
  const config = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
  server = await startServer({ config, atEnd });
  await server.query('{ chains { name } tokens { name } }');
});

/** The headers without those that differ between equal requests. */
function comparable(headers: object): Record<string, unknown> {
  const names = ['date', 'x-request-id', 'age', 'cache-status', 'cache-control'];
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));
}

describe('HEAD', () => {
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
    ['the token list of no chain', 404, '/tokenlist.json?chainKey=nope', {}],
    ['/mcp', 405, '/mcp', {}],
    ['nothing', 404, '/nothing', {}],
  ])('has the status and the headers of GET, and no body, for %s', async (_name, status, path, headers) => {
    for (let time = 0; time < 3; time++) {
      const head = await server.ask({ method: 'HEAD', path, headers });
      const got = await server.ask({ method: 'GET', path, headers });
      expect([head.status, head.body.byteLength]).toEqual([status, 0]);
      expect(got.body.byteLength).toBeGreaterThan(0);
      expect(comparable(head.headers)).toEqual(comparable(got.headers));
      expect(got.headers['content-length']).toBe(String(got.body.byteLength));
    }
  });

  it('has the headers of GET for the files of a page, too', async () => {
    for (const [page, pattern] of [
      ['/', /\/picker\/[^"]+\.js/],
      ['/graphql', /\/graphql\/playground\/[^"]+start\.js/],
    ] as const) {
      const { body } = await server.ask({ method: 'GET', path: page, headers: HTML });
      const [path = ''] = pattern.exec(body.toString()) ?? [];
      const got = await server.ask({ method: 'GET', path });
      const head = await server.ask({ method: 'HEAD', path });
      expect([head.status, head.body.byteLength]).toEqual([200, 0]);
      expect(comparable(head.headers)).toEqual(comparable(got.headers));
    }
    const metrics = await server.ask({ method: 'HEAD', path: '/metrics' });
    expect([metrics.status, metrics.body.byteLength]).toEqual([200, 0]);
    expect(Number(metrics.headers['content-length'])).toBeGreaterThan(1_000);
  });

  it('is answered from the cache of GET, and with 304 if the client has the response', async () => {
    const query = '{ tokens { own: symbol } }';
    const [got, head] = [
      { query, method: 'GET' },
      { query, method: 'HEAD' },
    ];
    expect((await server.countExecuted(head, got, head, got, head)).count).toBe(2);
    const { headers } = await server.ask(head);
    expect(headers['cache-status']).toBe('gateway; hit');
    const again = await server.ask({ ...head, headers: { 'if-none-match': headers.etag ?? '' } });
    expect([again.status, again.headers.etag]).toEqual([304, headers.etag]);
    for (const path of ['/tokenlist.json', '/llms.txt']) {
      const { etag = '' } = (await server.ask({ method: 'HEAD', path })).headers;
      const known = await server.ask({ method: 'HEAD', path, headers: { 'if-none-match': etag } });
      expect(known.status).toBe(304);
    }
  });

  it('counts and is logged as HEAD, without bytes', async () => {
    await server.ask({ query: '{ tokens { name } }', method: 'HEAD', headers: { 'x-request-id': 'a-head' } });
    expect(server.serverLog.find(({ requestId }) => requestId === 'a-head')).toMatchObject({
      method: 'HEAD',
      status: 200,
      bytes: 0,
    });
  });
});
