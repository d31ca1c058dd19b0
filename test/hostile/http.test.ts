/** Odd paths, Host headers, bytes that are not HTTP and floods of connections get safe responses or none. */
import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { share } from '../support/ends.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits } from '../support/processes.js';
import { openRaw, postOf, sendRaw } from '../support/raw-http.js';

/** All tests share one process, so each test must leave it intact. */
const gateway = share((atEnd) => startGatewayProcess(fixedLimits({ maxBodyBytes: 1000 }), atEnd));

const get = (target: string, headers = 'Host: x\r\n') => head('GET', target, headers);
const head = (method: string, target: string, headers = 'Host: x\r\nContent-Length: 0\r\n') =>
  `${method} ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`;

const ODD_PATHS =
  '/x/../metrics /./metrics /%2e%2e/metrics /x/%2E%2e/metrics /x/.%2e/live //metrics ///metrics /\\metrics \\metrics /x\\..\\metrics /metrics#x /metrics/ /metrics/. /%6detrics /metrics;x /metrics%00 http://evil/metrics http://evil:80/metrics http://x@evil/metrics http://evil@x/metrics http:///metrics http://x/y/../metrics http://x\\metrics https://evil/metrics ftp://x/metrics //x/metrics /graphql/../graphql?query={__typename} /picker/../'.split(
    ' ',
  );

