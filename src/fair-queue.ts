import { createLinkedList, type LinkedList, type ListNode } from './linked-list.js';

/** What {@link createFairQueue} takes. */
export interface FairQueueOptions {
  /** How many tasks run at once. */
  readonly concurrency: number;
  /** How many tasks may wait, over all clients and priorities. */
  readonly maxWaiting: number;
  /** How many tasks of one client may wait, over all priorities; as many as `maxWaiting` unless given. */
  readonly maxWaitingPerClient?: number;
  /**
   * Calls the given function once, now or later, to start the next tasks after one has ended; at once unless
   * given. With `setImmediate` the event loop takes a turn between two tasks.
   */
  readonly defer?: (startNext: () => void) => void;
}

/**
 * Runs tasks in turn: higher priorities first, and round-robin over the clients within one priority, so that a
 * client with many tasks delays its own tasks and not those of others. Each operation takes constant time for a
 * given number of distinct priorities. Nothing is kept of a client that has no task waiting.
 */
export interface FairQueue {
  /** How many tasks wait. */
  readonly waiting: number;
  /** How many tasks run. */
  readonly running: number;
  /** How many tasks of this client wait. */
  waitingOf(client: string | undefined): number;
  /**
   * Runs the task when its turn has come; before this call returns where a place is free and nobody waits.
   *
   * A full queue makes room by refusing the task that came last of the client with the most tasks in the lowest
   * priority, if that priority is lower than this one, or if it is the same and that client has at least two
   * tasks more in it. Otherwise this task is refused. A client at its own limit makes room among its own tasks
   * of a lower priority, or is refused.
   *
   * @param client who asks; undefined is one client like any other
   * @param priority a finite number; higher ones go first, always
   * @param task called once, unless the task is refused or aborted before
   * @param signal takes the task out of the queue; without effect once the task runs
   * @returns what the task returns
   * @throws by rejection: QueueFullError where the task is refused, now or while it waits; the reason of the
   *   signal where it was aborted; whatever the task throws
   */
  add<Result>(
    client: string | undefined,
    priority: number,
    task: () => Result | Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
}

/** A task was refused, since too many wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';

  /** @param waiting how many tasks waited when this one was refused */
  constructor(readonly waiting: number) {
    super(`The queue is full: ${waiting} tasks wait`);
  }
}

interface Waiting {
  readonly line: Line;
  run(): Promise<void>;
  refuse(reason: unknown): void;
}

/** The waiting tasks of one client in one priority, in the order in which they came. */
interface Line {
  readonly client: string | undefined;
  readonly tier: Tier;
  readonly tasks: LinkedList<Waiting>;
  count: number;
}

/** The lines of one priority. */
interface Tier {
  readonly priority: number;
  /** The first is the next to have a task run. */
  readonly round: LinkedList<Line>;
  /** The place of each client's line in the round. */
  readonly places: Map<string | undefined, ListNode<Line>>;
  /** The lines by how many tasks they have; no set is empty. */
  readonly byCount: Map<number, Set<Line>>;
  longest: number;
}

