import { describe, expect, it, onTestFinished } from 'vitest';
import { type OpenGatewayOptions, openGateway } from '../../src/library/index.js';
import { json, late } from '../support/fake-upstream.js';
import { AT, open, post, startUpstream } from '../support/open-gateway.js';

const TOKENS = '{ tokens { symbol name address chain { name } } }';

describe('fetch', () => {
  it('serves the tools for agents and the files for machines, too', async () => {
    const { fetch, lines } = await open();
    const call = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'list_chains', arguments: { search: 'base' } },
    };
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(
      new Request('http://gateway/api/mcp', { method: 'POST', headers, body: JSON.stringify(call) }),
    );
    expect(await response.json()).toHaveProperty('result.structuredContent.chains.0.chainKey', 'base');
    expect(lines.some((line) => line.includes('"operation":"ListChains"'))).toBe(true);
    const llms = await fetch(new Request('http://gateway/api/llms.txt'));
    const text = await llms.text();
    expect(text).toContain('`/api/graphql` by POST');
    expect(text).toContain('Demo: prices, routes and some flags are made up');
    const off = await open({ mcp: false });
    const request = new Request('http://gateway/api/mcp', { method: 'POST', headers, body: '{}' });
    expect((await off.fetch(request)).status).toBe(404);
  });

  it('responds only below its base path', async () => {
    const { fetch } = await open();
    const response = await fetch(post(TOKENS));
    expect(response).toBeInstanceOf(Response);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ data: { tokens: expect.any(Array) } });
    expect((await fetch(new Request('http://gateway/graphql', { method: 'POST' }))).status).toBe(404);
  });

  it('rejects with the reason of an aborted request', async () => {
    const upstream = await startUpstream();
    upstream.plan('tokens', late(60_000, json({ tokens: [] })));
    const { fetch } = await open({}, upstream);
    const controller = new AbortController();
    const reason = new Error('Gone');
    setTimeout(() => controller.abort(reason), 100);
    await expect(fetch(post(TOKENS, { signal: controller.signal }))).rejects.toBe(reason);
  });

  it('applies the limits of its options', async () => {
    const { fetch } = await open({ maxCost: 1 });
    const response = await fetch(post('{ chains { name } tokens { name } }'));
    expect(await response.json()).toMatchObject({ errors: [{ extensions: { code: 'LIMIT_EXCEEDED' } }] });
  });

  it('serves the playground below its path', async () => {
    const { fetch } = await open();
    const page = await (await fetch(new Request(AT, { headers: { accept: 'text/html' } }))).text();
    const [script = ''] = /\/api\/graphql\/playground\/[^"]+start\.js/.exec(page) ?? [];
    expect((await fetch(new Request(`http://gateway${script}`))).status).toBe(200);
  });
});

