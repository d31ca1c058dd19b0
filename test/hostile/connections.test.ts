/** Slow, greedy and sleeping clients cost bounded memory, and only they are refused or cut. */
import { expect, it } from 'vitest';
import { stall } from '../support/fake-upstream.js';
import { expectAlive, FULL, startTarget } from '../support/hostile.js';
import { fixedLimits } from '../support/processes.js';
import { CHUNKED, openRaw, postOf, type RawConnection } from '../support/raw-http.js';

const MB = 2 ** 20;
const READERS = 30;

it('a body in 250,000 chunks of one byte takes little memory', async () => {
  const target = await startTarget();
  const before = target.memoryMb();
  const watch = target.watch();
  const senders = await Promise.all([1, 2, 3, 4].map(() => openRaw(target.address)));
  for (const sender of senders) await sender.send(CHUNKED);
  const piece = Buffer.from('1\r\nx\r\n'.repeat(50_000));
  for (let nth = 0; nth < 5; nth++) await Promise.all(senders.map((sender) => sender.send(piece)));
  expect((await target.ask({ query: '{ chains { chainKey } }' })).status).toBe(200);
  const seen = await watch.stop();
  // Memory holds the buffers of the bodies, and also the chunks that were read and are not collected yet.
  expectAlive(seen, before + 80);
  expect(seen.liveMs).toBeLessThan(1500);
});

it('unfinished bodies are bounded over all connections; the client that sends most is refused', async () => {
  const target = await startTarget();
  const watch = target.watch();
  const piece = Buffer.alloc(1_000_000, 'x');
  const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${MB}\r\n\r\n`;
  const senders: RawConnection[] = [];
  const honest = await openRaw(target.address, { from: '127.0.0.2' });
  const query = `{ chains { chainKey } } # ${'x'.repeat(500_000)}`;
  const request = postOf(query);
  await honest.send(request.slice(0, 400_000));
  for (let nth = 0; nth < 150; nth++) {
    const sender = await openRaw(target.address);
    senders.push(sender);
    await sender.send(head);
    await sender.send(piece);
  }
  const refused = () => senders.filter((sender) => sender.received().startsWith('HTTP/1.1 503'));
  await expect.poll(() => refused().length).toBeGreaterThan(100);
  for (const sender of refused()) {
    expect(sender.received()).toMatch(/retry-after: \d/);
    expect(sender.received()).toContain('"code":"OVERLOADED"');
  }
  await honest.send(request.slice(400_000));
  await expect.poll(honest.received).toMatch(/^HTTP\/1.1 200/);
  expect((await target.ask({ query: '{ chains { name } }' })).status).toBe(200);
  expectAlive(await watch.stop(), 300);
  expect(await target.cuts('request_bytes')).toBeGreaterThan(100);
});

it('bodies take no memory after their answer, if their client has gone, or if they are too large', async () => {
  const target = await startTarget({ tokenCount: 100 });
  const post = (length: number) => postOf(`{ chains { chainKey } } # ${'x'.repeat(length)}`);
  // The bodies of each kind are larger than all bodies may be together.
  for (let nth = 0; nth < 30; nth++) {
    for (const [length, status] of [
      [900_000, 200],
      [1_100_000, 413],
    ] as const) {
      const sender = await openRaw(target.address);
      await sender.send(post(length));
      await expect.poll(sender.received, { interval: 5 }).toMatch(new RegExp(`^HTTP/1.1 ${status}`));
    }
    const gone = await openRaw(target.address);
    await gone.send(post(900_000).slice(0, -1));
    gone.socket.end();
    await expect.poll(gone.isClosed, { interval: 5 }).toBe(true);
  }
  expect(await target.cuts('request_bytes')).toBe(0);
});

it('idle connections do not keep their last request in memory', async () => {
  // The heap has less room than the bodies of all requests need.
  const env = { NODE_OPTIONS: '--max-old-space-size=100' };
  const target = await startTarget({ tokenCount: 100, env });
  const unused = 'x'.repeat(900_000);
  for (let nth = 0; nth < 150; nth++) {
    const sender = await openRaw(target.address);
    const body = JSON.stringify({ query: `{ __typename } # ${nth}`, variables: { unused } });
    const head = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    await sender.send(`${head}\r\n\r\n${body}`);
    await expect.poll(sender.received).toMatch(/^HTTP\/1.1 200/);
  }
  expect((await target.send({ path: '/live' })).status).toBe(200);
});

it('unfinished requests with very many headers take no more memory than others of their size', async () => {
  async function memoryOf(headers: string): Promise<number> {
    const target = await startTarget({ tokenCount: 100 });
    await target.ask({ query: '{ chains { chainKey } }' });
    const before = target.memoryMb();
    for (let nth = 0; nth < 1_000; nth++) {
      const sender = await openRaw(target.address);
      await sender.send(`POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n${headers}\r\n`);
    }
    expect((await target.send({ path: '/live' })).status).toBe(200);
    return target.memoryMb() - before;
  }
  const large = await memoryOf(`x: ${'y'.repeat(10_000)}\r\n`);
  const many = Array.from({ length: 1_400 }, (_none, nth) => `x${nth}:\r\n`).join('');
  expect(await memoryOf(many)).toBeLessThan(2 * large);
});

