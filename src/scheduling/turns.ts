import { createFairQueue } from './fair-queue.js';

/** A waiting operation holds its request and response, some ten kilobytes. */
const MAX_WAITING = 1_000;
/** An operation that waits for the upstream also holds its parsed document. */
const MAX_UNDER_WAY = 1_000;
/** Keeps one client from filling {@link MAX_UNDER_WAY} with operations that wait for the upstream. */
const MAX_UNDER_WAY_PER_CLIENT = MAX_UNDER_WAY / 4;

/** A turn of the event loop takes about as long as a small operation. */
const SLICE_MS = 1;

/** Operations that are under way go first. */
const PRIORITY = { begin: 0, resume: 1 } as const;

export type Turns = ReturnType<typeof createTurns>;

/**
 * Executes operations one after the other. After each one that waits for something, and after a millisecond of others,
 * the event loop takes a turn, in which health checks and cached responses are served: a burst of operations would otherwise run in one go.
 *
 * Clients take turns round-robin, so that a client with many operations delays only its own. Call it once in a process:
 * all operations must share the same turns.
 *
 * @param maxWaitMs how long an operation may wait for its turn, in milliseconds; one that waits longer is refused
 */
export function createTurns({ maxWaitMs }: { readonly maxWaitMs: number }) {
  /** Until then further operations may begin in this turn of the event loop, by `performance.now()`. */
  let sliceEnd = 0;
  /** Whether the next tick of the event loop is scheduled. */
  let isTickScheduled = false;
  /** Starts the next operation in that turn; there is one at most, since one operation runs at a time. */
  let startInNextTick: (() => void) | undefined;

  /** After a slice of time the event loop looks at its connections. */
  function defer(startNext: () => void): void {
    if (performance.now() < sliceEnd) startNext();
    else startInNextTick = startNext;
  }

  /** To be called when an operation begins or goes on. */
  function beginSlice(): void {
    // A slice has begun in this tick.
    if (isTickScheduled) return;
    sliceEnd = performance.now() + SLICE_MS;
    isTickScheduled = true;
    setImmediate(onTick);
  }

  function onTick(): void {
    isTickScheduled = false;
    const start = startInNextTick;
    if (!start) return;
    startInNextTick = undefined;
    beginSlice();
    start();
  }

  const queue = createFairQueue({ concurrency: 1, maxWaiting: MAX_WAITING, defer });
  const underWayOf = new Map<string | undefined, number>();
  let underWay = 0;

  function hasRoom(client: string | undefined): boolean {
    return underWay < MAX_UNDER_WAY && (underWayOf.get(client) ?? 0) < MAX_UNDER_WAY_PER_CLIENT;
  }

  function started<Result>(client: string | undefined, execute: () => Result | Promise<Result>) {
    const result = execute();
    if (!(result instanceof Promise)) return result;
    // Most of its work may still be to come, in this turn of the event loop.
    sliceEnd = 0;
    underWay++;
    underWayOf.set(client, (underWayOf.get(client) ?? 0) + 1);
    return result.finally(() => {
      underWay--;
      const left = (underWayOf.get(client) ?? 0) - 1;
      if (left > 0) underWayOf.set(client, left);
      else underWayOf.delete(client);
    });
  }

  return {
    /**
     * Executes an operation in its turn.
     *
     * @param client who asks; undefined is one client like any other
     * @param execute starts the operation; its turn lasts until it first waits for something
     * @param refuse called instead of `execute` if the operation waited too long, or if too many are under way
     */
    run<Result>(
      client: string | undefined,
      execute: () => Result | Promise<Result>,
      refuse: () => Result | Promise<Result>,
    ): Promise<Result> {
      const deadline = performance.now() + maxWaitMs;
      return new Promise((resolve, reject) => {
        const settle = (act: () => Result | Promise<Result>) => {
          try {
            resolve(act());
          } catch (error) {
            reject(error);
          }
        };
        const begin = () => {
          beginSlice();
          const isLate = performance.now() > deadline;
          settle(isLate || !hasRoom(client) ? refuse : () => started(client, execute));
        };
        queue.enter(client, PRIORITY.begin, begin, () => settle(refuse));
      });
    },
    /** Executes an operation that waits for nothing, if it is its turn now; undefined otherwise. */
    runNow: <Result>(execute: () => Result) =>
      queue.runNow(() => {
        beginSlice();
        return execute();
      }),
    /**
     * Waits for another turn of an operation that is under way. Call it after waiting for something that many
     * operations wait for, such as an answer of the upstream, which would otherwise resume all of them at once.
     *
     * @throws QueueFullError by rejection
     */
    next: (client: string | undefined): Promise<void> =>
      queue.add(client, PRIORITY.resume, () => {
        // The operation goes on after this task, in the same turn of the event loop.
        beginSlice();
        sliceEnd = 0;
      }),
    /** How many operations have begun and not ended; most of them wait for the upstream. */
    get underWay() {
      return underWay;
    },
    /** How many operations wait for their turn. */
    get waiting() {
      return queue.waiting;
    },
  };
}
