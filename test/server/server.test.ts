import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createGatewayServer } from '../../src/server/server.js';
import { demoTokens } from '../fixtures/demo.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { fixedLimits } from '../support/fixed-limits.js';
import { type GatewayProcess, spawnGateway, startGatewayProcess } from '../support/gateway-process.js';
import { openRaw, sendRaw } from '../support/raw-http.js';
import { createTestLog } from '../support/test-gateway.js';

const BODY = JSON.stringify({ query: '{ tokens(srcChainKey: "ethereum") { symbol } }' });
const HEADERS = { 'content-type': 'application/json' };

describe('bodies', () => {
  it('beyond the limit are refused with 413, with or without a Content-Length', async () => {
    const { address } = await startGatewayProcess(fixedLimits({ maxBodyBytes: 1000 }));
    const large = JSON.stringify({ query: '{ listings { state } }', variables: { x: 'x'.repeat(200_000) } });
    const declared = await fetch(`${address}/graphql`, { method: 'POST', headers: HEADERS, body: large });
    expect(declared.status).toBe(413);
    expect(await declared.json()).toMatchObject({ errors: [{ extensions: { code: 'LIMIT_EXCEEDED' } }] });
    const body = new Blob([large]).stream();
    const init = { method: 'POST', headers: HEADERS, body, duplex: 'half' } as RequestInit;
    const streamed = await fetch(`${address}/graphql`, init);
    expect(streamed.status).toBe(413);
    expect(await streamed.text()).toMatch(/at most 1000 bytes; this one has 2\d{5}\./);
    for (const body of [BODY, BODY.padEnd(1000)]) {
      const small = await fetch(`${address}/graphql`, { method: 'POST', headers: HEADERS, body });
      expect(small.status).toBe(200);
    }
  });

  it('without an end are refused, and their connection is cut', async () => {
    const { address } = await startGatewayProcess(fixedLimits({ maxBodyBytes: 1000 }));
    const sender = await openRaw(address);
    const head = 'POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    await sender.send(`${head}Transfer-Encoding: chunked\r\n\r\n`);
    const sending = setInterval(() => sender.send(`12c\r\n${' '.repeat(300)}\r\n`), 20);
    onTestFinished(() => clearInterval(sending));
    await expect
      .poll(sender.received)
      .toMatch(/^HTTP\/1.1 413 [\s\S]*at most 1000 bytes; this one has \d{4,}\./);
    await expect.poll(sender.isClosed).toBe(true);
  });
});

describe('an internal error', () => {
  it.each(['GET', 'POST'])('on %s is answered with 500, and logged', async (method) => {
    const { log, logged } = await createTestLog();
    const server = createGatewayServer({
      gateway: {
        path: '/graphql',
        isOperation: () => true,
        corsOrigins: '*',
        trusted: undefined,
        respond: () => Promise.reject(new Error('secret-bug')),
      },
      checkDependencies: () => undefined,
      maxBodyBytes: 1000,
      maxQueryTokens: 1000,
      log,
    });
    const address = await server.listen('127.0.0.1', 0);
    onTestFinished(() => server.drain(0, 1000));
    const response = await fetch(`${address}/graphql`, {
      method,
      ...(method === 'POST' ? { body: BODY } : {}),
    });
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('secret-bug');
    expect(logged).toMatchObject([
      { msg: 'Internal error while answering a request', err: { message: 'secret-bug' } },
      { level: 'warn', msg: 'Answered', status: 500, codes: ['INTERNAL_SERVER_ERROR'] },
    ]);
  });
});

describe('odd requests', () => {
  /** One process for all cases: each of them must leave it intact. */
  let gateway: GatewayProcess;
  let end: () => Promise<void>;
  beforeAll(async () => {
    gateway = await startGatewayProcess({}, (ending) => {
      end = ending;
    });
  });
  afterAll(() => end());

  const get = (target: string, host = 'x', method = 'GET') =>
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;
  it.each<[string, string, RegExp]>([
    ['no HTTP', 'rubbish\r\n\r\n', /^HTTP\/1\.1 400/],
    ['a host that contains a path', get('/nowhere', 'x/live?'), /^HTTP\/1\.1 404/],
    ['no path', get('*', 'x', 'OPTIONS'), /^HTTP\/1\.1 400/],
    ['a whole URL as the path', get('http://x/live'), /^HTTP\/1\.1 200/],
    ['two slashes at the start', get('//live'), /^HTTP\/1\.1 404/],
    ['another method', get('/graphql', 'x', 'TRACE'), /^HTTP\/1\.1 4\d\d/],
    ['a broken percent code', get('/graphql?query=%E0%A4%A'), /GRAPHQL_PARSE_FAILED/],
  ])('%s gets a response, and the process goes on', async (_name, bytes, expected) => {
    const { address } = gateway;
    expect(await sendRaw(address, bytes)).toMatch(expected);
    expect((await fetch(`${address}/live`)).status).toBe(200);
  });

  it('a client that disconnects during its request does no harm', async () => {
    const { address, output } = gateway;
    const { send, socket } = await openRaw(address);
    await send('POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    await sleep(50);
    socket.destroy();
    await sleep(50);
    expect((await fetch(`${address}/live`)).status).toBe(200);
    expect(output()).not.toContain('Internal error');
  });
});

describe('the start', () => {
  it('ends with status 1 if the port is taken, and says what to do', async () => {
    const { address } = await startGatewayProcess();
    const { port } = new URL(address);
    for (const name of ['PORT', 'ADMIN_PORT']) {
      const { output, exited } = spawnGateway({ PORT: '0', [name]: port });
      expect(await exited).toBe(1);
      const advice = `Port ${port} on 127.0.0.1 is taken. Set ${name} to another port; ${name}=0 takes a free one.`;
      const lines = output()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as object);
      expect(lines).toContainEqual(expect.objectContaining({ level: 'fatal', msg: advice }));
      expect(output()).not.toContain('accept connections');
    }
  });

  it('succeeds without an upstream; the gateway reports it, and recovers when the upstream responds', async () => {
    const upstream = await startFakeUpstream();
    onTestFinished(upstream.close);
    upstream.plan('tokens', status(503));
    const limits = fixedLimits({ upstreamRetries: 0 });
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url, ...limits });
    await expect.poll(async () => (await fetch(`${address}/ready`)).text()).toContain('UPSTREAM_STATUS');
    upstream.plan('tokens', json({ tokens: demoTokens }));
    await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
  });
});
