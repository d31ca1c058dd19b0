/** The HTTP server answers bodies that are too large and internal errors, and does not start on a taken port. */
import { expect, it, onTestFinished } from 'vitest';
import { createByteBudget } from '../../src/server/byte-budget.js';
import { spawnGateway, startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits } from '../support/processes.js';
import { CHUNKED, openRaw } from '../support/raw-http.js';
import { startServer } from '../support/test-server.js';

const BODY = JSON.stringify({ query: '{ tokens(srcChainKey: "ethereum") { symbol } }' });
const HEADERS = { 'content-type': 'application/json' };

it('a body without an end is refused with 413 beyond the limit on its size; then its connection is cut', async () => {
  const { address } = await startGatewayProcess(fixedLimits({ maxBodyBytes: 1000 }));
  for (const body of [BODY, BODY.padEnd(1000)])
    expect((await fetch(`${address}/graphql`, { method: 'POST', headers: HEADERS, body })).status).toBe(200);
  const sender = await openRaw(address);
  await sender.send(CHUNKED);
  const sending = setInterval(() => sender.send(`12c\r\n${' '.repeat(300)}\r\n`), 20);
  onTestFinished(() => clearInterval(sending));
  await expect.poll(sender.received).toMatch(/^HTTP\/1.1 413 [\s\S]*at most 1000 bytes, got more\./);
  await expect.poll(sender.isClosed).toBe(true);
});

it('a body that would take too long to parse is refused with 413; a long list of keys is not', async () => {
  const { ask } = await startServer();
  const withVariables = (json: string) =>
    `{"query":"query ($keys: [TokenKey!]!) { tokensByKey(keys: $keys) { id } }","variables":${json}}`;
  const lists = (count: number) => '['.repeat(count) + ']'.repeat(count);
  const names = Array.from({ length: 1_001 }, (_nothing, nth) => `"${'n'.repeat(20)}${nth}":1`);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [body, expected, headers] of [
    ['['.repeat(16_385), '64 levels of objects and arrays'],
    [withVariables(lists(9_000)), '64 levels of objects and arrays'],
    [withVariables(`[${'{},'.repeat(25_000)}0]`), '25000 objects and arrays'],
    [withVariables(`{${names}}`), '1000 names of members'],
    [`query=${encodeURIComponent(lists(3_000))}`, '16384 characters, as it is not JSON', form],
  ] as const) {
    const { status, body: got } = await ask({ body, ...(headers && { headers }) });
    const message = `Expected a request body of at most ${expected}, got more.`;
    expect([status, JSON.parse(String(got))]).toEqual([
      413,
      { errors: [{ message, extensions: { code: 'LIMIT_EXCEEDED' } }] },
    ]);
  }
  const keys = Array(12_000).fill({ chainKey: 'ethereum', address: `0x${'1'.repeat(40)}` });
  const { status } = await ask({ body: withVariables(JSON.stringify({ keys })) });
  expect(status).toBe(200);
});

it.each(['GET', 'POST'])('an internal error on %s is answered with 500, and logged', async (method) => {
  const { ask, snapshots, serverLog } = await startServer();
  snapshots.now = () => {
    throw new Error('secret-bug');
  };
  const { status, headers, body } = await ask({ query: '{ __typename }', method });
  expect(status).toBe(500);
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    'access-control-allow-origin': '*',
    'x-request-id': expect.any(String),
  });
  expect(JSON.parse(body.toString())).toMatchObject({
    errors: [{ extensions: { code: 'INTERNAL_SERVER_ERROR' } }],
  });
  expect(body.toString()).not.toContain('secret-bug');
  expect(serverLog).toMatchObject([
    { msg: 'Internal error while answering a request', err: { message: 'secret-bug' } },
    { level: 'warn', msg: 'Answered', status: 500, codes: ['INTERNAL_SERVER_ERROR'] },
  ]);
});

it('a start ends with status 1 if the port is taken, and says what to do', async () => {
  const { address } = await startGatewayProcess();
  const { port } = new URL(address);
  for (const name of ['PORT', 'ADMIN_PORT']) {
    const { output, exited } = spawnGateway({ PORT: '0', [name]: port });
    expect(await exited).toBe(1);
    const advice = `Port ${port} on 127.0.0.1 is taken. Set ${name} to another port; ${name}=0 takes a free one.`;
    const lines = (output().match(/^.+$/gm) ?? []).map((line) => JSON.parse(line) as object);
    expect(lines).toContainEqual(expect.objectContaining({ level: 'fatal', msg: advice }));
    expect(output()).not.toContain('accept connections');
  }
});

it('a buffer with many reservations counts once, until the last is released', () => {
  const budget = createByteBudget(100);
  const shared = {};
  const [first, ...others] = Array.from({ length: 50 }, (_nothing, nth) =>
    budget.reserve({ client: `client${nth}`, releases: new Set() }, shared, 30, () => expect.unreachable()),
  );
  expect(budget.bytes).toBe(30);
  for (const release of [...others, ...others]) release();
  expect(budget.bytes).toBe(30);
  first?.();
  expect(budget.bytes).toBe(0);
});
