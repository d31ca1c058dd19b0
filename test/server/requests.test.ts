/** Each request is counted once and logged once, whichever part of the gateway responds. Both take bounded space. */
import { expect, it } from 'vitest';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { callOf } from '../mcp/support.js';
import { stopClock } from '../support/clock.js';
import { json, late, stall, startFakeUpstream, status } from '../support/fake-upstream.js';
import { openRaw, postOf } from '../support/raw-http.js';
import { withBrokenRoutes } from '../support/test-gateway.js';
import { type Asked, FRESH, startServer, type TestServer } from '../support/test-server.js';

const NAMED: Asked = { query: 'query Named { chain(chainKey: "base") { name } }', operationName: 'Named' };
const linesOf = ({ serverLog }: TestServer) => serverLog.filter(({ msg }) => msg === 'Answered');

async function samples({ metrics }: TestServer, name: string): Promise<Record<string, number>> {
  const { text } = await metrics.expose();
  const found = text.matchAll(new RegExp(`^${name}(\\{.*\\})? (\\S+)$`, 'gm'));
  const values = [...found].map(([, labels = '', value]) => [labels, Number(value)] as const);
  return Object.fromEntries(values.filter(([, value]) => value !== 0));
}

it('the metrics count requests by cache result and outcome, whichever part has responded, as their log lines do', async () => {
  const server = await startServer({ config: FRESH });
  const { ask } = server;
  await ask(NAMED);
  await ask(NAMED);
  const hit = await ask(NAMED);
  const facts = { level: 'info', method: 'POST', path: '/graphql', status: 200, operation: 'Named' };
  const bytes = hit.body.byteLength;
  const common = { ...facts, client: '127.0.0.1', bytes, ms: expect.any(Number) };
  await expect
    .poll(() => linesOf(server))
    .toMatchObject([
      { ...common, cache: 'miss', executor: 'writer' },
      { ...common, cache: 'miss', executor: 'writer' },
      { ...common, cache: 'hit' },
    ]);
  expect(linesOf(server)[0]).not.toHaveProperty('codes');
  await ask({ query: '{ __typename listings { name } }' });
  await ask({ query: '{ no }' });
  await ask({ query: '{' });
  await ask({ body: 'x'.repeat(2_000_000) });
  await ask({ path: '/nowhere', method: 'GET' });
  await ask({ path: '/live', method: 'GET' });
  // Logged as debug only: probes request it all the time.
  expect(linesOf(server).at(-1)).toMatchObject({ path: '/live', level: 'debug', status: 200 });
  expect(await samples(server, 'gateway_requests_total')).toEqual({
    '{cache="hit",outcome="ok"}': 1,
    '{cache="miss",outcome="ok"}': 3,
    '{cache="refused",outcome="GRAPHQL_VALIDATION_FAILED"}': 1,
    '{cache="refused",outcome="GRAPHQL_PARSE_FAILED"}': 1,
    '{cache="refused",outcome="LIMIT_EXCEEDED"}': 1,
    '{cache="none",outcome="HTTP_4XX"}': 1,
    '{cache="none",outcome="ok"}': 1,
  });
  expect(await samples(server, 'gateway_response_bytes_total')).toMatchObject({ '{cache="hit"}': bytes });
  expect(await samples(server, 'gateway_request_duration_seconds_count')).toEqual({
    '{cache="hit"}': 1,
    '{cache="miss"}': 3,
    '{cache="refused"}': 3,
    '{cache="none"}': 2,
  });
  const buckets = await samples(server, 'gateway_request_duration_seconds_bucket');
  expect(buckets['{le="+Inf",cache="miss"}']).toBe(3);
  expect(buckets['{le="10",cache="miss"}']).toBe(3);
  expect(await samples(server, 'gateway_response_cache_entries')).toEqual({ '': 1 });
  expect((await samples(server, 'gateway_response_cache_bytes'))['']).toBeGreaterThan(500);
});

