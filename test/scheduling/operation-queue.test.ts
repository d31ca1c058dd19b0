/** The operation queue executes operations in turn, lets the event loop work in between, and refuses too many. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createOperationQueue } from '../../src/scheduling/operation-queue.js';
import { generatedListings } from '../fixtures/rows.js';
import { stopClock } from '../support/clock.js';
import { repeat } from '../support/ends.js';
import { json } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const MAX_WAIT_MS = 60_000;
const refused = (isByClient: boolean) => (isByClient ? 'by the client' : 'by the process');
const unused = () => expect.unreachable();
const broken = () => {
  throw new Error('broken');
};

/** Blocks the event loop for longer than a slice, as the execution of a long list does. */
function block(): void {
  const until = performance.now() + 2;
  while (performance.now() < until);
}

const countLooks = (onLook: () => void) => repeat(() => setImmediate().then(onLook));

it('the operation queue lets the event loop handle connections between two operations that wait for something', async () => {
  const queue = createOperationQueue(MAX_WAIT_MS);
  const order: string[] = [];
  const stop = countLooks(() => order.push('look'));
  await Promise.all(
    ['a', 'b', 'c'].map((name) => queue.run(undefined, async () => order.push(name), unused)),
  );
  await stop();
  expect(order.join(' ')).toMatch(/^a (look )+b (look )+c/);
});

it('the operation queue refuses an operation that waited too long, without executing it', async () => {
  // Time passes in the operations only.
  const clock = stopClock();
  const queue = createOperationQueue(20);
  const execute = () => {
    clock.advance(15);
    return 'executed';
  };
  const askAs = (clients: (string | undefined)[]) =>
    Promise.all(clients.map((client) => queue.run(client, execute, refused)));
  const ten = Array.from({ length: 10 });
  const answers = await askAs(ten.map(() => 'one'));
  expect([answers[0], answers.at(-1)]).toEqual(['executed', 'by the client']);
  expect(await askAs(['one'])).toEqual(['executed']);
  expect((await askAs(ten.map((_, nth) => `${nth}`))).at(-1)).toBe('by the process');
  expect((await askAs(ten.map(() => undefined))).at(-1)).toBe('by the process');
});

it('the operation queue refuses operations at once while a thousand wait, first those of the client with the most', async () => {
  const queue = createOperationQueue(MAX_WAIT_MS);
  const outcomes: string[] = [];
  const ask = async (client: string) => {
    outcomes.push(await queue.run(client, () => 'executed', refused));
    return outcomes.at(-1);
  };
  const count = (outcome: string) => outcomes.filter((each) => each === outcome).length;
  const long = queue.run('long', block, unused);
  const many = Array.from({ length: 1_100 }, () => ask('many'));
  const few = ask('few');
  await setImmediate();
  expect(count('by the client')).toBeGreaterThan(90);
  expect(await few).toBe('executed');
  await Promise.all([long, ...many]);
  expect([queue.waiting, count('by the process')]).toEqual([0, 0]);
  const longer = queue.run('long', block, unused);
  await Promise.all([longer, ...Array.from({ length: 1_100 }, (_nothing, nth) => ask(`${nth}`))]);
  expect(count('by the process')).toBe(100);
});

it('the operation queue executes an operation of another client while many of a few clients wait for something', async () => {
  const queue = createOperationQueue(MAX_WAIT_MS);
  let release = () => {};
  const wait = new Promise<string>((resolve) => {
    release = () => resolve('executed');
  });
  const run = (client: string) => queue.run(client, () => wait, refused);
  const many = Array.from({ length: 700 }, (_nothing, nth) => run(`client ${nth % 5}`));
  await expect.poll(() => queue.waiting).toBe(0);
  const others = Array.from({ length: 101 }, (_nothing, nth) => run(`other ${nth}`));
  await expect.poll(() => queue.waiting).toBe(0);
  const again = run('other 0');
  await expect.poll(() => queue.waiting).toBe(0);
  expect(queue.inProgress).toBe(500);
  release();
  expect((await Promise.all(many)).filter((result) => result === 'executed')).toHaveLength(400);
  expect((await Promise.all(others)).slice(-2)).toEqual(['executed', 'by the process']);
  expect(await again).toBe('by the process');
});

it('the operation queue gives another client its turn while operations of one client resume', async () => {
  const queue = createOperationQueue(MAX_WAIT_MS);
  let answer: () => void = () => {};
  const upstream = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const order: string[] = [];
  const resumeLater = async () => {
    await upstream;
    await queue.resume('many', unused);
    block();
    order.push('many');
  };
  const many = Array.from({ length: 20 }, () => queue.run('many', resumeLater, unused));
  while (queue.waiting > 0) await setImmediate();
  answer();
  while (queue.waiting === 0) await null;
  await queue.run('other', () => order.push('other'), unused);
  await Promise.all(many);
  expect(order.indexOf('other')).toBeLessThan(3);
});

it('the operation queue executes an operation at once if no other runs or waits, and otherwise not', async () => {
  const queue = createOperationQueue(MAX_WAIT_MS);
  expect(queue.runNow(() => 7)).toEqual({ result: 7 });
  await setImmediate();
  expect(() => queue.runNow(broken)).toThrow('broken');
  await setImmediate();
  const long = queue.run('long', block, unused);
  expect(queue.runNow(unused)).toBeUndefined();
  const many = Array.from({ length: 900 }, (_nothing, nth) => queue.run('a', () => nth, unused));
  await long;
  expect((await Promise.all(many)).at(-1)).toBe(899);
  expect(queue.waiting).toBe(0);
});

it('operations that wait for the upstream do not block others, and resume one by one', async () => {
  const { query, upstream } = await createTestGateway({ hasListings: true });
  const release = upstream.hold('routes', json({ tokens: [] }));
  const routes =
    '{ destinations(srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48") { chainKey } }';
  const waiting = Array.from({ length: 20 }, (_nothing, nth) => query(`${routes} # ${nth}`));
  while (upstream.routesAsked().length === 0) await sleep(5);
  expect(await query('{ chain(chainKey: "base") { chainKey } }')).toEqual({
    data: { chain: { chainKey: 'base' } },
  });
  let looks = 0;
  const stop = countLooks(() => looks++);
  release();
  for (const answer of await Promise.all(waiting)) expect(answer).toEqual({ data: { destinations: [] } });
  await stop();
  // The event loop handled connections between any two operations.
  expect(looks).toBeGreaterThanOrEqual(20);
});

it('operations with routes that wait for the first token listing do not resume all at once', async () => {
  const { query, upstream } = await createTestGateway();
  const release = upstream.hold('tokens', json({ tokens: generatedListings(1, 1_000).tokens }));
  let looks = 0;
  const stop = countLooks(() => looks++);
  const operation = '{ tokens { symbol } destinations(srcChainKey: "a", srcToken: "0x1") { chainKey } }';
  const ends = Array.from({ length: 20 }, async (_nothing, nth) => {
    const { data } = await query(`${operation} # ${nth}`);
    expect(data).toMatchObject({ destinations: null });
    return looks;
  });
  while (upstream.count('tokens') === 0) await sleep(5);
  // Time for all operations to wait for this one answer.
  await sleep(200);
  release();
  const turns = await Promise.all(ends);
  await stop();
  expect(new Set(turns).size).toBe(20);
});
