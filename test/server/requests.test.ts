import { describe, expect, it } from 'vitest';
import { stall, startFakeUpstream, status } from '../support/fake-upstream.js';
import { openRaw } from '../support/raw-http.js';
import { type Asked, startServer, type TestServer } from '../support/test-server.js';

const NAMED: Asked = {
  query: 'query Named { chain(chainKey: "base") { name } }',
  operationName: 'Named',
};
/** Nothing turns stale during a test. */
const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };

const linesOf = ({ serverLog }: TestServer) => serverLog.filter(({ msg }) => msg === 'Answered');

/** The samples of these names whose value is not 0, by name and labels. */
async function samples({ metrics }: TestServer, name: string): Promise<Record<string, number>> {
  const { text } = await metrics.expose();
  const lines = text.split('\n').filter((line) => new RegExp(`^${name}[{ ]`).test(line));
  return Object.fromEntries(
    lines
      .map(
        (line) => [line.slice(name.length, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))] as const,
      )
      .filter(([, value]) => value !== 0),
  );
}

describe('the metrics of requests', () => {
  it('count them by how they were answered and by outcome, wherever the answer was made', async () => {
    const server = await startServer({ config: LONG });
    const { ask } = server;
    await ask(NAMED);
    await ask(NAMED);
    const hit = await ask(NAMED);
    await ask({ query: '{ __typename listings { name } }' });
    await ask({ query: '{ no }' });
    await ask({ query: '{' });
    await ask({ body: 'x'.repeat(2_000_000) });
    await ask({ path: '/nowhere', method: 'GET' });
    await ask({ path: '/live', method: 'GET' });
    expect(await samples(server, 'gateway_requests_total')).toEqual({
      '{cache="hit",outcome="ok"}': 1,
      '{cache="miss",outcome="ok"}': 3,
      '{cache="refused",outcome="GRAPHQL_VALIDATION_FAILED"}': 1,
      '{cache="refused",outcome="GRAPHQL_PARSE_FAILED"}': 1,
      '{cache="refused",outcome="LIMIT_EXCEEDED"}': 1,
      '{cache="none",outcome="HTTP_4XX"}': 1,
      '{cache="none",outcome="ok"}': 1,
    });
    expect(await samples(server, 'gateway_response_bytes_total')).toMatchObject({
      '{cache="hit"}': hit.body.byteLength,
    });
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
    expect(await samples(server, 'gateway_build_info')).toEqual({ '{version="unknown"}': 1 });
  });

  it('count and log an operation of a client that has had too many', async () => {
    const clientLimit = { rate: { perSecond: 1, burst: 1 }, take: async () => 1_000, close() {} };
    const config = { ...LONG, trustedProxies: ['127.0.0.1'] };
    const server = await startServer({ config, clientLimit });
    const refused = await server.ask({ ...NAMED, headers: { 'x-forwarded-for': '192.0.2.7' } });
    expect(await samples(server, 'gateway_requests_total')).toEqual({
      '{cache="refused",outcome="RATE_LIMITED"}': 1,
    });
    const bytes = refused.body.byteLength;
    expect(linesOf(server)).toMatchObject([
      { status: 429, cache: 'refused', codes: ['RATE_LIMITED'], client: '192.0.2.7', bytes },
    ]);
    await server.ask({ ...NAMED, headers: { 'x-forwarded-for': '192.0.2.7' } });
    await server.ask({ ...NAMED, headers: { 'x-forwarded-for': '192.0.2.8' } });
    expect(await samples(server, 'gateway_rate_limited_operations_total')).toEqual({ '{client="known"}': 3 });
    expect(await samples(server, 'gateway_rate_limited_clients')).toEqual({ '': 2 });
  });

  it('tell clients of a proxy that is not trusted from others that have had too many', async () => {
    const clientLimit = { rate: { perSecond: 1, burst: 1 }, take: async () => 1_000, close() {} };
    const server = await startServer({ config: LONG, clientLimit });
    for (const address of ['192.0.2.7', '192.0.2.8'])
      await server.ask({ ...NAMED, headers: { 'x-forwarded-for': address } });
    await server.ask(NAMED);
    const { text } = await server.metrics.expose();
    expect(text.match(/^gateway_rate_limited.*/gm)).toEqual([
      'gateway_rate_limited_operations_total{client="known"} 1',
      'gateway_rate_limited_operations_total{client="forwarded"} 2',
      'gateway_rate_limited_operations_total{client="unknown"} 0',
      'gateway_rate_limited_clients 1',
    ]);
  });

  it('count a field that failed by its code, and an internal error before all others', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', status(404));
    const server = await startServer({ upstream, config: { ...LONG, upstreamRetries: 0 } });
    await server.ask({ query: '{ chains { name } tokens { name } }' });
    expect(await samples(server, 'gateway_requests_total')).toEqual({
      '{cache="miss",outcome="UPSTREAM_STATUS"}': 1,
    });
    expect(linesOf(server)).toMatchObject([
      { status: 200, cache: 'miss', executor: 'yoga', codes: ['UPSTREAM_STATUS'] },
    ]);
  });

  it('show those in flight, and those whose client has gone', async () => {
    const upstream = await startFakeUpstream();
    upstream.plan('tokens', stall);
    const server = await startServer({ upstream, config: LONG });
    const controller = new AbortController();
    const body = JSON.stringify({ query: '{ tokens { name } }' });
    const headers = { 'content-type': 'application/json' };
    const { signal } = controller;
    const asked = fetch(`${server.address}/graphql`, { method: 'POST', headers, body, signal }).catch(
      () => {},
    );
    await expect.poll(() => samples(server, 'gateway_requests_in_flight')).toEqual({ '': 1 });
    controller.abort();
    await asked;
    await upstream.close();
    await expect.poll(() => samples(server, 'gateway_requests_in_flight')).toEqual({});
    expect(await samples(server, 'gateway_requests_total')).toEqual({
      '{cache="miss",outcome="ABORTED"}': 1,
    });
  });

  it('have no more series, and no text of a client, whatever it sends', async () => {
    const server = await startServer({ config: LONG });
    const ofListings = async () => {
      const { text } = await server.metrics.expose();
      const names = text.split('\n').map((line) => line.slice(0, line.lastIndexOf(' ')));
      return names.filter((name) => /^gateway_(upstream|listing|redis)_/.test(name));
    };
    await server.ask({
      query: '{ chains { name } tokens { name } routes: tokens(srcToken: "0x0") { name } }',
    });
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
    for (const line of series) {
      expect(line).toMatch(/^\w+(\{((le="[\d.+Inf]+"|cache="[a-z]+"|outcome="(ok|[A-Z_\d]+)"),?)+\})? /);
    }
    expect(series.length).toBeLessThan(4 * 40 + 4 * 20);
    expect(await ofListings()).toEqual(before);
  });
});

