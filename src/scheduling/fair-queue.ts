export interface FairQueueOptions {
  /** How many tasks run at once. */
  readonly concurrency: number;
  /** How many tasks may wait, over all clients and priorities. */
  readonly maxWaiting: number;
  /**
   * Calls the given function once, now or later, to start the next tasks after one has ended; at once unless
   * given. With `setImmediate` the event loop takes a turn between two tasks.
   */
  readonly defer?: (startNext: () => void) => void;
}

/**
 * Runs tasks by priority, the highest first. Within one priority the clients take turns (round-robin), so that a
 * client with many tasks delays its own tasks and not those of others. Clients without a waiting task take no memory.
 */
export interface FairQueue {
  /** How many tasks wait. */
  readonly waiting: number;
  /** How many tasks run. */
  readonly running: number;
  /**
   * Runs the task in its turn. It is started before this call returns if fewer than `concurrency` run and none waits.
   *
   * A full queue makes room by refusing a task of the lowest priority: the newest task of the client that has most
   * tasks there. It does so if that priority is lower than this one, or if it is the same and that client has at
   * least two tasks more than this one. Otherwise it refuses this task.
   *
   * @param client who asks; undefined is one client like any other
   * @param priority a finite number; higher ones always go first
   * @param task called at most once
   * @param signal takes the task out of the queue; without effect once the task runs
   * @returns the result of the task
   * @throws by rejection: QueueFullError if the task is refused, now or while it waits; the reason of the signal if
   *   it was aborted; any error of the task
   */
  add<Result>(
    client: string | undefined,
    priority: number,
    task: () => Result | Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result>;
}

/** A task was refused because too many wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';

  /** @param waiting how many tasks waited when this one was refused */
  constructor(readonly waiting: number) {
    super(`The queue is full: ${waiting} tasks wait`);
  }
}

interface WaitingTask {
  run(): Promise<void>;
  refuse(reason: unknown): void;
}

/** The waiting tasks of one priority. */
interface Tier {
  readonly priority: number;
  /** Each client's tasks, the oldest first; none is empty. The first client of the map has the next turn. */
  readonly lines: Map<string | undefined, WaitingTask[]>;
}

/** Makes an empty queue. */
export function createFairQueue(options: FairQueueOptions): FairQueue {
  const { concurrency, maxWaiting, defer = (startNext) => startNext() } = options;
  /** Those with waiting tasks, the highest priority first. */
  const tiers: Tier[] = [];
  let waiting = 0;
  let running = 0;

  function tierOf(priority: number): Tier {
    const known = tiers.find((tier) => tier.priority === priority);
    if (known) return known;
    const tier: Tier = { priority, lines: new Map() };
    const index = tiers.findIndex((other) => other.priority < priority);
    tiers.splice(index < 0 ? tiers.length : index, 0, tier);
    return tier;
  }

  function remove(tier: Tier, client: string | undefined, task: WaitingTask): void {
    const line = tier.lines.get(client) ?? [];
    line.splice(line.indexOf(task), 1);
    waiting--;
    if (line.length === 0) tier.lines.delete(client);
    if (tier.lines.size === 0) tiers.splice(tiers.indexOf(tier), 1);
  }

  function startNext(): void {
    while (running < concurrency) {
      const tier = tiers[0];
      const [next] = tier?.lines ?? [];
      const task = next?.[1][0];
      if (!tier || !next || !task) return;
      const [client, line] = next;
      remove(tier, client, task);
      if (line.length > 0) {
        tier.lines.delete(client);
        tier.lines.set(client, line);
      }
      start(task.run);
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

  /** Whether the queue has room for one more task, if necessary because it refused another one. */
  function makeRoom(client: string | undefined, priority: number): boolean {
    if (waiting < maxWaiting) return true;
    const lowest = tiers.at(-1);
    if (!lowest || lowest.priority > priority) return false;
    const ownCount = lowest.lines.get(client)?.length ?? 0;
    const [longestOf, longest] = longestLineIn(lowest);
    if (lowest.priority === priority && longest.length - ownCount < 2) return false;
    const newest = longest.at(-1);
    if (!newest) return false;
    const refusal = new QueueFullError(waiting);
    remove(lowest, longestOf, newest);
    newest.refuse(refusal);
    return true;
  }

  return {
    get waiting() {
      return waiting;
    },
    get running() {
      return running;
    },
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
        const tier = tierOf(priority);
        const waitingTask: WaitingTask = {
          run() {
            signal?.removeEventListener('abort', abort);
            return run();
          },
          refuse(reason) {
            signal?.removeEventListener('abort', abort);
            reject(reason);
          },
        };
        const abort = () => {
          remove(tier, client, waitingTask);
          waitingTask.refuse(signal?.reason);
        };
        signal?.addEventListener('abort', abort, { once: true });
        const line = tier.lines.get(client);
        if (line) line.push(waitingTask);
        else tier.lines.set(client, [waitingTask]);
        waiting++;
      });
    },
  };
}

function longestLineIn({ lines }: Tier): readonly [client: string | undefined, line: readonly WaitingTask[]] {
  let longest: [string | undefined, WaitingTask[]] = [undefined, []];
  for (const entry of lines) if (entry[1].length > longest[1].length) longest = entry;
  return longest;
}
