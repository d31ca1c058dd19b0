import { clientWithMost } from './client-with-most.js';

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

/** A task was refused because too many wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';

  /** @param waiting how many tasks waited when this one was refused */
  constructor(readonly waiting: number) {
    super(`The queue is full: ${waiting} tasks wait`);
  }
}

/** Higher ones always go first. */
export type Priority = 0 | 1;

interface WaitingTask {
  run(): void;
  refuse(reason: QueueFullError): void;
}

/** The waiting tasks of each client, the oldest first; no list is empty. The first client has the next turn. */
type Lines = Map<string | undefined, WaitingTask[]>;

export type FairQueue = ReturnType<typeof createFairQueue>;

/**
 * Makes an empty queue. It runs tasks by priority. Within one priority the clients take turns (round-robin), so that a
 * client with many tasks delays its own tasks and not those of others. Clients without a waiting task take no memory.
 */
export function createFairQueue(options: FairQueueOptions) {
  const { concurrency, maxWaiting, defer = (startNext) => startNext() } = options;
  const linesOf: Readonly<Record<Priority, Lines>> = [new Map(), new Map()];
  let waiting = 0;
  let running = 0;
  let isStarting = false;

  /** Takes a task out of the queue; false if it does not wait. */
  function remove(lines: Lines, client: string | undefined, task: WaitingTask): boolean {
    const line = lines.get(client) ?? [];
    const at = line.indexOf(task);
    if (at < 0) return false;
    line.splice(at, 1);
    waiting--;
    if (line.length === 0) lines.delete(client);
    return true;
  }

  function startNext(): void {
    // A task that ends at once comes here again: a thousand of them would be too deep for the stack.
    if (isStarting) return;
    isStarting = true;
    try {
      for (let task = takeNext(); task; task = takeNext()) task.run();
    } finally {
      isStarting = false;
    }
  }

  function takeNext(): WaitingTask | undefined {
    if (running >= concurrency) return undefined;
    const lines = linesOf[1].size > 0 ? linesOf[1] : linesOf[0];
    const [[client, line] = []] = lines;
    const task = line?.[0];
    if (!task) return undefined;
    remove(lines, client, task);
    if (line.length > 0 && lines.size > 1) {
      lines.delete(client);
      lines.set(client, line);
    }
    return task;
  }

  function end(): void {
    running--;
    startNext();
  }

  /** Whether the queue has room for one more task, if necessary because it refused another one. */
  function makeRoom(client: string | undefined, priority: Priority): boolean {
    if (waiting < maxWaiting) return true;
    const lowest: Priority = linesOf[0].size > 0 ? 0 : 1;
    if (lowest > priority) return false;
    const lines = linesOf[lowest];
    const ownCount = lines.get(client)?.length ?? 0;
    const [longestOf, longest = []] = clientWithMost(lines, ({ length }) => length) ?? [];
    if (lowest === priority && longest.length - ownCount < 2) return false;
    const newest = longest.at(-1);
    if (!newest) return false;
    const refusal = new QueueFullError(waiting);
    remove(lines, longestOf, newest);
    newest.refuse(refusal);
    return true;
  }

  function wait(client: string | undefined, priority: Priority, task: WaitingTask): void {
    if (!makeRoom(client, priority)) {
      task.refuse(new QueueFullError(waiting));
      return;
    }
    const lines = linesOf[priority];
    const line = lines.get(client);
    if (line) line.push(task);
    else lines.set(client, [task]);
    waiting++;
  }

  function runSync<Result>(task: () => Result): Result {
    running++;
    try {
      return task();
    } finally {
      defer(end);
    }
  }

  return {
    /** How many tasks wait. */
    get waiting() {
      return waiting;
    },
    /** How many tasks run. */
    get running() {
      return running;
    },
    /**
     * Runs a task that waits for nothing, if fewer than `concurrency` run and none waits.
     *
     * @returns its result in an object; undefined if it was not run
     */
    runNow<Result>(task: () => Result): { readonly result: Result } | undefined {
      if (running >= concurrency || waiting > 0) return undefined;
      return { result: runSync(task) };
    },
    /**
     * As `add`, for a synchronous task, and without a promise.
     *
     * @param task called at most once; it must not throw
     * @param refuse called instead if the task is refused, now or while it waits; it must not throw
     */
    enter(
      client: string | undefined,
      priority: Priority,
      task: () => void,
      refuse: (reason: QueueFullError) => void,
    ): void {
      if (running < concurrency && waiting === 0) runSync(task);
      else wait(client, priority, { run: () => runSync(task), refuse });
    },
    /**
     * Runs the task in its turn. It is started before this call returns if fewer than `concurrency` run and none waits.
     *
     * A full queue makes room by refusing a task of the lowest priority: the newest task of the client that has most
     * tasks there. It does so if that priority is lower than this one, or if it is the same and that client has at
     * least two tasks more than this one. Otherwise it refuses this task.
     *
     * @param client who asks; undefined is one client like any other
     * @param task called at most once
     * @param signal takes the task out of the queue; without effect once the task runs
     * @returns the result of the task
     * @throws by rejection: QueueFullError if the task is refused, now or while it waits; the reason of the signal if
     *   it was aborted; any error of the task
     */
    add<Result>(
      client: string | undefined,
      priority: Priority,
      task: () => Result | Promise<Result>,
      signal?: AbortSignal,
    ): Promise<Result> {
      return new Promise((resolve, reject) => {
        const run = async () => {
          running++;
          try {
            resolve(await task());
          } catch (error) {
            reject(error);
          }
          defer(end);
        };
        if (signal?.aborted) reject(signal.reason);
        else if (running < concurrency && waiting === 0) run();
        else {
          const waitingTask: WaitingTask = { run, refuse: reject };
          const abort = () => {
            if (remove(linesOf[priority], client, waitingTask)) reject(signal?.reason);
          };
          signal?.addEventListener('abort', abort, { once: true });
          wait(client, priority, waitingTask);
        }
      });
    },
  };
}
