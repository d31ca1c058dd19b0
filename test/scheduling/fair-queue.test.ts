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
  const queue = createFairQueue({ maxWaiting: 1000, ...options });
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
    /** Ends all tasks, one after the other, until the queue is empty. */
    async endAll() {
      while (queue.isRunning) {
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

describe('the order of tasks', () => {
  it('alternates between clients, however many tasks one of them has', async () => {
    const { add, endAll } = start();
    for (let nth = 0; nth < 5; nth++) add(`a${nth}`, 'a');
    for (const name of ['b0', 'b1']) add(name, 'b');
    add('c0', undefined);
    expect(await endAll()).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3', 'a4']);
  });

  it('always puts higher priorities first', async () => {
    const { add, endAll } = start();
    add('a0', 'a', 0);
    add('a1', 'a', 0);
    add('c1', 'c', 1);
    add('b1', 'b', 0);
    add('c2', 'c', 1);
    add('d1', 'd', 1);
    expect(await endAll()).toEqual(['a0', 'c1', 'd1', 'c2', 'a1', 'b1']);
  });
});

describe('a task', () => {
  it('passes its value, promise or error to the caller', async () => {
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

  it('ends before the next one starts, and the start of the next can be deferred', async () => {
    const deferred: (() => void)[] = [];
    const { add, endAll, started, queue } = start({ defer: (next) => deferred.push(next) });
    add('a1', 'a');
    add('a2', 'a');
    const ended = endAll();
    await turns();
    expect(started).toEqual(['a1']);
    add('b1', 'b');
    expect([queue.isRunning, queue.waiting]).toEqual([true, 2]);
    while (queue.isRunning) {
      deferred.shift()?.();
      await turns();
    }
    expect(await ended).toEqual(['a1', 'a2', 'b1']);
  });
});

describe('a full queue', () => {
  it('refuses a task of a client that has as many tasks as the others', async () => {
    const { add, refused, endAll } = start({ maxWaiting: 2 });
    for (const name of ['a0', 'a1', 'b1']) add(name, name.slice(0, 1));
    add('b2', 'b');
    await expect(add('c1', 'c')).rejects.toMatchObject({ waiting: 2 });
    expect(await endAll()).toEqual(['a0', 'a1', 'b1']);
    expect(refused).toEqual(['b2', 'c1']);
  });

  it('refuses the last task of the client with the most tasks in favour of a client with fewer', async () => {
    const { add, refused, endAll, queue } = start({ maxWaiting: 4 });
    for (let nth = 0; nth <= 4; nth++) add(`a${nth}`, 'a');
    for (const name of ['b1', 'b2', 'b3']) add(name, 'b');
    expect(queue.waiting).toBe(4);
    expect(await endAll()).toEqual(['a0', 'a1', 'b1', 'a2', 'b2']);
    expect(refused).toEqual(['a4', 'a3', 'b3']);
  });

  it('refuses tasks of the lowest priority first, and never one of a higher priority', async () => {
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

describe('a synchronous task', () => {
  it('runs at once if no other task runs or waits, and otherwise does not run', async () => {
    const { add, endAll, queue } = start();
    expect(queue.runNow(() => 7)).toEqual({ result: 7 });
    expect(() =>
      queue.runNow(() => {
        throw new Error('broken');
      }),
    ).toThrow('broken');
    add('a0', 'a');
    expect(queue.runNow(() => expect.unreachable())).toBeUndefined();
    expect(await endAll()).toEqual(['a0']);
    expect([queue.waiting, queue.isRunning]).toEqual([0, false]);
  });

  it('can be followed by very many tasks that end at once, without exhausting the stack', async () => {
    const { add, endAll, queue } = start({ maxWaiting: 30_000 });
    add('a0', 'a');
    let count = 0;
    const all = Array.from({ length: 30_000 }, () => queue.add('a', 0, () => count++));
    await endAll();
    await Promise.all(all);
    expect(count).toBe(30_000);
    expect([queue.waiting, queue.isRunning]).toEqual([0, false]);
  });
});

describe('an abort signal', () => {
  it('removes a waiting task, and keeps no listener afterwards', async () => {
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

  it('has no effect on a running task', async () => {
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

describe('any sequence of tasks', () => {
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

  it('exceeds no limit, ends each task in exactly one way, and leaves the queue empty', async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (plan) => {
        const { add, endAll, queue, started } = start({ maxWaiting: 6 });
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
          if (queue.waiting > 0) expect(queue.isRunning).toBe(true);
        }
        await ends;
        await endAll();
        const settled = await Promise.all(outcomes);
        expect(settled.filter((outcome) => outcome === 'done')).toHaveLength(started.length);
        expect(new Set(started).size).toBe(started.length);
        expect([queue.waiting, queue.isRunning]).toEqual([0, false]);
      }),
      { numRuns: 200 },
    );
  });
});
