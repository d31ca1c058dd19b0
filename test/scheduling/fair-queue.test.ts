import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createFairQueue, type Priority, type QueueFullError } from '../../src/scheduling/fair-queue.js';

/** A queue of names. */
function start(maxWaiting = 1000) {
  const queue = createFairQueue<{ name: string; refuse(reason: QueueFullError): void }>(maxWaiting);
  const refused: string[] = [];
  const refusals: QueueFullError[] = [];
  return {
    queue,
    refused,
    refusals,
    add(name: string, client: string | undefined, priority: Priority = 0) {
      const refuse = (reason: QueueFullError) => {
        refused.push(name);
        refusals.push(reason);
      };
      return queue.add(client, priority, { name, refuse });
    },
    /** Takes all tasks, in order. */
    takeAll() {
      const taken: string[] = [];
      for (let task = queue.take(); task; task = queue.take()) taken.push(task.name);
      return taken;
    },
  };
}

describe('the order of tasks', () => {
  it('alternates between clients, however many tasks one of them has', () => {
    const { add, takeAll } = start();
    for (let nth = 0; nth < 5; nth++) add(`a${nth}`, 'a');
    for (const name of ['b0', 'b1']) add(name, 'b');
    add('c0', undefined);
    expect(takeAll()).toEqual(['a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4']);
  });

  it('always puts higher priorities first', () => {
    const { add, takeAll } = start();
    add('a0', 'a', 0);
    add('b1', 'b', 1);
    add('c1', 'c', 2);
    add('c2', 'c', 2);
    add('d1', 'd', 2);
    expect(takeAll()).toEqual(['c1', 'd1', 'c2', 'b1', 'a0']);
  });
});

describe('a full queue', () => {
  it('refuses a task of a client that has as many tasks as the others', () => {
    const { add, refused, refusals, takeAll } = start(2);
    for (const name of ['a1', 'b1', 'b2', 'c1']) add(name, name.slice(0, 1));
    expect(refused).toEqual(['b2', 'c1']);
    expect(refusals).toMatchObject([{ waiting: 2, isByClient: false }, { waiting: 2 }]);
    expect(takeAll()).toEqual(['a1', 'b1']);
  });

  it('refuses the last task of the client with the most tasks in favour of a client with fewer', () => {
    const { add, refused, refusals, takeAll, queue } = start(4);
    for (let nth = 1; nth <= 4; nth++) add(`a${nth}`, 'a');
    for (const name of ['b1', 'b2', 'b3']) add(name, 'b');
    expect(queue.waiting).toBe(4);
    expect(takeAll()).toEqual(['a1', 'b1', 'a2', 'b2']);
    expect(refused).toEqual(['a4', 'a3', 'b3']);
    expect(refusals[0]).toMatchObject({ waiting: 4, isByClient: true });
  });

  it('refuses tasks of the lowest priority first, and never one of a higher priority', () => {
    const { add, refused, takeAll } = start(2);
    add('a1', 'a', 1);
    add('a2', 'a', 0);
    add('b1', 'b', 1);
    add('c1', 'c', 0);
    expect(takeAll()).toEqual(['a1', 'b1']);
    expect(refused).toEqual(['a2', 'c1']);
  });
});

describe('any sequence of tasks', () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({
        is: fc.constant('add' as const),
        client: fc.integer({ min: 0, max: 3 }),
        priority: fc.constantFrom<Priority>(0, 1, 2),
      }),
      fc.record({ is: fc.constant('take' as const) }),
      fc.record({ is: fc.constant('remove' as const), nth: fc.nat(50) }),
    ),
    { maxLength: 80 },
  );

  it('exceeds no limit, ends each task in exactly one way, and leaves the queue empty', () => {
    fc.assert(
      fc.property(steps, (plan) => {
        const { add, queue, refused, takeAll } = start(6);
        const removals: (() => void)[] = [];
        const ended: string[] = [];
        for (const step of plan) {
          const before = queue.waiting;
          if (step.is === 'add') removals.push(add(`${removals.length}`, `${step.client}`, step.priority));
          else if (step.is === 'take') ended.push(...[queue.take()].flatMap((task) => task?.name ?? []));
          else {
            removals[step.nth]?.();
            if (queue.waiting < before) ended.push(`${step.nth}`);
          }
          expect(queue.waiting).toBeLessThanOrEqual(6);
        }
        const all = [...ended, ...refused, ...takeAll()];
        expect(all.sort()).toEqual(removals.map((_, nth) => `${nth}`).sort());
        expect(queue.waiting).toBe(0);
      }),
      { numRuns: 200 },
    );
  });
});
