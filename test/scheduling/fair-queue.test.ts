import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createFairQueue,
  type FairQueueOptions,
  type Priority,
  QueueFullError,
} from '../../src/scheduling/fair-queue.js';

const turns = () => new Promise((resolve) => setImmediate(resolve));

/** A queue whose tasks run until the test ends them. */
function start(options: Partial<FairQueueOptions> = {}) {
  const queue = createFairQueue({ concurrency: 1, maxWaiting: 1000, ...options });
  const started: string[] = [];
  const refused: string[] = [];
  const endings = new Map<string, () => void>();
  return {
    queue,
    started,
    refused,
    add(name: string, client: string | undefined, priority: Priority = 0, signal?: AbortSignal) {
      const run = () =>
        new Promise<string>((resolve) => {
          started.push(name);
          endings.set(name, () => resolve(name));
        });
      const result = queue.add(client, priority, run, signal);
      result.catch((error) => {
        if (error instanceof QueueFullError) refused.push(name);
      });
      return result;
    },
    /** Ends what runs, one task after the other, until nothing is left. */
    async endAll() {
      while (queue.running > 0) {
        for (const [name, end] of endings) {
          endings.delete(name);
          end();
          break;
        }
        await turns();
      }
      return started;
    },
  };
}

describe('the order', () => {
  it('is that of arrival for one client', async () => {
    const { add, endAll } = start();
    for (const name of ['a1', 'a2', 'a3']) add(name, 'a');
    expect(await endAll()).toEqual(['a1', 'a2', 'a3']);
  });

  it('is round-robin over clients, however many tasks one of them has', async () => {
    const { add, endAll } = start();
    for (let nth = 0; nth < 5; nth++) add(`a${nth}`, 'a');
    for (const name of ['b0', 'b1']) add(name, 'b');
    add('c0', undefined);
    expect(await endAll()).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4']);
  });

  it('puts higher priorities first, always', async () => {
    const { add, endAll } = start();
    add('a0', 'a', 0);
    add('a1', 'a', 0);
    add('c1', 'c', 1);
    add('b1', 'b', 0);
    add('c2', 'c', 1);
    add('d1', 'd', 1);
    expect(await endAll()).toEqual(['a0', 'c1', 'd1', 'c2', 'a1', 'b1']);
  });

  it('lets as many run at once as it is told', async () => {
    const { add, queue, started } = start({ concurrency: 2 });
    for (const name of ['a1', 'a2', 'a3']) add(name, 'a');
    expect(started).toEqual(['a1', 'a2']);
    expect([queue.running, queue.waiting]).toEqual([2, 1]);
  });
});

describe('what a task comes to', () => {
  it('is given to the caller: a value, a promise, an error', async () => {
    const { queue } = start();
    expect(await queue.add('a', 0, () => 7)).toBe(7);
    expect(await queue.add('a', 0, async () => 8)).toBe(8);
    const broken = queue.add('a', 0, () => {
      throw new Error('broken');
    });
    await expect(broken).rejects.toThrow('broken');
    await turns();
    expect(await queue.add('a', 0, () => 9)).toBe(9);
  });

  it('is waited for before the next starts, and that can be put off', async () => {
    const deferred: (() => void)[] = [];
    const { add, endAll, started, queue } = start({ defer: (next) => deferred.push(next) });
    add('a1', 'a');
    add('a2', 'a');
    const ended = endAll();
    await turns();
    expect(started).toEqual(['a1']);
    add('b1', 'b');
    expect([queue.running, queue.waiting]).toEqual([1, 2]);
    while (queue.running > 0) {
      deferred.shift()?.();
      await turns();
    }
    expect(await ended).toEqual(['a1', 'a2', 'b1']);
  });
});

describe('a full queue', () => {
  it('refuses a client that has no fewer tasks than the others', async () => {
    const { add, refused, endAll } = start({ maxWaiting: 2 });
    for (const name of ['a0', 'a1', 'b1']) add(name, name.slice(0, 1));
    add('b2', 'b');
    await expect(add('c1', 'c')).rejects.toMatchObject({ waiting: 2 });
    expect(await endAll()).toEqual(['a0', 'a1', 'b1']);
    expect(refused).toEqual(['b2', 'c1']);
  });

  it('refuses the last task of the client with the most, to make room for one with fewer', async () => {
    const { add, refused, endAll, queue } = start({ maxWaiting: 4 });
    for (let nth = 0; nth <= 4; nth++) add(`a${nth}`, 'a');
    for (const name of ['b1', 'b2', 'b3']) add(name, 'b');
    expect(queue.waiting).toBe(4);
    expect(await endAll()).toEqual(['a0', 'a1', 'b1', 'a2', 'b2']);
    expect(refused).toEqual(['a4', 'a3', 'b3']);
  });

  it('refuses the lowest priority first, and nothing of a higher one', async () => {
    const { add, refused, endAll } = start({ maxWaiting: 2 });
    add('a0', 'a', 1);
    add('a1', 'a', 1);
    add('a2', 'a', 0);
    add('b1', 'b', 1);
    add('c1', 'c', 0);
    expect(await endAll()).toEqual(['a0', 'a1', 'b1']);
    expect(refused).toEqual(['a2', 'c1']);
  });
});

