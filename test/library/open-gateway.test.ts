/** A gateway in another server serves below its base path, touches nothing of its host, and reads only its options. */
import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { json as jsonOf } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { type OpenGatewayOptions, openGateway } from '../../src/library/index.js';
import { callOf } from '../mcp/support.js';
import { temporaryFile } from '../support/ends.js';
import { json, late, startFakeUpstream } from '../support/fake-upstream.js';
import { AT, open, post, startAround } from '../support/open-gateway.js';

const TOKENS = '{ tokens { symbol name address chain { name } } }';
const BOTH = '{ tokens { symbol } chains { name } }';
const get = (path: string, headers: Record<string, string> = {}) =>
  new Request(`http://gateway${path}`, { headers });

it('fetch serves everything below its base path, and nothing elsewhere', async () => {
  const { fetch, lines } = await open();
  const response = await fetch(post(TOKENS));
  expect(response).toBeInstanceOf(Response);
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({ data: { tokens: expect.any(Array) } });
  expect((await fetch(new Request('http://gateway/graphql', { method: 'POST' }))).status).toBe(404);

  const call = JSON.parse(callOf('list_chains', { search: 'base' })) as object;
  const called = await fetch(new Request('http://gateway/api/mcp', post(call)));
  expect(await called.json()).toHaveProperty('result.structuredContent.chains.0.chainKey', 'base');
  expect(lines.some((line) => line.includes('"operation":"ListChains"'))).toBe(true);
  const llms = await (await fetch(get('/api/llms.txt'))).text();
  expect(llms).toContain('`/api/graphql` by POST');
  expect(llms).toContain('Demo: prices, routes and some flags are made up');
  const page = await (await fetch(get('/api/graphql', { accept: 'text/html' }))).text();
  const [script = ''] = /\/api\/graphql\/playground\/[^"]+start\.js/.exec(page) ?? [];
  expect((await fetch(get(script))).status).toBe(200);

  const off = await open({ mcp: false });
  expect((await off.fetch(new Request('http://gateway/api/mcp', post({})))).status).toBe(404);
});

it('fetch rejects anything but an unread Request, and says what was expected', async () => {
  const { fetch } = await open();
  const [used, locked] = [1, 2].map(() => new Request('http://gateway/api/graphql', post({})));
  await used?.text();
  locked?.body?.getReader();
  const unread =
    'Expected a Request whose body was not read before. Read the body of request.clone() instead, before you pass the request on.';
  for (const [given, message] of [
    ['http://a/graphql', 'Expected a Request, got http://a/graphql. Write new Request(url).'],
    [undefined, 'Expected a Request, got undefined. Write new Request(url).'],
    [used, unread],
    [locked, unread],
  ])
    await expect(fetch(given as never)).rejects.toThrow(new TypeError(message as string));
});

it.each<[string, number | undefined, RequestInit]>([
  ['before it is sent', undefined, {}],
  ['while its body does not end', 50, { body: new ReadableStream(), duplex: 'half' } as RequestInit],
  ['while it waits for the upstream', 100, { body: JSON.stringify({ query: TOKENS }) }],
])('fetch rejects with the reason of a request that is aborted %s', async (_when, afterMs, init) => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  upstream.plan('tokens', late(60_000, json({ tokens: [] })));
  const { fetch } = await open({}, upstream);
  const controller = new AbortController();
  const reason = new Error('Gone');
  if (afterMs === undefined) controller.abort(reason);
  else setTimeout(() => controller.abort(reason), afterMs);
  const headers = { 'content-type': 'application/json' };
  const request = new Request(AT, { method: 'POST', headers, ...init, signal: controller.signal });
  await expect(fetch(request)).rejects.toBe(reason);
});

it.each<[string, number, number, Record<string, string>, object]>([
  ['to its end, so that the connection survives', 100, 0, {}, { isCancelled: false, sent: 100 }],
  ['for two seconds', Number.POSITIVE_INFINITY, 20, { 'content-length': '10' }, { isCancelled: true }],
  ['for 16 MiB', Number.POSITIVE_INFINITY, 0, { 'content-length': 'x' }, { isCancelled: true }],
])('fetch reads a body that is too large %s', async (_name, chunks, delayMs, headers, expected) => {
  const { fetch } = await open({}, undefined, { maxBodyBytes: 1_000 });
  const state = { sent: 0, isCancelled: false };
  const large = new ReadableStream({
    async pull(controller) {
      // On a busy machine a hundred of the shortest sleeps take more than two seconds.
      if (delayMs > 0) await sleep(delayMs);
      if (state.sent === chunks) controller.close();
      else controller.enqueue(new Uint8Array(10_000));
      if (state.sent < chunks) state.sent++;
    },
    cancel() {
      state.isCancelled = true;
    },
  });
  const all = { 'content-type': 'application/json', ...headers };
  const send = (body: BodyInit) =>
    fetch(new Request(AT, { method: 'POST', headers: all, body, duplex: 'half' } as RequestInit));
  const refused = await send(large);
  expect([refused.status, state]).toEqual([413, expect.objectContaining(expected)]);
  expect(state.sent * 10_000).toBeLessThan(2 ** 24 + 30_000);
  expect(refused.headers.get('x-request-id')).toBeTruthy();
  expect(refused.headers.get('access-control-allow-origin')).toBe('*');
  const message = 'Expected a request body of at most 1000 bytes, got more.';
  expect(await refused.json()).toEqual({ errors: [{ message, extensions: { code: 'LIMIT_EXCEEDED' } }] });
  const body = JSON.stringify({ query: '{ __typename }' });
  for (const text of [body, body.padEnd(1_000)])
    expect(await (await send(new Blob([text]).stream())).json()).toEqual({ data: { __typename: 'Query' } });
});

