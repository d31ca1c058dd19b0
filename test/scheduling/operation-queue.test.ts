import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createOperationQueue, type OperationQueue } from '../../src/scheduling/operation-queue.js';
import { stopClock } from '../support/clock.js';
import { startFakeUpstream } from '../support/fake-upstream.js';
import { createTestGateway } from '../support/test-gateway.js';

const MAX_WAIT_MS = 60_000;

/** Blocks the event loop, as the execution of a long list does. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

/** Runs an operation that takes longer than a slice, so that the next ones have to wait. */
function runLong(queue: OperationQueue): Promise<void> {
  return queue.run(
    'long',
    () => block(2),
    () => {},
  );
}

describe('the operation queue', () => {
  it.each([
    ['that wait for something', async (order: string[], name: string) => order.push(name)],
    [
      'of more than a millisecond',
      (order: string[], name: string) => {
        block(2);
        return order.push(name);
      },
    ],
  ])('lets the event loop handle connections between two operations %s', async (_name, execute) => {
    const queue = createOperationQueue(MAX_WAIT_MS);
    const order: string[] = [];
    // Each immediate stands for one pass of the event loop over its connections.
    const looking = (async () => {
      for (let look = 0; look < 4; look++) {
        await setImmediate();
        order.push('look');
      }
    })();
    const operations = ['a', 'b', 'c'].map((name) =>
      queue.run(
        undefined,
        () => execute(order, name),
        () => order.push('refused'),
      ),
    );
    await looking;
    await Promise.all(operations);
    expect(order.filter((each) => each !== 'look')).toEqual(['a', 'b', 'c']);
    expect(order.join(' ')).toMatch(/^a (look )+b (look )+c/);
  });

  it('refuses an operation that waited too long, without executing it', async () => {
    // Time passes in the operations only.
    const clock = stopClock();
    const queue = createOperationQueue(20);
    const execute = () => {
      clock.advance(15);
      return 'executed';
    };
    const ask = (client: string | undefined) =>
      queue.run(client, execute, (isByClient) => (isByClient ? 'by the client' : 'by the process'));
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask('one')));
    expect(answers[0]).toBe('executed');
    expect(answers.at(-1)).toBe('by the client');
    expect(await ask('one')).toBe('executed');
    // Ten different clients, and ten operations of unknown clients.
    const each = await Promise.all(Array.from({ length: 10 }, (_nothing, nth) => ask(`${nth}`)));
    expect(each.at(-1)).toBe('by the process');
    const unknown = await Promise.all(Array.from({ length: 10 }, () => ask(undefined)));
    expect(unknown.at(-1)).toBe('by the process');
  });

  it('refuses operations at once while a thousand wait, first those of the client with the most', async () => {
    const queue = createOperationQueue(MAX_WAIT_MS);
    let refused = 0;
    let refusedByProcess = 0;
    const ask = (client: string) =>
      queue.run(
        client,
        () => 'executed',
        (isByClient) => {
          refused++;
          if (!isByClient) refusedByProcess++;
          return 'refused';
        },
      );
    const long = runLong(queue);
    const many = Array.from({ length: 1_100 }, () => ask('many'));
    const few = ask('few');
    await setImmediate();
    expect(refused).toBeGreaterThan(90);
    expect(await few).toBe('executed');
    await Promise.all([long, ...many]);
    expect(queue.waiting).toBe(0);
    expect(refusedByProcess).toBe(0);
    const longer = runLong(queue);
    const all = Array.from({ length: 1_100 }, (_nothing, nth) => ask(`${nth}`));
    await Promise.all([longer, ...all]);
    expect(refusedByProcess).toBe(100);
  });

  it('lets one client have at most a quarter of the operations that wait for the upstream', async () => {
    const queue = createOperationQueue(MAX_WAIT_MS);
    let answer: (value: string) => void = () => {};
    const upstream = new Promise<string>((resolve) => {
      answer = resolve;
    });
    const ask = (client: string) =>
      queue.run(
        client,
        () => upstream,
        (isByClient) => (isByClient ? 'refused' : 'refused by the process'),
      );
    const greedy = Array.from({ length: 300 }, () => ask('greedy'));
    while (queue.waiting > 0) await setImmediate();
    expect(queue.inProgress).toBe(250);
    const other = ask('other');
    while (queue.waiting > 0) await setImmediate();
    answer('answered');
    expect(await other).toBe('answered');
    const answers = await Promise.all(greedy);
    expect(answers.filter((each) => each === 'refused')).toHaveLength(50);
    expect(queue.inProgress).toBe(0);
  });
});

describe('an operation', () => {
  const broken = () => {
    throw new Error('broken');
  };
  const unused = () => expect.unreachable();

  it('passes its value, promise or error to the caller', async () => {
    const queue = createOperationQueue(MAX_WAIT_MS);
    expect(await queue.run('a', () => 7, unused)).toBe(7);
    expect(await queue.run('a', async () => 8, unused)).toBe(8);
    await expect(queue.run('a', broken, unused)).rejects.toThrow('broken');
    expect(await queue.run('a', () => 9, unused)).toBe(9);
  });

  it('is executed at once if no other runs or waits, and otherwise not', async () => {
    const queue = createOperationQueue(MAX_WAIT_MS);
    expect(queue.runNow(() => 7)).toEqual({ result: 7 });
    await setImmediate();
    expect(() => queue.runNow(broken)).toThrow('broken');
    await setImmediate();
    const long = runLong(queue);
    expect(queue.runNow(unused)).toBeUndefined();
    const many = Array.from({ length: 900 }, (_nothing, nth) => queue.run('a', () => nth, unused));
    await long;
    expect((await Promise.all(many)).at(-1)).toBe(899);
    expect(queue.waiting).toBe(0);
  });
});

describe('operations that wait for the upstream', () => {
  it('do not block others, and resume one by one', async () => {
    const upstream = await startFakeUpstream();
    const { query } = await createTestGateway({ upstream });
    await query('{ chains { name } tokens { name } }');
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    upstream.plan('tokens', async (response) => {
      await released;
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"tokens":[]}');
    });
    const text =
      '{ destinations(srcChainKey: "ethereum", srcToken: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48") { chainKey } }';
    const waiting = Array.from({ length: 20 }, (_nothing, nth) => query(`${text} # ${nth}`));
    while (upstream.count('tokens') < 2) await sleep(5);
    expect(await query('{ chain(chainKey: "base") { chainKey } }')).toEqual({
      data: { chain: { chainKey: 'base' } },
    });
    let looks = 0;
    let isDone = false;
    const count = async () => {
      while (!isDone) {
        await setImmediate();
        looks++;
      }
    };
    const counting = count();
    release();
    for (const answer of await Promise.all(waiting)) expect(answer).toEqual({ data: { destinations: [] } });
    isDone = true;
    await counting;
    // The event loop handled connections between any two of them.
    expect(looks).toBeGreaterThanOrEqual(20);
  });
});
