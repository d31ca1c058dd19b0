/** Requests to /mcp are checked, limited, logged and counted like operations of the graph. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { stall } from '../support/fake-upstream.js';
import { createTestGateway, isAtLeast, type LogLine, sampleOf } from '../support/test-gateway.js';
import { type Received, shareServer, startServer, type TestServer } from '../support/test-server.js';
import { callOf, connect } from './support.js';

const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};
const post = ({ ask }: TestServer, body: string, headers: Record<string, string> = {}) =>
  ask({ path: '/mcp', body, headers });
const messageOf = ({ body }: Received) => {
  const { error } = JSON.parse(body.toString()) as { error: string | { message: string } };
  return typeof error === 'string' ? error : error.message;
};

const APP = 'https://app.example';
it.each([
  [
    '*',
    [undefined, 'http://localhost:6274', 'http://127.0.0.1'],
    ['http://localhost.evil.example', 'null', APP],
  ],
  [[APP], [undefined, APP], ['https://evil.example', 'http://localhost:6274']],
] as const)('CORS_ORIGINS=%s lets %j use /mcp, but not %j', async (corsOrigins, allowed, refused) => {
  const { fetch } = await createTestGateway({ config: { corsOrigins } });
  const askFrom = async (origin: string | undefined) => {
    const headers = { 'content-type': 'application/json', ...(origin ? { origin } : {}) };
    const response = await fetch('/mcp', { method: 'POST', headers, body: LIST });
    return { status: response.status, body: (await response.json()) as object };
  };
  for (const origin of allowed) expect([origin, (await askFrom(origin)).status]).toEqual([origin, 200]);
  for (const origin of refused) {
    const error = expect.stringContaining(`got "${origin}"`);
    expect(await askFrom(origin)).toEqual({ status: 403, body: { error } });
  }
});

const shared = shareServer(() => ({}));

it.each([
  ['', 400, 'got nothing'],
  ['{"jsonrpc":', 400, 'Expected a JSON-RPC message, such as'],
  ['5', 400, 'Expected one JSON-RPC message, which is an object, got 5'],
  ['null', 400, 'Expected one JSON-RPC message, which is an object, got null'],
  [`[${`${LIST},`.repeat(999)}${LIST}]`, 400, 'got an array of 1000'],
  ['[]', 400, 'got an array of 0'],
  [`{"a":${'['.repeat(100_000)}`, 400, 'Expected JSON of at most 64 levels'],
  [`{"a":${'{"a":'.repeat(70)}1${'}'.repeat(71)}`, 400, 'Expected JSON of at most 64 levels'],
  [
    JSON.stringify({ a: Object.fromEntries(Array(6_000).fill(1).entries()) }),
    400,
    'JSON of at most 5000 commas between values',
  ],
  ['{"hello":1}', 400, 'not a valid JSON-RPC message'],
  ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}', 200, 'expected string, received undefined'],
  ['{"jsonrpc":"2.0","id":1,"method":"resources/list"}', 200, 'Method not found'],
])('a request to /mcp with an unusual body is refused (%#)', async (body, status, message) => {
  const response = await post(shared, body);
  expect(response.status).toBe(status);
  expect(messageOf(response).replaceAll('\\"', '"')).toContain(message);
  expect(response.body.byteLength).toBeLessThan(1_000);
});

it('a request to /mcp never causes an internal error, whatever the message', async () => {
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('__proto__', 'constructor', '', 1e308),
  );
  const methods = 'tools/call tools/list initialize server/discover ping subscriptions/listen'.split(' ');
  const names = ['find_tokens', 'get_token', 'list_chains', 'listing_status', 'query'];
  const args = fc.dictionary(
    fc.constantFrom('query', 'variables', 'filter', 'first', 'chainKey', 'address', 'search'),
    junk,
  );
  const message = fc.record(
    {
      jsonrpc: fc.oneof({ weight: 9, arbitrary: fc.constant('2.0') }, junk),
      id: fc.oneof({ weight: 5, arbitrary: fc.nat() }, junk),
      method: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...methods) }, junk),
      params: fc.oneof(
        { weight: 5, arbitrary: fc.record({ name: fc.constantFrom(...names), arguments: args }) },
        fc.record({ name: junk, arguments: junk, _meta: fc.oneof(fc.constant(MODERN), junk) }),
        junk,
      ),
    },
    { requiredKeys: ['method'] },
  );
  const versions = fc.constantFrom('2026-07-28', '2025-11-25', '1');
  await fc.assert(
    fc.asyncProperty(message, fc.option(versions), async (sent, version) => {
      const headers = version === null ? {} : { 'mcp-protocol-version': version };
      const { status, body } = await post(shared, JSON.stringify(sent), headers);
      expect(status).toBeLessThan(500);
      if (body.byteLength === 0) return;
      const { error } = JSON.parse(body.toString()) as { error?: { message: string } };
      expect(error?.message ?? '').not.toMatch(/internal/i);
    }),
    { numRuns: 150 },
  );
  expect(shared.logged.filter((line) => isAtLeast(line, 'error'))).toEqual([]);
  expect(shared.serverLog.filter((line) => isAtLeast(line, 'warn'))).toEqual([]);
});

it('a request to /mcp must be a POST of JSON of limited size', async () => {
  const server = await startServer({ config: { maxBodyBytes: 2_000 } });
  for (const method of ['GET', 'DELETE', 'PUT']) {
    const response = await server.ask({ path: '/mcp', method });
    expect([response.status, response.headers.allow]).toEqual([405, 'POST, OPTIONS']);
  }
  const form = await post(server, LIST, { 'content-type': 'text/plain' });
  expect(form.status).toBe(415);
  expect(messageOf(form)).toBe('Expected the Content-Type application/json, got "text/plain".');
  expect((await post(server, callOf('find_tokens', { query: 'x'.repeat(2_000) }))).status).toBe(413);
  expect((await post(server, LIST)).status).toBe(200);
});

it('a request to /mcp gets JSON, with `no-store` and without a session, whatever it accepts', async () => {
  for (const accept of ['*/*', 'application/json', 'application/json, text/event-stream']) {
    const { status, headers } = await post(shared, LIST, { accept });
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    });
    expect(headers).not.toHaveProperty('mcp-session-id');
  }
});