it('the handler answers operations and tools in a server of HTTP/2', async () => {
  const { handler } = await open();
  const server = createServer(handler as never);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  onTestFinished(() => {
    client.close();
    server.close();
  });
  const ask = (path: string, message: object) => {
    const head = { 'content-type': 'application/json', accept: 'application/json' };
    return jsonOf(client.request({ ':method': 'POST', ':path': path, ...head }).end(JSON.stringify(message)));
  };
  const query = '{ chain(chainKey: "base") { name } }';
  expect(await ask('/api/graphql', { query })).toEqual({ data: { chain: { name: 'Base' } } });
  expect(await ask('/api/graphql', { query: '{ nothing }' })).toHaveProperty('errors.0.message');
  const listed = await ask('/api/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' });
  expect(listed).toHaveProperty('result.tools.0.name', 'find_tokens');
});

it('a response has the whole Vary, even if the server around the gateway has set headers before', async () => {
  const origin = 'https://app.example';
  const { handler } = await open({ corsOrigins: [origin] });
  const url = await startAround((request, response) => {
    response.setHeader('x-powered-by', 'Express');
    handler(request, response);
  });
  for (const [path, vary] of [
    ['/graphql?query={chains{name}}', 'Origin, Accept, Accept-Encoding'],
    ['/llms.txt', 'Origin, Accept-Encoding'],
  ]) {
    const { headers } = await fetch(`${url}/api${path}`, { headers: { origin } });
    expect(headers.get('vary')).toBe(vary);
  }
});

it('an open gateway reads no environment, opens no port and listens to no signal', async () => {
  const listeners = () => process.eventNames().map((name) => [name, process.listenerCount(name)]);
  const ports = () => process.getActiveResourcesInfo().filter((name) => /Server/.test(name)).length;
  const [before, portsBefore] = [listeners(), ports()];
  process.env.MAX_COST = 'x';
  process.env.UPSTREAM_URL = 'nonsense';
  onTestFinished(() => {
    delete process.env.MAX_COST;
    delete process.env.UPSTREAM_URL;
  });
  const { fetch } = await open();
  expect(await (await fetch(post(TOKENS))).json()).not.toHaveProperty('errors');
  expect(listeners()).toEqual(before);
  // There can be fewer ports, if another test has just closed one.
  expect(ports()).toBeLessThanOrEqual(portsBefore);
});

it('an open gateway warns that it serves demo data, and hides secrets in its log', async () => {
  expect((await open()).lines.join('')).toContain(
    '"Demo: prices, routes and some flags are made up, because of demo: true"',
  );
  const upstream = await startFakeUpstream({}, onTestFinished);
  const { fetch, lines } = await open({ upstreamHeaders: { 'x-key': 'secret-key' } }, upstream);
  await fetch(post(TOKENS, { headers: { 'x-request-id': 'secret-key' } }));
  expect(upstream.seen[0]?.headers['x-key']).toBe('secret-key');
  expect(lines.join('')).toContain('"Answered"');
  expect(lines.join('')).not.toMatch(/secret-key|made up/);
});

