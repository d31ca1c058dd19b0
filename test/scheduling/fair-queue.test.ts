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

it('tasks of higher priorities go first, and clients take turns, however many tasks one of them has', () => {
  const { add, takeAll } = start();
  for (let nth = 0; nth < 5; nth++) add(`a${nth}`, 'a');
  for (const name of ['b0', 'b1']) add(name, 'b');
  add('c0', undefined);
  add('b2', 'b', 1);
  for (const name of ['c3', 'c4']) add(name, 'c', 2);
  add('d3', 'd', 2);
  expect(takeAll()).toEqual(['c3', 'd3', 'c4', 'b2', 'a0', 'b0', 'c0', 'a1', 'b1', 'a2', 'a3', 'a4']);
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

it('any sequence of tasks exceeds no limit, ends each task in exactly one way, and leaves the queue empty', () => {
  const add = fc.record({ client: fc.nat(3), priority: fc.constantFrom<Priority>(0, 1, 2) });
  const steps = fc.array(fc.oneof(add, fc.constant('take' as const), fc.nat(50)), { maxLength: 80 });
  fc.assert(
    fc.property(steps, (plan) => {
      const { add, queue, refused, takeAll } = start(6);
      const removals: (() => void)[] = [];
      const ended: string[] = [];
      for (const step of plan) {
        const before = queue.waiting;
        if (step === 'take') ended.push(...[queue.take()].flatMap((task) => task?.name ?? []));
        else if (typeof step === 'object')
          removals.push(add(`${removals.length}`, `${step.client}`, step.priority));
        else {
          // A number removes the task that was added so early.
          removals[step]?.();
          if (queue.waiting < before) ended.push(`${step}`);
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