it('a request to /mcp cannot open a subscription', async () => {
  const client = await connect(shared.address, '2026-07-28');
  await expect(client.listen({ toolsListChanged: true })).rejects.toThrow('Subscription limit reached');
});

it('/mcp is not found with MCP=false, and not listed among the paths', async () => {
  const { fetch, gateway } = await createTestGateway({ config: { mcp: false } });
  const response = await fetch('/mcp', { method: 'POST', body: LIST });
  expect(response.status).toBe(404);
  expect(await response.text()).not.toContain('/mcp');
  expect(gateway.isOperation({ method: 'POST', url: '/mcp' })).toBe(false);
  expect(await (await fetch('/llms.txt')).text()).not.toContain('/mcp');
});

it('a message counts as an operation in progress, and is refused as OVERLOADED beyond the limit, as operations are', async () => {
  const config = { upstreamRetries: 0, trustedProxies: ['127.0.0.1'] };
  const server = await startServer({ config, listings: { chains: stall, tokens: stall } });
  const send = (path: string, body: string, client = '192.0.2.1') =>
    server.ask({ path, body, headers: { 'x-forwarded-for': client } });
  const queryOf = (nth: number) => JSON.stringify({ query: `{ a${nth}: tokens { name } }` });
  const calls = [
    callOf('get_token', { chainKey: 'base', address: '0x1' }),
    callOf('query', { query: '{ tokens { symbol } }' }),
  ];
  const waiting = Array.from({ length: 125 }, (_, nth) =>
    nth % 2 ? send('/graphql', queryOf(nth)) : send('/mcp', calls[nth % 4 ? 1 : 0] ?? ''),
  );
  await expect.poll(() => sampleOf(server, 'gateway_requests_in_flight')).toBe(125);
  for (const { status, headers, body } of [await send('/mcp', LIST), await send('/graphql', queryOf(125))]) {
    expect(status).toBe(503);
    expect(headers).toMatchObject({
      'retry-after': '1',
      'cache-control': 'no-store',
      'access-control-allow-origin': '*',
      'access-control-expose-headers': expect.stringContaining('retry-after'),
      'x-request-id': expect.any(String),
    });
    const message = expect.stringContaining('The gateway is busy');
    expect(JSON.parse(body.toString())).toEqual({
      errors: [{ message, extensions: { code: 'OVERLOADED' } }],
    });
  }
  expect((await send('/mcp', LIST, '192.0.2.2')).status).toBe(200);
  await server.upstream.refuse();
  for (const { status } of await Promise.all(waiting)) expect(status).toBe(200);
});

it('the log and the metrics have the operation of a tool, who executed it and the codes of its errors, as for other requests', async () => {
  const server = await startServer({ hasListings: true });
  for (const [body, ...expected] of [
    [LIST, 200, 'none', undefined, undefined, undefined],
    [callOf('list_chains', { search: 'base' }), 200, 'miss', 'writer', 'ListChains', undefined],
    [callOf('find_tokens', { first: 0 }), 200, 'miss', 'yoga', 'FindTokens', ['BAD_USER_INPUT']],
    [callOf('find_tokens', { unknown: 0 }), 200, 'miss', undefined, 'FindTokens', ['BAD_USER_INPUT']],
    [callOf('query', { query: 'query Mine { __typename }' }), 200, 'miss', 'writer', 'Query', undefined],
    [callOf('query', { query: '{ nope }' }), 200, 'miss', 'yoga', 'Query', ['GRAPHQL_VALIDATION_FAILED']],
    [callOf('nothing'), 200, 'none', undefined, undefined, ['BAD_USER_INPUT']],
    ['[]', 400, 'refused', undefined, undefined, undefined],
  ] as const) {
    await post(server, body);
    const { path, status, cache, executor, operation, codes } = server.serverLog.findLast(
      ({ msg }) => msg === 'Answered',
    ) as LogLine;
    expect([path, status, cache, executor, operation, codes]).toEqual(['/mcp', ...expected]);
  }
  const { text } = await server.metrics.expose();
  expect(text).toContain('gateway_requests_total{cache="miss",outcome="ok"} 2');
  expect(text).toContain('gateway_requests_total{cache="miss",outcome="BAD_USER_INPUT"} 2');
  expect(text).toContain('gateway_requests_total{cache="refused",outcome="HTTP_4XX"} 1');
});