it.each([
  ['a trusted', ['127.0.0.1'], 2],
  ['an untrusted', [], 1],
  ['another', ['10.0.0.0/8'], 1],
] as const)(
  'the metrics and the log count operations that RATE_LIMIT refuses, behind %s proxy',
  async (_name, trustedProxies, clients) => {
    const clientLimit = { rate: { perSecond: 1, burst: 1 }, take: async () => 1_000 };
    const server = await startServer({ config: { ...FRESH, trustedProxies }, clientLimit });
    for (const client of ['192.0.2.7', '192.0.2.7', '192.0.2.8']) {
      const { body } = await server.ask({ ...NAMED, headers: { 'x-forwarded-for': client } });
      const refused = { status: 429, cache: 'refused', codes: ['RATE_LIMITED'], bytes: body.byteLength };
      expect(linesOf(server)[0]).toMatchObject(refused);
    }
    const client = clients > 1 ? '192.0.2.7' : '127.0.0.1';
    expect(linesOf(server)[0]?.client).toBe(client);
    const warnings = server.serverLog.filter(({ msg }) => msg.includes('set TRUSTED_PROXIES'));
    expect(warnings).toMatchObject(clients > 1 ? [] : [{ client, level: 'warn' }]);
    expect(await samples(server, 'gateway_requests_total')).toEqual({
      '{cache="refused",outcome="RATE_LIMITED",scope="client"}': 3,
    });
    expect(await samples(server, 'gateway_rate_limited_clients')).toEqual({ '': clients });
  },
);

it('the metrics separate overloads that a client has caused itself from those of the process and the upstream', async () => {
  const tokens = Array.from({ length: 60 }, (_, index) => tokenRow('a', `0x${index + 100}`));
  const upstream = await startFakeUpstream({ chains: [chainRow('a')], tokens });
  const config = { ...FRESH, trustedProxies: ['127.0.0.1'], upstreamRetries: 0 };
  const serve = async (upstreamRequestsPerSecond: number) => {
    const limited = { ...config, upstreamRequestsPerSecond };
    const server = await startServer({ hasListings: true, upstream, config: limited });
    const askAs = (client: string, index: number) => {
      const query = `{ tokens(srcChainKey: "a", srcToken: "0x${index + 100}") { symbol } }`;
      return server.ask({ query, headers: { 'x-forwarded-for': client } });
    };
    return { server, askAs };
  };
  const RATE = '{cache="miss",outcome="UPSTREAM_RATE_LIMITED",scope=';
  const STATUS = '{cache="miss",outcome="UPSTREAM_STATUS",scope=';

  // One request a second is sent, and twenty may wait.
  const one = await serve(1);
  void Promise.allSettled(tokens.slice(30).map((_, index) => one.askAs('192.0.2.1', index)));
  const count = async (server: TestServer, name: string) =>
    (await samples(server, 'gateway_requests_total'))[name] ?? 0;
  await expect.poll(() => count(one.server, `${RATE}"client"}`)).toBeGreaterThan(5);
  expect(await count(one.server, `${RATE}"process"}`)).toBe(0);
  const many = await serve(1);
  void Promise.allSettled(tokens.slice(30).map((_, index) => many.askAs(`192.0.2.${index}`, index)));
  await expect.poll(() => count(many.server, `${RATE}"process"}`)).toBeGreaterThan(5);
  expect(await count(many.server, `${RATE}"client"}`)).toBe(0);

  const fast = await serve(1_000);
  stopClock();
  upstream.plan('tokens', status(500));
  for (let times = 0; times < 20; times++) await fast.askAs('192.0.2.1', 0);
  const body = callOf('get_destinations', { srcChainKey: 'a', srcToken: '0x100' });
  await fast.server.ask({ path: '/mcp', body });
  // After a failure the gateway sends no request for a while. An error during this time counts as caused
  // by the client that asks again.
  expect(await count(fast.server, `${STATUS}"process"}`)).toBe(1);
  expect(await count(fast.server, `${STATUS}"client"}`)).toBe(20);
});

it('the metrics show requests in flight, and aborted ones', async () => {
  const server = await startServer({ listings: { tokens: stall }, config: FRESH });
  const controller = new AbortController();
  const asked = fetch(`${server.address}/graphql?query={tokens{name}}`, controller).catch(() => {});
  await expect.poll(() => samples(server, 'gateway_requests_in_flight')).toEqual({ '': 1 });
  controller.abort();
  await asked;
  await server.upstream.close();
  await expect.poll(() => samples(server, 'gateway_requests_in_flight')).toEqual({});
  expect(await samples(server, 'gateway_requests_total')).toEqual({ '{cache="miss",outcome="ABORTED"}': 1 });
});