it('unread responses do not fill the memory, and cost only clients that do not read their connection', async () => {
  // Even on a busy machine, all operations must be executed: a refused one would not fill the memory.
  const target = await startTarget({ env: fixedLimits({ maxWaitMs: 600_000 }) });
  const watch = target.watch();
  const { body } = await target.ask({ query: FULL });
  const honest = await openRaw(target.address, { from: '127.0.0.2', isReading: false });
  let bytes = 0;
  // The system buffers the first response. The second waits in the gateway until the client reads it.
  await honest.send(postOf(FULL).repeat(2));
  honest.socket.on('data', (chunk) => {
    bytes += chunk.byteLength;
    // The client reads about 2 MB a second.
    honest.socket.pause();
    setTimeout(() => honest.socket.resume(), 30);
  });
  for (let nth = 0; nth < READERS; nth++) {
    const reader = await openRaw(target.address, { isReading: false });
    const queries = Array.from({ length: 10 }, (_none, of) =>
      FULL.replace('tokens', `a${nth}_${of}: tokens`),
    );
    await reader.send(queries.map((query) => postOf(query)).join(''));
  }
  honest.socket.resume();
  // The other clients that do not read are cut later, as slow readers.
  await expect.poll(() => target.cuts('response_bytes')).toBeGreaterThan(READERS / 4);
  await expect.poll(() => bytes).toBeGreaterThan(2 * body.length);
  expect(honest.isClosed()).toBe(false);
  expectAlive(await watch.stop(), 300);
});

it('connections are closed beyond their limit, with one line a second in the log', async () => {
  const target = await startTarget({ tokenCount: 100, env: fixedLimits({ maxConnections: 20 }) });
  const all = await Promise.all(Array.from({ length: 200 }, () => openRaw(target.address)));
  const open = () => all.filter((one) => !one.isClosed());
  await expect.poll(() => open().length).toBeLessThanOrEqual(20);
  expect(open().length).toBeGreaterThan(15);
  // Another client gets a connection; the client with all the others loses one.
  const other = await openRaw(target.address, { from: '127.0.0.2' });
  await other.send('GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n');
  await expect.poll(other.received).toMatch(/connections_cut_total\{reason="too_many_connections"\} 18\d/);
  for (const one of open()) one.socket.destroy();
  await expect.poll(() => fetch(`${target.address}/live`).then(({ status }) => status)).toBe(200);
  const lines = () =>
    target
      .output()
      .split('\n')
      .filter((line) => line.includes('Closed connections: too many were open'))
      .map((line) => JSON.parse(line) as { readonly count?: number });
  const logged = () => lines().reduce((sum, { count = 1 }) => sum + count, 0);
  await expect.poll(logged).toBe(await target.cuts('too_many_connections'));
  expect(lines().length).toBeLessThan(10);
});

it('a container with little memory allows fewer connections, even if the system reports no limit on open files', async () => {
  const small =
    '--import=data:text/javascript,process.constrainedMemory=()=>5*2**18;process.report.getReport=()=>({})';
  const target = await startTarget({ tokenCount: 100, env: { NODE_OPTIONS: small } });
  expect(target.output()).toContain('The memory of the container also limits connections');
  const get = 'GET /live HTTP/1.1\r\nHost: x\r\n\r\n';
  for (let nth = 0; nth < 20; nth++) await (await openRaw(target.address, { from: '127.0.0.2' })).send(get);
  await expect.poll(() => target.cuts('too_many_connections')).toBeGreaterThan(10);
});

it('in a container of 512 MiB, clients that use up all limits at once do not fill the memory', async () => {
  const inContainer = '--import=data:text/javascript,process.constrainedMemory=()=>512*2**20';
  const { NODE_OPTIONS } = fixedLimits({ maxWaitMs: 600_000 });
  const target = await startTarget({
    tokenCount: 2_000,
    env: { NODE_OPTIONS: `${NODE_OPTIONS} ${inContainer}` },
  });
  target.upstream.plan('routes', stall);
  await target.ask({ query: FULL });
  const watch = target.watch();
  let opened = 0;
  const open = async (bytes: string | Buffer, isReading = true) => {
    const from = `127.0.0.${2 + (opened++ % 50)}`;
    await (await openRaw(target.address, { from, isReading })).send(bytes);
  };
  const aliases = Array.from({ length: 28 }, (_none, nth) => `${'x'.repeat(100)}${nth}: symbol`).join(' ');
  const wait = `destinations(srcChainKey: "ethereum", srcToken: "0xAbCdEf${'1'.padStart(34, '0')}") { chainKey }`;
  for (let nth = 0; nth < 20; nth++)
    await open(postOf(`{ a${nth}: tokens { ${aliases} } }`).repeat(2), false);
  const tokens = '... on Query { __typename } '.repeat(270);
  for (let nth = 0; nth < 120; nth++) await open(postOf(`query Q${nth} { ${wait} ${tokens} }`));
  // Two bytes for each character; a third of these bodies lack their last byte.
  const wide = '\u20ac'.padEnd(1_000_000, 'x');
  for (let nth = 0; nth < 30; nth++) {
    const body = JSON.stringify({ query: `query T${nth} { ${wait} }`, variables: { wide } });
    const request = Buffer.from(
      `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await open(nth % 3 === 0 ? request.subarray(0, -1) : request);
  }
  const headers = `x: ${'y'.repeat(150)}\r\n`.repeat(95);
  const unfinished = `POST /graphql HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n${headers}\r\n`;
  // Many at once: after 30 s the first ones are refused.
  for (let nth = 0; nth < 24; nth++) await Promise.all(Array.from({ length: 100 }, () => open(unfinished)));
  await expect.poll(() => target.cuts('response_bytes')).toBeGreaterThan(5);
  await expect.poll(() => target.cuts('request_bytes')).toBeGreaterThan(5);
  expect(await target.cuts('too_many_connections')).toBeGreaterThan(0);
  // In MB: below the 537 MB of the container.
  expectAlive(await watch.stop(), 530);
});
