import { createFairQueue, QueueFullError } from './fair-queue.js';

/** Limits on how operations share the event loop. */
export interface TurnsOptions {
  /** How long an operation may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

/**
 * Executes operations one after the other. Between two of them the event loop takes a turn, in which health checks
 * and cached responses are served: a burst of operations would otherwise run in one go.
 *
 * Clients take turns round-robin, so that a client with many operations delays only its own.
 */
export interface Turns {
  /**
   * Executes an operation in its turn.
   *
   * @param client who asks; undefined is one client like any other
   * @param execute starts the operation; what it does before it waits for something else is its turn
   * @param refuse called in place of `execute` where the operation would wait too long, or too many are under way
   */
  run<Result>(
    client: string | undefined,
    execute: () => Result | Promise<Result>,
    refuse: () => Result | Promise<Result>,
  ): Promise<Result>;
  /**
   * Waits for a turn in mid-operation. To be called after waiting for something that many operations can wait for,
   * such as an answer of the upstream: it resumes all of them at once.
   *
   * @throws QueueFullError by rejection
   */
  next(client: string | undefined): Promise<void>;
  /** How many operations are executed, or wait for the upstream. */
  readonly underWay: number;
  /** How many operations wait for their turn. */
  readonly waiting: number;
}

/** A waiting operation holds its request and response, some ten kilobytes. */
const MAX_WAITING = 1_000;
/** An operation that waits for the upstream holds its parsed document, too. */
const MAX_UNDER_WAY = 1_000;
/** So that one client cannot take all places with operations that wait for the upstream. */
const MAX_UNDER_WAY_PER_CLIENT = MAX_UNDER_WAY / 4;

/** What has begun goes on before anything begins. */
const PRIORITY = { begin: 0, resume: 1 };

/** Makes the turns of one process. */
export function createTurns({ maxWaitMs }: TurnsOptions): Turns {
  const queue = createFairQueue({
    concurrency: 1,
    maxWaiting: MAX_WAITING,
    // A turn ends when the operation is done or waits for something; the next begins after the event loop has
    // looked at its connections.
    defer: setImmediate,
  });
  const underWayOf = new Map<string | undefined, number>();
  let underWay = 0;

  function hasPlace(client: string | undefined): boolean {
    return underWay < MAX_UNDER_WAY && (underWayOf.get(client) ?? 0) < MAX_UNDER_WAY_PER_CLIENT;
  }

  function count(client: string | undefined, change: 1 | -1): void {
    underWay += change;
    const ofClient = (underWayOf.get(client) ?? 0) + change;
    if (ofClient > 0) underWayOf.set(client, ofClient);
    else underWayOf.delete(client);
  }

  async function counted<Result>(client: string | undefined, execute: () => Result | Promise<Result>) {
    count(client, 1);
    try {
      return await execute();
    } finally {
      count(client, -1);
    }
  }

  return {
    async run(client, execute, refuse) {
      const deadline = performance.now() + maxWaitMs;
      const begin = () => {
        const isLate = performance.now() > deadline;
        // Wrapped: the turn must not last until the operation has its answer.
        return { result: isLate || !hasPlace(client) ? refuse() : counted(client, execute) };
      };
      try {
        const { result } = await queue.add(client, PRIORITY.begin, begin);
        return await result;
      } catch (error) {
        if (error instanceof QueueFullError) return refuse();
        throw error;
      }
    },
    next: (client) => queue.add(client, PRIORITY.resume, () => {}),
    get underWay() {
      return underWay;
    },
    get waiting() {
      return queue.waiting;
    },
  };
}