it.each(ODD_PATHS)('the path %s is not served, because normalisation would change it', async (target) => {
  const came = await sendRaw(gateway.address, get(target));
  expect(came).toMatch(/^HTTP\/1.1 40[04]/);
  expect(came).toContain('nosniff');
  expect(came).not.toContain('process_cpu');
  expect(came).toMatch(/\{"error":"(Nothing is here|Expected)/);
});

it('plain paths, queries and URLs with the own host are served', async () => {
  for (const target of ['/live', '/live?x=/../y', 'http://x/live', 'HTTP://X/live?', '/metrics']) {
    expect(await sendRaw(gateway.address, get(target)), target).toMatch(/^HTTP\/1.1 200/);
  }
  const asked = get('/graphql?query={__typename}&x=../..%2f');
  expect(await sendRaw(gateway.address, asked)).toMatch(/"__typename":"Query"/);
});

it.each([
  ['two', 'Host: x\r\nHost: y\r\n'],
  ['two alike', 'Host: x\r\nhost: x\r\n'],
  ['none', ''],
])('%s Host headers are refused, also if the response is cached', async (_name, headers) => {
  const target = '/graphql?query={__typename}';
  expect(await sendRaw(gateway.address, get(target))).toMatch(/^HTTP\/1.1 200/);
  for (const refused of [target, '/live']) {
    const came = await sendRaw(gateway.address, get(refused, headers));
    expect(came).toMatch(/^HTTP\/1.1 400[\s\S]*\{"error":"Expected one Host header\."\}$/);
    expect(came).toContain('nosniff');
  }
});

it('a Host header is not required with HTTP/1.0', async () => {
  expect(await sendRaw(gateway.address, 'GET /live HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 200/);
});

const GRAPHQL_JSON = 'application/graphql-response+json';
const long = postOf('{ chains { name } }'.padEnd(3000));
const chunked = 'POST /graphql HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
it.each<[string, string, number]>([
  ['a first response', get('/graphql?query={chains{name}}'), 200],
  ['a cached response', get('/graphql?query={chains{name}}'), 200],
  ['a posted query', postOf('{ chains { name } }', 'Connection: close\r\n'), 200],
  ['events', get('/graphql?query={chains{name}}', 'Host: x\r\nAccept: text/event-stream\r\n'), 200],
  ['parts', get('/graphql?query={chains{name}}', 'Host: x\r\nAccept: multipart/mixed\r\n'), 200],
  ['a 304', get('/graphql?query={chains{name}}', 'Host: x\r\nIf-None-Match: *\r\n'), 304],
  ['an error', get('/graphql?query={nope}', `Host: x\r\nAccept: ${GRAPHQL_JSON}\r\n`), 400],
  ['another method', head('PUT', '/graphql'), 405],
  ['a forbidden method', head('TRACE', '/graphql'), 405],
  [
    'a query that cannot be decoded',
    get('/graphql?query=%E0%A4%A', `Host: x\r\nAccept: ${GRAPHQL_JSON}\r\n`),
    400,
  ],
  ['a preflight', head('OPTIONS', '/graphql'), 204],
  ['/live', get('/live'), 200],
  ['/ready', get('/ready'), 200],
  ['/live by POST', head('POST', '/live'), 405],
  ['/metrics', get('/metrics'), 200],
  ['the picker', get('/', 'Host: x\r\nAccept: text/html\r\n'), 200],
  ['the playground', get('/graphql', 'Host: x\r\nAccept: text/html\r\n'), 200],
  ['an unknown path', get('/nothing'), 404],
  ['an unknown path of a host with a path', get('/nothing', 'Host: x/live?\r\n'), 404],
  ['no path', get('*'), 404],
  ['no path, as a preflight', head('OPTIONS', '*'), 204],
  ['a large body', long.replace('Host: x', 'Host: x\r\nConnection: close'), 413],
  ['an expectation', get('/live', 'Host: x\r\nExpect: tea\r\n'), 417],
  ['rubbish', 'rubbish\r\n\r\n', 400],
  ['two lengths', head('POST', '/', 'Host: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n'), 400],
  ['large headers', get('/live', `Host: x\r\nX: ${'x'.repeat(20_000)}\r\n`), 431],
  ['many headers', get('/live', `Host: x\r\n${'x: y\r\n'.repeat(100)}`), 431],
  ['chunk extensions', `${chunked}1;${'x'.repeat(20_000)}\r\nx`, 413],
  ['a broken chunk', `${chunked}zz\r\n`, 400],
])('the header nosniff is sent with %s', async (_name, bytes, status) => {
  const came = await sendRaw(gateway.address, bytes);
  expect(came).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  expect(came.slice(0, came.indexOf('\r\n\r\n')).toLowerCase()).toContain('x-content-type-options: nosniff');
  expect(came.match(/HTTP\/1\.1 \d/g)).toHaveLength(1);
});

it('input that is not HTTP is refused with a readable reason, also if much of it is sent', async () => {
  const sender = await openRaw(gateway.address);
  for (let nth = 0; nth < 50; nth++) await sender.send('rubbish '.repeat(8000));
  await expect
    .poll(sender.received)
    .toMatch(
      /^HTTP\/1.1 400 [\s\S]*\{"error":"Expected an HTTP\/1.1 request, such as POST \/graphql with a JSON body, got none/,
    );
  sender.socket.end();
  await expect.poll(sender.isClosed).toBe(true);
  // The refusal is sent once.
  expect(sender.received().split('HTTP/1.1 400')).toHaveLength(2);
});

it('input that is not HTTP is refused behind a request, after its response', async () => {
  const came = await sendRaw(gateway.address, `${postOf('{ tokens { name symbol } }')}rubbish\r\n\r\n`);
  expect(came).toMatch(/^HTTP\/1.1 200[\s\S]*HTTP\/1.1 400/);
});

const LIST_TOOLS = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const LATE = [
  ['/', 'Accept: text/html\r\n'],
  ['/graphql', 'Accept: text/html\r\n'],
  ['/metrics', ''],
  ['/ready', ''],
  ['/graphql?query={tokens{name}}', ''],
  ['/graphql?query={tokens{symbol}}', 'Accept-Encoding: br\r\n'],
] as const;

it('connections do not take all file handles: modules can still be loaded late', async () => {
  // The limit cannot be much lower: Node opens more than a hundred files at once when it starts.
  const few = await startGatewayProcess({}, undefined, ['sh', '-c', 'ulimit -n 250; exec "$0" "$@"']);
  expect(few.output()).toContain('The limit on open files (ulimit -n) also limits connections');
  const flood = await Promise.all(Array.from({ length: 400 }, () => openRaw(few.address)));
  for (const { send } of flood) send('GET /live HTTP/1.1\r\nHost: x\r\n\r\n');
  for (const [path, headers] of LATE) {
    const connection = await openRaw(few.address, { from: '127.0.0.2' });
    await connection.send(get(path, `Host: x\r\n${headers}`));
    await expect.poll(connection.isClosed).toBe(true);
    expect(connection.received(), path).toMatch(/^HTTP\/1.1 200/);
  }
  expect(flood.filter(({ isClosed }) => !isClosed()).length).toBeGreaterThan(100);
  for (const { socket } of flood) socket.destroy();
  await expect.poll(() => fetch(`${few.address}/live`).then(({ status }) => status)).toBe(200);
});

it('a lack of file handles neither ends the process nor breaks it permanently', async () => {
  const { address, child, output } = await startGatewayProcess();
  await expect.poll(() => fetch(`${address}/ready`).then(({ status }) => status)).toBe(200);
  const limit = (soft: number) => execFileSync('prlimit', ['--pid', String(child.pid), `--nofile=${soft}:`]);
  const agent = await openRaw(address);
  const connections = await Promise.all(LATE.map(() => openRaw(address)));
  for (const { send, received } of [agent, ...connections]) {
    await send('GET /live HTTP/1.1\r\nHost: x\r\n\r\n');
    await expect.poll(received).toContain('200 OK');
  }
  limit(15);
  const more = await Promise.all(Array.from({ length: 50 }, () => openRaw(address)));
  for (const [nth, [path, headers]] of LATE.entries()) {
    await connections[nth]?.send(get(path, `Host: x\r\n${headers}`));
    await expect.poll(connections[nth]?.isClosed ?? (() => false)).toBe(true);
    // Of these responses only the pages fail now, because the others need no file.
    expect(connections[nth]?.received(), path).toMatch(nth < 2 ? /HTTP\/1.1 500/ : /200 OK[\s\S]*200 OK/);
  }
  const type = `Host: x\r\nContent-Type: application/json\r\nContent-Length: ${LIST_TOOLS.length}\r\n`;
  await agent.send(head('POST', '/mcp', type) + LIST_TOOLS);
  await expect.poll(agent.isClosed).toBe(true);
  expect(agent.received()).toMatch(/HTTP\/1.1 500/);
  limit(1000);
  for (const { socket } of more) socket.destroy();
  const headers = { 'content-type': 'application/json' };
  const listed = await fetch(`${address}/mcp`, { method: 'POST', headers, body: LIST_TOOLS });
  expect(await listed.json()).toHaveProperty('result.tools');
  for (const path of ['/', '/graphql', '/live']) {
    const { status } = await fetch(`${address}${path}`, { headers: { accept: 'text/html' } });
    expect(status, path).toBe(200);
  }
  expect(child.exitCode).toBeNull();
  expect(output()).toContain('EMFILE');
});