it.each([
  ['usual ones', postOf('{ tokens { name } }')],
  ['ones with an expectation', 'GET /live HTTP/1.1\r\nHost: x\r\nExpect: tea\r\n\r\n'],
])('the metrics count a connection as cut for pipelining of 101 requests: %s', async (_kind, further) => {
  const server = await startServer({ listings: { tokens: stall }, config: FRESH });
  const connection = await openRaw(server.address);
  await connection.send(postOf('{ tokens { name } }') + further.repeat(101));
  await expect.poll(connection.isClosed).toBe(true);
  expect(connection.received()).toBe('');
  await server.upstream.close();
  expect(await samples(server, 'gateway_http_connections_cut_total')).toEqual({ '{reason="pipelining"}': 1 });
});

it('the metrics get no new series and no text from a client, whatever it sends', async () => {
  const server = await startServer({ config: FRESH });
  const ofListings = async () => {
    const { text } = await server.metrics.expose();
    const names = text.split('\n').map((line) => line.slice(0, line.lastIndexOf(' ')));
    return names.filter((name) => /^gateway_(upstream|listing|redis)_/.test(name));
  };
  await server.ask({ query: '{ chains { name } tokens { name } routes: tokens(srcToken: "0x0") { name } }' });
  const before = await ofListings();
  const odd = ['a', 'OVERLOADED"', '\\', '{', 'ü', 'x'.repeat(500), '__proto__'];
  for (const name of odd) {
    await server.ask({ query: `query ${name} { ${name} }`, operationName: name });
    await server.ask({ body: name });
    await server.ask({ path: `/${encodeURIComponent(name)}`, method: 'PUT', body: name });
    await server.ask({ ...NAMED, headers: { accept: name.replace('ü', ''), 'x-request-id': 'mine' } });
    const query = `query ($odd: String!) { chain(chainKey: $odd) { name } token(chainKey: $odd, address: $odd) { name }
        tokens(srcChainKey: $odd, srcToken: $odd) { name } }`;
    await server.ask({ query, variables: { odd: name } });
  }
  const { text } = await server.metrics.expose();
  const series = text.split('\n').filter((line) => line.startsWith('gateway_request'));
  const LABEL = 'le="[\\d.+Inf]+"|cache="[a-z]+"|outcome="(ok|[A-Z_\\d]+)"|scope="[a-z]+"';
  for (const line of series) expect(line).toMatch(new RegExp(`^\\w+(\\{((${LABEL}),?)+\\})? `));
  expect(series.length).toBeLessThan(4 * 40 + 4 * 20);
  expect(await ofListings()).toEqual(before);
});

it('the log line of a request says for how many tokens routes were asked for that were not cached', async () => {
  const server = await startServer({ config: FRESH });
  const routesFrom = (token: string) => `tokens(srcChainKey: "ethereum", srcToken: "${token}") { name }`;
  const [usdc, usdt] = [
    '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
    '0xdAC17F958D2ee523a2206206994597C13D831ec7',
  ];
  for (const query of [`{ ${routesFrom(usdc)} }`, `{ a: ${routesFrom(usdc)} b: ${routesFrom(usdt)} }`])
    for (let time = 0; time < 2; time++) await server.ask({ query });
  const asked = () => linesOf(server).map(({ executor, askedRoutes }) => [executor, askedRoutes]);
  const [byYoga, byWriter] = [
    ['yoga', 1],
    ['writer', undefined],
  ];
  await expect.poll(asked).toEqual([byYoga, byWriter, byYoga, byWriter]);
});

it('the log line of a request lists the codes of a failed query, and is a warning for an internal error, which only the log tells', async () => {
  const server = await startServer({ config: FRESH, decorate: withBrokenRoutes });
  await server.ask({ query: 'query Bad { no }', operationName: 'Bad' });
  const headers = { 'x-request-id': 'find-me' };
  const { body } = await server.ask({ query: '{ tokens(srcToken: "0x1") { address } }', headers });
  expect(body.toString()).not.toContain('secret-bug');
  const internal = { requestId: 'find-me', err: { message: 'secret-bug' } };
  expect(server.logged.find(({ msg }) => msg.includes('Internal error'))).toMatchObject(internal);
  await server.ask({ ...NAMED, headers: { accept: 'image/png' } });
  const lines = [
    { level: 'info', operation: 'Bad', cache: 'refused', codes: ['GRAPHQL_VALIDATION_FAILED'] },
    { level: 'warn', status: 200, cache: 'miss', executor: 'yoga', codes: ['INTERNAL_SERVER_ERROR'] },
    // Refused after its execution.
    { status: 406, cache: 'miss', executor: 'yoga', codes: ['BAD_REQUEST'] },
  ];
  await expect.poll(() => linesOf(server)).toMatchObject(lines);
});