describe('the log line of a request', () => {
  it('says how it was answered, to which client, with how many bytes, and how long it took', async () => {
    const server = await startServer({ config: LONG });
    for (let times = 0; times < 3; times++) await server.ask(NAMED);
    const common = {
      level: 30,
      method: 'POST',
      path: '/graphql',
      status: 200,
      operation: 'Named',
      client: '127.0.0.1',
      bytes: 42,
      ms: expect.any(Number),
    };
    const bytes = (await server.ask(NAMED)).body.byteLength;
    expect(linesOf(server)).toMatchObject([
      { ...common, bytes, cache: 'miss', executor: 'writer' },
      { ...common, bytes, cache: 'miss', executor: 'writer' },
      { ...common, bytes, cache: 'hit' },
      { ...common, bytes, cache: 'hit' },
    ]);
    expect(linesOf(server)[0]).not.toHaveProperty('codes');
  });

  it('of a failed query lists the codes, and of an internal error is a warning', async () => {
    const server = await startServer({
      config: LONG,
      decorate: (listing) => ({
        ...listing,
        tokens: (filter, clients) =>
          filter.srcToken === undefined
            ? listing.tokens(filter, clients)
            : Promise.resolve({
                rejected: { count: 0, first: [] },
                rows: [
                  {
                    get address(): string {
                      throw new Error('secret-bug');
                    },
                  },
                ],
              } as never),
      }),
    });
    await server.ask({ query: 'query Bad { no }', operationName: 'Bad' });
    await server.ask({ query: '{ tokens(srcToken: "0x1") { address } }' });
    expect(linesOf(server)).toMatchObject([
      { level: 30, operation: 'Bad', cache: 'refused', codes: ['GRAPHQL_VALIDATION_FAILED'] },
      { level: 40, status: 200, cache: 'miss', executor: 'yoga', codes: ['INTERNAL_SERVER_ERROR'] },
    ]);
  });

  it.each([
    ['all', 4],
    ['errors', 2],
    ['none', 0],
  ] as const)(
    'is written for %s: %i of two answered, one refused and one not found',
    async (logRequests, count) => {
      const server = await startServer({ config: { ...LONG, logRequests } });
      await server.ask(NAMED);
      await server.ask(NAMED);
      await server.ask({ query: '{ no }' });
      await server.ask({ path: '/nowhere', method: 'GET' });
      expect(linesOf(server)).toHaveLength(count);
    },
  );

  it('is one for each request, of about a kilobyte at most, and none for what is no request', async () => {
    const server = await startServer({ config: LONG });
    const long = 'x'.repeat(8_000);
    await server.ask({ query: `query ${long} { no ${long} }`, operationName: long });
    await server.ask({ path: `/${long}`, method: 'GET' });
    const connection = await openRaw(server.address);
    await connection.send('NO HTTP\r\n\r\n');
    await expect.poll(connection.received).toContain('400');
    const lines = linesOf(server);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(JSON.stringify(line).length).toBeLessThan(1_024);
    expect((await samples(server, 'gateway_requests_total'))['{cache="refused",outcome="HTTP_4XX"}']).toBe(1);
  });
});
