/** A queue that runs one task after the other, with turns for clients. */

export interface FairQueueOptions {
  /** How many tasks may wait, over all clients and priorities. */
  readonly maxWaiting: number;
  /**
   * Called after each task with a function that starts the next one, to be called once, now or later. By default it
   * starts the next task at once. With `setImmediate` the event loop handles other events between two tasks.
   */
  readonly defer?: (startNext: () => void) => void;
}

/** A task was refused because too many wait. */
export class QueueFullError extends Error {
  override readonly name = 'QueueFullError';

  /**
   * @param waiting how many tasks waited when this one was refused
   * @param isByClient whether more than half of the tasks before it were of the same client
   */
  constructor(
    readonly waiting: number,
    readonly isByClient: boolean,
  ) {
    super(`The queue is full: ${waiting} tasks wait`);
  }
}

/** Tasks of priority 1 always run before those of priority 0. */
export type Priority = 0 | 1;

interface WaitingTask {
  /** Whether more than half of the tasks before it were of the same client when it was added. */
  readonly isByClient: boolean;
  run(): void;
  refuse(reason: QueueFullError): void;
}

/** The waiting tasks of each client, the oldest first; lists are never empty. The first client has the next turn. */
type TasksByClient = Map<string | undefined, WaitingTask[]>;

/**
 * Creates a queue that runs one task at a time, by priority. Within one priority the clients take turns (round-robin), so
 * that a client with many tasks delays only its own. A client without a waiting task takes no memory.
 */
export function createFairQueue({ maxWaiting, defer = (startNext) => startNext() }: FairQueueOptions) {
  const tasksOf: Readonly<Record<Priority, TasksByClient>> = [new Map(), new Map()];
  let waiting = 0;
  let isRunning = false;

  /** Removes a task from the queue. False if it was not waiting. */
  function remove(byClient: TasksByClient, client: string | undefined, task: WaitingTask): boolean {
    const tasks = byClient.get(client) ?? [];
    const at = tasks.indexOf(task);
    if (at < 0) return false;
    tasks.splice(at, 1);
    waiting--;
    if (tasks.length === 0) byClient.delete(client);
    return true;
  }

  function end(): void {
    isRunning = false;
    const byClient = tasksOf[1].size > 0 ? tasksOf[1] : tasksOf[0];
    const [[client, tasks] = []] = byClient;
    const task = tasks?.[0];
    if (!task) return;
    remove(byClient, client, task);
    if (tasks.length > 0) {
      byClient.delete(client);
      byClient.set(client, tasks);
    }
    task.run();
  }

  /** Makes room for one more task, if necessary by refusing another one. False if the new task must be refused. */
  function makeRoom(client: string | undefined, priority: Priority): boolean {
    if (waiting < maxWaiting) return true;
    const lowest: Priority = tasksOf[0].size > 0 ? 0 : 1;
    if (lowest > priority) return false;
    const byClient = tasksOf[lowest];
    const ownCount = byClient.get(client)?.length ?? 0;
    const [longestOf, longest = []] = clientWithMost(byClient, ({ length }) => length) ?? [];
    if (lowest === priority && longest.length - ownCount < 2) return false;
    const newest = longest.at(-1);
    if (!newest) return false;
    const refusal = new QueueFullError(waiting, newest.isByClient);
    remove(byClient, longestOf, newest);
    newest.refuse(refusal);
    return true;
  }

  /** Whether more than half of the waiting tasks are of this client. False for an unknown client, which can be many. */
  function isMostlyOf(client: string | undefined): boolean {
    if (client === undefined) return false;
    return 2 * ((tasksOf[0].get(client)?.length ?? 0) + (tasksOf[1].get(client)?.length ?? 0)) > waiting;
  }

  return {
    /** How many tasks wait. */
    get waiting() {
      return waiting;
    },
    isMostlyOf,
    get isRunning() {
      return isRunning;
    },
    /**
     * Runs a synchronous task at once, if no other runs or waits.
     *
     * @returns its result in an object; undefined if it was not run
     */
    runNow<Result>(task: () => Result): { readonly result: Result } | undefined {
      if (isRunning || waiting > 0) return undefined;
      isRunning = true;
      try {
        return { result: task() };
      } finally {
        defer(end);
      }
    },
    /**
     * Runs the task when it is its turn. It starts before this call returns if no other task runs or waits.
     *
     * A full queue refuses one task: of the lowest priority with waiting tasks, the newest task of the client with the
     * most tasks there. It refuses the given task instead if that priority is higher, or if it is the same and that
     * client has fewer than two tasks more than the given one.
     *
     * @param client who asks; undefined is one client like any other
     * @param task called at most once
     * @param signal removes the task from the queue; without effect once the task runs
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
          isRunning = true;
          try {
            resolve(await task());
          } catch (error) {
            reject(error);
          }
          defer(end);
        };
        const byClient = tasksOf[priority];
        if (signal?.aborted) reject(signal.reason);
        else if (!isRunning && waiting === 0) run();
        else if (!makeRoom(client, priority)) reject(new QueueFullError(waiting, isMostlyOf(client)));
        else {
          const waitingTask: WaitingTask = { isByClient: isMostlyOf(client), run, refuse: reject };
          const tasks = byClient.get(client);
          if (tasks) tasks.push(waitingTask);
          else byClient.set(client, [waitingTask]);
          waiting++;
          const abort = () => {
            if (remove(byClient, client, waitingTask)) reject(signal?.reason);
          };
          signal?.addEventListener('abort', abort, { once: true });
        }
      });
    },
  };
}

/**
 * The client that holds most of a scarce resource, to be refused first: a client that takes too much only harms itself.
 *
 * @param amountOf how much a client holds
 */
export function clientWithMost<Client, Held>(
  heldBy: ReadonlyMap<Client, Held>,
  amountOf: (held: Held) => number,
): readonly [client: Client, held: Held] | undefined {
  let most: readonly [Client, Held] | undefined;
  for (const entry of heldBy) if (!most || amountOf(entry[1]) > amountOf(most[1])) most = entry;
  return most;
}