describe('an open gateway', () => {
  it('reads no environment, opens no port and listens to no signal', async () => {
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

  it('warns that it serves demo data, and hides secrets in its log', async () => {
    expect((await open()).lines.join('')).toContain(
      '"Demo: prices, routes and some flags are made up, because of demo: true"',
    );
    const upstream = await startUpstream();
    const { fetch, lines } = await open({ upstreamHeaders: { 'x-key': 'secret-key' } }, upstream);
    await fetch(
      post(TOKENS, { headers: { 'content-type': 'application/json', 'x-request-id': 'secret-key' } }),
    );
    expect(upstream.seen[0]?.headers['x-key']).toBe('secret-key');
    expect(lines.join('')).toContain('"Answered"');
    expect(lines.join('')).not.toMatch(/secret-key|made up/);
  });

  it('logs and counts each request once, as the process does', async () => {
    const { fetch, lines, ...gateway } = await open({ servedPaths: ['/metrics'] });
    for (let times = 0; times < 3; times++) await (await fetch(post(TOKENS), { client: 'me' })).text();
    await (await fetch(post('{ no }'))).text();
    const answered = lines
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ msg }) => msg === 'Answered');
    const { bytes } = answered[0] ?? {};
    expect(bytes).toBeGreaterThan(1_000);
    const common = { path: '/api/graphql', status: 200, client: 'me', bytes };
    expect(answered).toMatchObject([
      { ...common, cache: 'miss', executor: 'writer' },
      { ...common, cache: 'miss', executor: 'writer' },
      { ...common, cache: 'hit' },
      { cache: 'refused', codes: ['GRAPHQL_VALIDATION_FAILED'] },
    ]);
    const metrics = await gateway.metrics();
    expect(await (await fetch(new Request('http://gateway/api/metrics'))).text()).toContain(
      'gateway_response_cache_entries 1',
    );
    expect(metrics).toContain('gateway_requests_total{cache="hit",outcome="ok"} 1');
    expect(metrics).toContain('gateway_response_cache_entries 1');
    expect(metrics).toMatch(/gateway_build_info\{version="\d[^"]*",revision="([0-9a-f]{40}(-dirty)?)"/);
  });

  it('reports whether it is ready, and otherwise the reason', async () => {
    const { fetch, ready, close } = await open();
    expect(ready()).toEqual({ ready: false, reason: expect.stringContaining('is being fetched') });
    await fetch(post('{ tokens { symbol } chains { name } }'));
    expect(ready()).toEqual({ ready: true });
    await close();
    expect(ready()).toEqual({ ready: false, reason: 'The gateway is stopping.' });
  });

  it('leaves compression to the host, on every path', async () => {
    const { fetch } = await open({ compression: false });
    const headers = { 'accept-encoding': 'gzip, br', accept: 'text/html' };
    await fetch(post('{ tokens { symbol } chains { name } }'));
    for (const path of [
      '/graphql?query={tokens{id,name}}',
      '/graphql',
      '/',
      '/llms.txt',
      '/tokenlist.json',
    ]) {
      for (let times = 0; times < 3; times++) {
        const { status, headers: got } = await fetch(new Request(`http://gateway/api${path}`, { headers }));
        expect([path, status, got.get('content-encoding')]).toEqual([path, 200, null]);
        expect(got.get('vary')).toContain('Accept-Encoding');
      }
    }
    const invalid = post('{ no }', { headers: { ...headers, 'content-type': 'application/json' } });
    expect((await fetch(invalid)).headers.get('content-encoding')).toBeNull();
  });

  it('reads a body that is too large to its end, so that the connection survives', async () => {
    const { fetch } = await open({}, undefined, { maxBodyBytes: 1_000 });
    let sent = 0;
    let isCancelled = false;
    const body = new ReadableStream({
      pull(controller) {
        if (sent++ < 100) controller.enqueue(new Uint8Array(10_000));
        else controller.close();
      },
      cancel() {
        isCancelled = true;
      },
    });
    const request = new Request(AT, { method: 'POST', body, duplex: 'half' } as RequestInit);
    const response = await fetch(request);
    expect([response.status, sent, isCancelled]).toEqual([413, 101, false]);
    expect(await response.text()).toContain('this one has 1000000');
  });

  it('stops reading a body that is too large after two seconds', async () => {
    const { fetch } = await open({}, undefined, { maxBodyBytes: 1_000 });
    let isCancelled = false;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        controller.enqueue(new Uint8Array(10_000));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const response = await fetch(new Request(AT, { method: 'POST', body, duplex: 'half' } as RequestInit));
    expect([response.status, isCancelled]).toEqual([413, true]);
  });

  it('sends no request to the upstream after it was closed', async () => {
    const upstream = await startUpstream();
    const { fetch, close } = await open({ tokensFreshMs: 20, upstreamRequestsPerSecond: 1000 }, upstream);
    await fetch(post(TOKENS));
    await close();
    const count = upstream.count();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(upstream.count()).toBe(count);
  });
});

describe('an option', () => {
  it.each<[string, object, RegExp]>([
    [
      'with a mistyped name',
      { upstreamULR: 'https://example.org/v1' },
      /upstreamULR: there is no such option/,
    ],
    ['of the port', { port: 4000 }, /port: there is no such option/],
    ['that is empty', { upstreamUrl: '' }, /upstreamUrl: expected another value than an empty one/],
    ['that is null', { upstreamUrl: null }, /upstreamUrl: expected an address/],
    ['out of range', { maxCost: 0 }, /maxCost: expected a whole number from 1 to/],
    ['of another type', { graphiql: 'yes' }, /graphiql: expected true or false/],
    ['without another', { upstreamProfile: 'auto' }, /upstreamUrl: expected .* for upstreamProfile=auto/],
    ['without an origin', { corsOrigins: [] }, /corsOrigins: expected another value/],
    [
      'missing: an upstream, or a word for demo data',
      { upstreamUrl: undefined },
      /upstreamUrl: expected the base address of an upstream, got none \(demo=true/,
    ],
    ['that is no path', { basePath: 'tokens' }, /basePath: expected a path such as \/tokens/],
    ['that a URL changes', { basePath: '/a/../tokens' }, /basePath: expected/],
    [
      'that is no writer',
      { demo: true, logTo: () => undefined },
      /logTo: expected an object with a method `write`$/,
    ],
    ['that names what is not there', { servedPaths: ['/nope'] }, /servedPaths: expected none, or some of \//],
    ['that is a fixed limit', { maxDepth: 20 }, /maxDepth: there is no such option/],
  ])('%s is refused', async (_name, options, message) => {
    await expect(openGateway(options as OpenGatewayOptions)).rejects.toThrow(message);
  });

  it.each(['', '/', '/tokens', '/tokens/'])('can be the base path "%s"', async (basePath) => {
    const { fetch } = await open({ basePath });
    const path = `${basePath.replace(/\/$/, '')}/live`;
    expect((await fetch(new Request(`http://gateway${path}`))).status).toBe(200);
  });

  it('accepts all other values that an environment variable can have', async () => {
    const { fetch } = await open({
      corsOrigins: ['https://a.example', 'https://b.example'],
      maxCost: 300_000,
    });
    const asked = post(TOKENS, {
      headers: { 'content-type': 'application/json', origin: 'https://b.example' },
    });
    expect((await fetch(asked)).headers.get('access-control-allow-origin')).toBe('https://b.example');
  });
});
