/** A bounded queue in which clients take turns. */

/** Higher ones always go first. */
export type Priority = 0 | 1 | 2;

/** Undefined (an unknown client) and null (the sweep of routes) take turns like any other client. */
type Client = string | null | undefined;

/**
 * Within one priority the clients take turns (round-robin), so that a client with many tasks delays only its own tasks.
 * A full queue calls `refuse` of the task that it removes or does not add, with the number of waiting tasks.
 */
export function createFairQueue<Task extends { refuse(waiting: number): void }>(maxWaiting: number) {
  type TasksByClient = Map<Client, Task[]>;
  /** By priority and client: the waiting tasks, oldest first, never empty. The first client is next. */
  const levels: readonly TasksByClient[] = [new Map(), new Map(), new Map()];
  let waiting = 0;

  function remove(byClient: TasksByClient, client: Client, task: Task): void {
    const tasks = byClient.get(client) ?? [];
    const at = tasks.indexOf(task);
    if (at < 0) return;
    tasks.splice(at, 1);
    waiting--;
    if (tasks.length === 0) byClient.delete(client);
  }

  /** Whether more than half of the waiting tasks are of this client. False for an unknown client: it may be many clients. */
  function isMostlyOf(client: Client): boolean {
    if (typeof client !== 'string') return false;
    return 2 * levels.reduce((sum, byClient) => sum + (byClient.get(client)?.length ?? 0), 0) > waiting;
  }

  /** False if the new task must be refused. */
  function makeRoom(client: Client, priority: Priority): boolean {
    if (waiting < maxWaiting) return true;
    const lowest = levels.findIndex(({ size }) => size > 0);
    const byClient = levels[lowest];
    const [longestOf, longest = []] = (byClient && clientWithMost(byClient, ({ length }) => length)) ?? [];
    const newest = longest.at(-1);
    if (!byClient || !newest || lowest > priority) return false;
    if (lowest === priority && longest.length - (byClient.get(client)?.length ?? 0) < 2) return false;
    const before = waiting;
    remove(byClient, longestOf, newest);
    newest.refuse(before);
    return true;
  }

  return {
    get waiting() {
      return waiting;
    },
    isMostlyOf,
    take(): Task | undefined {
      const byClient = levels.findLast(({ size }) => size > 0);
      const [[client, tasks = []] = []] = byClient ?? [];
      const next = tasks[0];
      if (!byClient || !next) return undefined;
      remove(byClient, client, next);
      if (byClient.delete(client)) byClient.set(client, tasks);
      return next;
    },
    /**
     * A full queue refuses one task of the lowest priority, perhaps the given one: the newest task of the client with the
     * most such tasks. Returns a function that removes the task, if it still waits.
     */
    add(client: Client, priority: Priority, task: Task): () => void {
      const byClient = levels[priority];
      if (!byClient || !makeRoom(client, priority)) {
        task.refuse(waiting);
        return () => {};
      }
      const tasks = byClient.get(client);
      if (tasks) tasks.push(task);
      else byClient.set(client, [task]);
      waiting++;
      return () => remove(byClient, client, task);
    },
  };
}

/** The client that holds most of a scarce resource. It is refused first, so that it harms only itself. */
export function clientWithMost<Client, Held>(
  heldBy: ReadonlyMap<Client, Held>,
  amountOf: (held: Held) => number,
): readonly [client: Client, held: Held] | undefined {
  let most: readonly [Client, Held] | undefined;
  for (const entry of heldBy) if (!most || amountOf(entry[1]) > amountOf(most[1])) most = entry;
  return most;
}