it.each([
  ['all', 4],
  ['errors', 2],
  ['none', 0],
] as const)('LOG_REQUESTS=%s logs %i of 4 requests, 2 of which fail', async (logRequests, count) => {
  const server = await startServer({ config: { ...FRESH, logRequests } });
  const asked: Asked[] = [NAMED, NAMED, { query: '{ no }' }, { path: '/nowhere', method: 'GET' }];
  for (const each of asked) await server.ask(each);
  // The second refusal of a client is logged only in the next second.
  await expect.poll(() => linesOf(server)).toHaveLength(count);
});

it('LOG_REQUESTS=errors also logs a request that takes a second', async () => {
  const upstream = await startFakeUpstream();
  upstream.plan('chains', late(1_000, json({ chains: [chainRow('base')] })));
  const server = await startServer({ upstream, config: { ...FRESH, logRequests: 'errors' } });
  for (let times = 0; times < 2; times++) await server.ask(NAMED);
  await expect.poll(() => linesOf(server)).toMatchObject([{ operation: 'Named', status: 200 }]);
});

it('clients cannot fill the log with refused requests: each code or status has one line a second, with their number', async () => {
  const config = { ...FRESH, logRequests: 'errors', trustedProxies: ['loopback'] } as const;
  const server = await startServer({ config });
  const kinds: Asked[] = [{ query: '{ no }' }, { query: '{' }, { path: '/nowhere', method: 'GET' }];
  const startedAt = performance.now();
  for (let nth = 0; nth < 100; nth++)
    for (const each of kinds)
      await server.ask({
        ...each,
        headers: { 'x-forwarded-for': `192.0.2.${nth}`, 'x-request-id': `${nth}` },
      });
  // The first line of each kind is written at once.
  expect(linesOf(server).slice(0, 3)).toMatchObject(
    kinds.map(() => ({ requestId: '0', client: '192.0.2.0' })),
  );
  expect(linesOf(server)[0]).not.toHaveProperty('count');
  const counted = () => linesOf(server).reduce((sum, { count = 1 }) => sum + Number(count), 0);
  await expect.poll(counted).toBe(300);
  const seconds = (performance.now() - startedAt) / 1_000;
  expect(linesOf(server).length).toBeLessThanOrEqual(3 * (1 + seconds));
  const last = { requestId: '99', client: '192.0.2.99' };
  expect(linesOf(server).slice(-3)).toMatchObject([last, last, last]);
});

it('the log line of a request has about a kilobyte at most, whatever the client sends, and is not written for input that is not a request', async () => {
  const server = await startServer({ config: FRESH });
  const long = 'x'.repeat(8_000);
  const odd = 'x\n\u001b[31m\u2028'.repeat(1_000);
  const asked: readonly Asked[] = [
    { query: `query ${long} { no ${long} }`, operationName: long },
    { query: `query { tokenChanges(since: ${JSON.stringify(odd)}) { cursor } }` },
    { path: `/${long}`, method: 'GET' },
    { path: `/tokenlist.json?chainKey=${encodeURIComponent(odd.slice(0, 1_000))}`, method: 'GET' },
    { path: '/mcp', body: callOf(odd) },
    { path: '/mcp', body: callOf('find_tokens', { [odd]: 1 }) },
    { path: '/mcp', body: JSON.stringify({ jsonrpc: '2.0', id: odd, method: odd }) },
    { path: '/mcp', body: `{${odd}` },
  ];
  // Each has a line: at most two of these refusals have the same code or status.
  for (const each of asked) await server.ask(each);
  const connection = await openRaw(server.address);
  await connection.send('NO HTTP\r\n\r\n');
  await expect.poll(connection.received).toContain('400');
  await expect.poll(() => linesOf(server)).toHaveLength(asked.length);
  for (const line of [...server.logged, ...server.serverLog])
    expect(JSON.stringify(line).length).toBeLessThan(1_024);
  expect((await samples(server, 'gateway_requests_total'))['{cache="refused",outcome="HTTP_4XX"}']).toBe(2);
});
