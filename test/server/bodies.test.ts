/** Bodies of requests take bounded memory, however they arrive, and give it back. */
import type { IncomingMessage } from 'node:http';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { type ReadBody, readBody } from '../../src/server/bodies.js';
import { createByteBudget } from '../../src/server/byte-budget.js';

const KB = 1_024;

/** Starts to read a request with this memory budget for bodies. Without a `content-length`, its body arrives in parts. */
function start(budget = createByteBudget(32 * KB), client = 'one', headers = {}) {
  const stream = Object.assign(new PassThrough(), { method: 'POST', headers, complete: false });
  const cuts: string[] = [];
  let read: ReadBody | undefined;
  const connection = {
    reserve: (its: typeof budget, buffer: object, bytes: number, onEvict: () => void) =>
      its.reserve(client, buffer, bytes, onEvict),
    cut: (reason: string) => cuts.push(reason),
    onCut: () => {},
  };
  readBody(stream as unknown as IncomingMessage, connection, { maxBodyBytes: 17 * KB, budget }, (given) => {
    read = given;
  });
  return {
    budget,
    cuts,
    read: () => read,
    destroy: () => stream.destroy(),
    async send(part: string | Uint8Array) {
      stream.write(part);
      await setImmediate();
    },
    async end() {
      stream.end();
      await setImmediate();
    },
  };
}

it('a body takes at most twice its size or 4 KB, in parts of any size, until its request is answered', async () => {
  const text = 'aä€😀'.repeat(800);
  const bytes = Buffer.from(text);
  for (const size of [1, 7, 1_000, 5_000]) {
    const { send, end, read, budget } = start();
    for (let sent = 0; sent < bytes.length; ) {
      await send(bytes.subarray(sent, sent + size));
      sent = Math.min(sent + size, bytes.length);
      expect(budget.bytes).toBeGreaterThanOrEqual(sent);
      expect(budget.bytes).toBeLessThanOrEqual(Math.max(2 * sent, 4 * KB));
    }
    await end();
    expect(read()).toMatchObject({ body: text, bytes: bytes.length });
    expect(budget.bytes).toBeGreaterThan(0);
    read()?.release?.();
    expect(budget.bytes).toBe(0);
  }
});

it('a body that arrives in one part takes memory only if it is long, until its request is answered', async () => {
  for (const size of [16 * KB, 16 * KB + 1]) {
    const { send, end, read, budget } = start(undefined, undefined, { 'content-length': `${size}` });
    await send('x'.repeat(size));
    await end();
    expect(read()?.body).toHaveLength(size);
    expect(budget.bytes).toBe(size > 16 * KB ? size : 0);
    read()?.release?.();
    expect(budget.bytes).toBe(0);
  }
});

it('a body takes no memory after its client has disconnected, or if it is too large', async () => {
  const gone = start();
  await gone.send('x');
  expect(gone.budget.bytes).toBe(1);
  gone.destroy();
  await setImmediate();
  expect(gone.budget.bytes).toBe(0);
  const large = start();
  for (let nth = 0; nth < 20; nth++) await large.send('x'.repeat(KB));
  expect(large.budget.bytes).toBe(0);
  await large.end();
  expect(large.read()).toMatchObject({ bytes: 20 * KB });
  expect(large.read()).not.toHaveProperty('body');
  expect(large.read()).not.toHaveProperty('refusal');
});

it('a body is refused if all bodies take too much memory; if it was complete, its connection is cut', async () => {
  const budget = createByteBudget(48 * KB);
  const [waiting, unfinished] = [start(budget, 'greedy'), start(budget, 'greedy')];
  for (const one of [waiting, unfinished]) for (let nth = 0; nth < 8; nth++) await one.send('x'.repeat(KB));
  await waiting.end();
  const honest = start(budget, 'honest');
  const others = Array.from({ length: 4 }, () => start(budget, 'greedy'));
  for (const one of [honest, ...others]) for (let nth = 0; nth < 9; nth++) await one.send('x'.repeat(KB));
  for (const one of [honest, unfinished, ...others]) await one.end();
  expect(waiting.cuts).toEqual(['request_bytes']);
  expect(unfinished.read()).toMatchObject({ bytes: 8 * KB, refusal: { status: 503 } });
  expect(honest.read()?.body).toHaveLength(9 * KB);
  expect(others.at(-1)?.read()?.body).toHaveLength(9 * KB);
});

it('a buffer with many reservations counts once, until the last is released', () => {
  const budget = createByteBudget(100);
  const evicted: number[] = [];
  const shared = {};
  const reservations = Array.from({ length: 50 }, (_nothing, nth) =>
    budget.reserve(`client${nth}`, shared, 30, () => evicted.push(nth)),
  );
  expect(budget.bytes).toBe(30);
  for (const release of reservations.slice(1)) release();
  for (const release of reservations.slice(1)) release();
  expect(budget.bytes).toBe(30);
  reservations[0]?.();
  expect(budget.bytes).toBe(0);
  expect(evicted).toEqual([]);
});
