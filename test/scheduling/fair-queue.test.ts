/** The fair queue takes tasks by priority and lets clients take turns, within its limits. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFairQueue, type Priority } from '../../src/scheduling/fair-queue.js';

/** A queue of tasks with names: `b2` is a task of the client `b`. */
function start(maxWaiting = 1000) {
  const queue = createFairQueue<{ name: string; refuse(waiting: number): void }>(maxWaiting);
  const refused: string[] = [];
  const refusals: number[] = [];
  return {
    queue,
    refused,
    refusals,
    add(name: string, priority: Priority = 0, client = name.slice(0, 1)) {
      const refuse = (waiting: number) => {
        refused.push(name);
        refusals.push(waiting);
      };
      return queue.add(client === '?' ? undefined : client, priority, { name, refuse });
    },
    takeAll() {
      const taken: string[] = [];
      for (let task = queue.take(); task; task = queue.take()) taken.push(task.name);
      return taken.join(' ');
    },
  };
}

it.each([
  ['a client that has as many tasks as the others', 'a1 b1 b2 c1', 'b2 c1', 'a1 b1'],
  ['the client with the most tasks', 'a1 a2 a3 a4 b1 b2 b3', 'a4 a3 b3', 'a1 b1 a2 b2'],
  ['the lowest priority (capitals have a higher priority)', 'A1 a2 B1 c1', 'a2 c1', 'A1 B1'],
])('a full queue refuses the last tasks of %s: of %s it refuses %s', (_who, added, refused, taken) => {
  const { add, refusals, takeAll, ...started } = start(taken.split(' ').length);
  for (const name of added.split(' ')) add(name, /[A-Z]/.test(name) ? 1 : 0, name.slice(0, 1).toLowerCase());
  expect(refusals[0]).toBe(taken.split(' ').length);
  expect([started.refused.join(' '), takeAll()]).toEqual([refused, taken]);
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
          removals.push(add(`${removals.length}`, step.priority, `${step.client}`));
        else {
          // The number n removes the task that was added as number n.
          removals[step]?.();
          if (queue.waiting < before) ended.push(`${step}`);
        }
        expect(queue.waiting).toBeLessThanOrEqual(6);
      }
      const all = [...ended, ...refused, ...takeAll().split(' ')].filter(Boolean);
      expect(all.sort()).toEqual(removals.map((_, nth) => `${nth}`).sort());
      expect(queue.waiting).toBe(0);
    }),
    { numRuns: 200 },
  );
});