describe('a task that waits for nothing', () => {
  it('runs at once if nothing else runs, and otherwise in its turn', async () => {
    const { add, endAll, queue, started } = start();
    queue.enter(
      'a',
      0,
      () => started.push('a0'),
      () => expect.unreachable(),
    );
    add('a1', 'a');
    for (const name of ['a2', 'a3', 'b0'])
      queue.enter(
        name.slice(0, 1),
        0,
        () => started.push(name),
        () => expect.unreachable(),
      );
    expect(started).toEqual(['a0', 'a1']);
    expect(queue.waiting).toBe(3);
    expect(await endAll()).toEqual(['a0', 'a1', 'a2', 'b0', 'a3']);
    expect([queue.waiting, queue.running]).toEqual([0, 0]);
  });

  it('may be one of very many that end at once', async () => {
    const { add, endAll, queue } = start({ maxWaiting: 100_000 });
    add('a0', 'a');
    let count = 0;
    for (let nth = 0; nth < 100_000; nth++)
      queue.enter(
        'a',
        0,
        () => count++,
        () => expect.unreachable(),
      );
    await endAll();
    expect(count).toBe(100_000);
    expect([queue.waiting, queue.running]).toEqual([0, 0]);
  });

  it('is refused by a full queue, and to make room for a client with fewer', async () => {
    const { add, endAll, queue, started, refused } = start({ maxWaiting: 2 });
    add('a0', 'a');
    const enter = (name: string) =>
      queue.enter(
        name.slice(0, 1),
        0,
        () => started.push(name),
        (error) => refused.push(`${name} of ${error.waiting}`),
      );
    for (const name of ['a1', 'a2', 'a3', 'b0']) enter(name);
    expect(refused).toEqual(['a3 of 2', 'a2 of 2']);
    expect(await endAll()).toEqual(['a0', 'a1', 'b0']);
  });
});

describe('a signal', () => {
  it('takes a waiting task out, and leaves no listener behind', async () => {
    const { add, endAll, queue } = start();
    const controller = new AbortController();
    const { signal } = controller;
    const results = ['a0', 'a1', 'a2'].map((name) => add(name, 'a', 0, name === 'a1' ? signal : undefined));
    controller.abort(new Error('gone'));
    await expect(results[1]).rejects.toThrow('gone');
    await expect(add('late', 'a', 0, signal)).rejects.toThrow('gone');
    expect(queue.waiting).toBe(1);
    expect(await endAll()).toEqual(['a0', 'a2']);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('does nothing to a task that runs', async () => {
    const { add, endAll } = start();
    const controller = new AbortController();
    const { signal } = controller;
    const running = add('a0', 'a');
    const next = add('a1', 'a', 0, signal);
    const ended = endAll();
    await running;
    await turns();
    controller.abort(new Error('gone'));
    expect(await next).toBe('a1');
    await ended;
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('whatever comes', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({
        is: fc.constant('add' as const),
        client: fc.integer({ min: 0, max: 3 }),
        priority: fc.constantFrom<Priority>(0, 1),
      }),
      fc.record({ is: fc.constant('end' as const) }),
      fc.record({ is: fc.constant('abort' as const), nth: fc.nat(50) }),
    ),
    { maxLength: 80 },
  );

  it('no limit is passed, each task ends in one way, and nothing is kept in the end', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const options = { concurrency: 2, maxWaiting: 6 };
        const { add, endAll, queue, started } = start(options);
        const outcomes: Promise<string>[] = [];
        const controllers: AbortController[] = [];
        let ends: Promise<unknown> = Promise.resolve();
        for (const step of plan) {
          if (step.is === 'add') {
            const controller = new AbortController();
            controllers.push(controller);
            const added = add(`${outcomes.length}`, `${step.client}`, step.priority, controller.signal);
            outcomes.push(
              added.then(
                () => 'done',
                (error) => (error instanceof QueueFullError ? 'refused' : 'aborted'),
              ),
            );
          } else if (step.is === 'abort') {
            controllers[step.nth]?.abort();
          } else {
            ends = endAll();
          }
          expect(queue.waiting).toBeLessThanOrEqual(6);
          expect(queue.running).toBeLessThanOrEqual(2);
          if (queue.waiting > 0) expect(queue.running).toBe(2);
        }
        await ends;
        await endAll();
        const settled = await Promise.all(outcomes);
        expect(settled.filter((outcome) => outcome === 'done')).toHaveLength(started.length);
        expect(new Set(started).size).toBe(started.length);
        expect([queue.waiting, queue.running]).toEqual([0, 0]);
      }),
      { numRuns: 200 },
    );
  });
});