it('an open gateway logs and counts each request once, and says whether it was a hit, as the process does', async () => {
  const { fetch, lines, metrics } = await open({ servedPaths: ['/metrics'], tokensFreshMs: 600_000 });
  for (const query of [TOKENS, TOKENS, TOKENS, '{ no }']) await fetch(post(query), { client: 'me' });
  const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const answered = logged.filter(({ msg }) => msg === 'Answered');
  const { bytes } = answered[0] ?? {};
  expect(bytes).toBeGreaterThan(1_000);
  const common = { path: '/api/graphql', status: 200, client: 'me', bytes };
  expect(answered).toMatchObject([
    { ...common, cache: 'miss', executor: 'writer' },
    { ...common, cache: 'miss', executor: 'writer' },
    { ...common, cache: 'hit' },
    { cache: 'refused', codes: ['GRAPHQL_VALIDATION_FAILED'] },
  ]);
  const served = await (await fetch(get('/api/metrics'))).text();
  for (const text of [await metrics(), served]) {
    expect(text).toContain('gateway_requests_total{cache="hit",outcome="ok"} 1');
    expect(text).toContain('gateway_response_cache_entries 1');
    expect(text).toMatch(/gateway_build_info\{version="\d[^"]*",revision="([0-9a-f]{40}(-dirty)?)"/);
  }
});

it('an open gateway reports whether it is ready, and sends no request to the upstream after it was closed', async () => {
  const upstream = await startFakeUpstream({}, onTestFinished);
  const options = { tokensFreshMs: 20, upstreamRequestsPerSecond: 1000 };
  const { fetch, ready, close } = await open(options, upstream);
  expect(ready()).toEqual({ ready: false, reason: expect.stringContaining('is being fetched') });
  await fetch(post(BOTH));
  expect(ready()).toEqual({ ready: true });
  await close();
  expect(ready()).toEqual({ ready: false, reason: 'The gateway is stopping.' });
  const count = upstream.count();
  await sleep(200);
  expect(upstream.count()).toBe(count);
});

it('an open gateway with compression: false sends every path uncompressed', async () => {
  const { fetch } = await open({ compression: false });
  const headers = { 'accept-encoding': 'gzip, br', accept: 'text/html' };
  // The token list is the last part to be ready.
  await expect.poll(async () => (await fetch(get('/api/tokenlist.json'))).status).toBe(200);
  for (const path of ['/graphql?query={tokens{id,name}}', '/graphql', '/', '/llms.txt', '/tokenlist.json'])
    for (let times = 0; times < 3; times++) {
      const { status, headers: got } = await fetch(get(`/api${path}`, headers));
      expect([path, status, got.get('content-encoding')]).toEqual([path, 200, null]);
      expect(got.get('vary')).toContain('Accept-Encoding');
    }
  expect((await fetch(post('{ no }', { headers }))).headers.get('content-encoding')).toBeNull();
});

const DOCUMENT = '{ chains { chainKey } }';
const TEXTS = { chains: DOCUMENT, broken: '{' };

const operations = Object.entries(TEXTS).map(([id, body]) => ({ id, body, name: id, type: 'query' }));

it.each<[string, () => NonNullable<OpenGatewayOptions['trustedDocuments']>]>([
  ['the path of a file', () => temporaryFile(JSON.stringify(TEXTS))],
  ['its content', () => TEXTS],
  ["Apollo's manifest", () => ({ format: 'apollo-persisted-query-manifest', version: 1, operations })],
])('trustedDocuments as %s are executed by id or text; invalid ones are logged', async (_form, documents) => {
  const { fetch, lines } = await open({ trustedDocuments: documents(), trustedDocumentsOnly: true });
  for (const asked of [{ documentId: 'chains' }, DOCUMENT])
    expect(await (await fetch(post(asked))).json()).toHaveProperty('data.chains.0');
  const refused = [await fetch(post({ documentId: 'nobody' })), await fetch(post(BOTH))];
  expect(refused.map(({ status }) => status)).toEqual([400, 403]);
  await expect.poll(() => lines.join('')).toContain('"invalid":{"broken":"Syntax Error');
});

it.each<[unknown, RegExp]>([
  [null, /^Expected an object of options, such as { demo: true }, got null\.$/],
  ['demo', /^Expected an object of options, such as { demo: true }, got demo\.$/],
  [{ upstreamULR: 'https://example.org/v1' }, /upstreamULR: there is no such option/],
  [{ port: 4000 }, /port: there is no such option/],
  [{}, /upstreamUrl: expected the base address of an upstream, got none \(demo=true/],
  [{ upstreamUrl: '' }, /upstreamUrl: expected another value than an empty one/],
  [{ upstreamUrl: null }, /upstreamUrl: expected an address/],
  [{ maxCost: 0 }, /maxCost: expected a whole number from 1 to/],
  [{ corsOrigins: [] }, /corsOrigins: expected another value/],
  [{ demo: true, logTo: () => {} }, /logTo: expected an object with a method `write`$/],
  [{ rateLimit: '3/2' }, /rateLimit: expected operations a second, .*, got "3\/2"/],
  [{ rateLimit: { perSecond: 3 } }, /rateLimit: .*, got "{\\"perSecond\\":3}"/],
  [{ trustedProxies: ['10.0.0.0/8', 'x'] }, /trustedProxies: .*, got "10.0.0.0\/8,x"/],
  [{ trustedDocuments: {} }, /trustedDocuments: expected .*, got a value without documents/],
  [{ trustedDocuments: new Map([['a', DOCUMENT]]) }, /trustedDocuments: .* a value without documents/],
  [{ trustedDocuments: { a: 1 } }, /this error: a: Invalid type: Expected string but received 1/],
  [{ trustedDocumentsOnly: true }, /trustedDocuments: expected .* for trustedDocumentsOnly=true/],
])('the options %j are refused', async (options, message) => {
  await expect(openGateway(options as OpenGatewayOptions)).rejects.toThrow(message);
});

it.each(['', '/', '/tokens', '/tokens/'])('the base path can be "%s"', async (basePath) => {
  const { fetch } = await open({ basePath });
  expect((await fetch(get(`${basePath.replace(/\/$/, '')}/live`))).status).toBe(200);
});