/** Makes an empty queue. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, maxWaiting, maxWaitingPerClient = maxWaiting, defer = (start) => start() } = options;
  /** Those with tasks, the highest priority first. */
  const tiers: Tier[] = [];
  const countOf = new Map<string | undefined, number>();
  let waiting = 0;
  let running = 0;

  function tierOf(priority: number): Tier {
    const known = tiers.find((tier) => tier.priority === priority);
    if (known) return known;
    const tier: Tier = {
      priority,
      round: createLinkedList(),
      places: new Map(),
      byCount: new Map(),
      longest: 0,
    };
    const place = tiers.findIndex((other) => other.priority < priority);
    tiers.splice(place < 0 ? tiers.length : place, 0, tier);
    return tier;
  }

  function lineOf(client: string | undefined, tier: Tier): Line {
    const known = tier.places.get(client);
    if (known) return known.value;
    const line: Line = { client, tier, tasks: createLinkedList(), count: 0 };
    tier.places.set(client, tier.round.push(line));
    return line;
  }

  /** Keeps all counts right when a line gets a task (1) or loses one (-1). */
  function recount(line: Line, change: 1 | -1): void {
    const { tier, client } = line;
    const before = tier.byCount.get(line.count);
    before?.delete(line);
    if (before?.size === 0) tier.byCount.delete(line.count);
    line.count += change;
    if (line.count > 0) {
      const same = tier.byCount.get(line.count);
      if (same) same.add(line);
      else tier.byCount.set(line.count, new Set([line]));
    }
    if (line.count > tier.longest) tier.longest = line.count;
    else if (!tier.byCount.has(tier.longest)) tier.longest = Math.max(0, tier.longest - 1);
    waiting += change;
    const ofClient = (countOf.get(client) ?? 0) + change;
    if (ofClient > 0) countOf.set(client, ofClient);
    else countOf.delete(client);
  }

  function takeOut(node: ListNode<Waiting>): Waiting {
    const { line } = node.value;
    const { tier, client } = line;
    line.tasks.delete(node);
    recount(line, -1);
    const place = tier.places.get(client);
    if (line.count === 0 && place) {
      tier.round.delete(place);
      tier.places.delete(client);
      if (tier.places.size === 0) tiers.splice(tiers.indexOf(tier), 1);
    }
    return node.value;
  }

  function startNext(): void {
    while (running < concurrency) {
      const place = tiers[0]?.round.first;
      const node = place?.value.tasks.first;
      if (!place || !node) return;
      const { run, line } = takeOut(node);
      if (line.count > 0) {
        line.tier.round.delete(place);
        line.tier.places.set(line.client, line.tier.round.push(line));
      }
      start(run);
    }
  }

  function start(run: () => Promise<void>): void {
    running++;
    run().then(() => {
      defer(() => {
        running--;
        startNext();
      });
    });
  }

  /** What has to give way to one more task; undefined where that task is the one to be refused. */
  function victimFor(client: string | undefined, priority: number): ListNode<Waiting> | undefined {
    const lowest = tiers.at(-1);
    if (!lowest || lowest.priority > priority) return undefined;
    const own = lowest.places.get(client)?.value.count ?? 0;
    if (lowest.priority === priority && lowest.longest - own < 2) return undefined;
    const [longest] = lowest.byCount.get(lowest.longest) ?? [];
    return longest?.tasks.last;
  }

  /** What of the client's own tasks has to give way to one more of it. */
  function ownVictimFor(client: string | undefined, priority: number): ListNode<Waiting> | undefined {
    const lowest = tiers.findLast((tier) => tier.places.has(client));
    return lowest && lowest.priority < priority ? lowest.places.get(client)?.value.tasks.last : undefined;
  }

  /** Whether there is room for one more task, if need be because another has given way to it. */
  function makeRoom(client: string | undefined, priority: number): boolean {
    const isOverOwn = (countOf.get(client) ?? 0) >= maxWaitingPerClient;
    if (!isOverOwn && waiting < maxWaiting) return true;
    const victim = isOverOwn ? ownVictimFor(client, priority) : victimFor(client, priority);
    if (!victim) return false;
    const refusal = new QueueFullError(waiting);
    takeOut(victim).refuse(refusal);
    return true;
  }

  return {
    get waiting() {
      return waiting;
    },
    get running() {
      return running;
    },
    waitingOf: (client) => countOf.get(client) ?? 0,
    add(client, priority, task, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) {
          reject(signal.reason);
          return;
        }
        const run = async () => {
          try {
            resolve(await task());
          } catch (error) {
            reject(error);
          }
        };
        if (running < concurrency && waiting === 0) {
          start(run);
          return;
        }
        if (!makeRoom(client, priority)) {
          reject(new QueueFullError(waiting));
          return;
        }
        const line = lineOf(client, tierOf(priority));
        const node: ListNode<Waiting> = line.tasks.push({
          line,
          run() {
            signal?.removeEventListener('abort', abort);
            return run();
          },
          refuse(reason) {
            signal?.removeEventListener('abort', abort);
            reject(reason);
          },
        });
        const abort = () => takeOut(node).refuse(signal?.reason);
        recount(line, 1);
        signal?.addEventListener('abort', abort, { once: true });
      });
    },
  };
}
