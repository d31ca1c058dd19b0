/** The queue of operations that wait for execution. One is executed at a time, and clients take turns. */
import { subscribe } from 'node:diagnostics_channel';
import { createFairQueue } from './fair-queue.js';

/** At most this many operations wait. Each holds its request and response: about 10 MB for all of them. */
const MAX_WAITING = 1_000;
/** At most this many operations are in progress, mostly waiting. Each also holds its parsed document. */
const MAX_IN_PROGRESS = 500;
/** Keeps one client from filling {@link MAX_IN_PROGRESS} with operations that wait for the upstream. */
const MAX_IN_PROGRESS_PER_CLIENT = MAX_IN_PROGRESS / 4;
/** This many of {@link MAX_IN_PROGRESS} are only for clients without another operation: four clients must not fill it. */
const MAX_FIRST_IN_PROGRESS = MAX_IN_PROGRESS / 5;
/** For this long (ms), operations begin without a yield to the event loop: a yield takes as long as one operation. */
const SLICE_MS = 1;
/** Between two slices are at most this many turns of the event loop: a flood of connections must not stop operations. */
const MAX_TURNS = 20;

type Client = string | undefined;
type Operation<Result> = () => Result | Promise<Result>;
/** An operation, or its refusal. `isByClient`: whether other operations of this client are the cause. */
type Task<Result> = (isByClient: boolean) => Result | Promise<Result>;

let accepted = 0;
subscribe('net.server.socket', () => {
  accepted++;
});

/**
 * Calls `next` after the event loop has handled other events. The loop accepts only one connection in each turn, so
 * this function waits for a turn without a new connection: otherwise a client that opens one for each operation would
 * keep out all others.
 */
function afterEvents(next: () => void, turnsLeft = MAX_TURNS): void {
  const before = accepted;
  setImmediate(() => {
    if (accepted === before || turnsLeft === 0) next();
    else afterEvents(next, turnsLeft - 1);
  });
}

/**
 * Runs one operation at a time. When that one waits for something, the next one runs. The event loop can serve health
 * checks and cached responses whenever an operation waits, and before the next operation if a millisecond is over.
 *
 * @param maxWaitMs an operation that has waited longer to begin is refused
 * @param onWaited called when an operation has its turn, to begin or to be refused
 */
export function createOperationQueue(maxWaitMs: number, onWaited?: (waitedSeconds: number) => void) {
  const waiting = createFairQueue<{ run(): void; refuse(): void }>(MAX_WAITING);
  let isRunning = false;
  /** Until this time, further operations begin without a yield to the event loop. */
  let sliceEnd = 0;
  const inProgressByClient = new Map<Client, number>();
  let inProgress = 0;

  function beginSlice(): void {
    const now = performance.now();
    if (now >= sliceEnd) sliceEnd = now + SLICE_MS;
  }

  function startNext(): void {
    isRunning = false;
    waiting.take()?.run();
  }

  /** Ends a task, and starts the next one: now, or after a yield if the slice of time is over. */
  function endTask(): void {
    if (performance.now() < sliceEnd) startNext();
    else afterEvents(startNext);
  }

  /**
   * Runs the task in its turn: at once, before this call returns, if no other task runs or waits. If the queue is full, it
   * calls `refuse`. `isByClient`: whether most of the tasks that waited before this one were of the same client. Operations
   * that resume have no priority over those that begin: one answer of the upstream can resume 125 operations of a client.
   */
  function inTurn<Result>(client: Client, task: Task<Result>, refuse: Task<Result>): Promise<Result> {
    const isByClient = waiting.isMostlyOf(client);
    return new Promise((resolve, reject) => {
      const settle = (result: typeof task) => {
        try {
          resolve(result(isByClient));
        } catch (error) {
          reject(error);
        }
      };
      const run = () => {
        isRunning = true;
        settle(task);
        // Called directly, each task would begin the next one inside itself, and many short ones would exhaust the
        // stack. A microtask begins with an empty stack.
        queueMicrotask(endTask);
      };
      if (isRunning || waiting.waiting > 0) waiting.add(client, 0, { run, refuse: () => settle(refuse) });
      else run();
    });
  }

  const ownInProgress = (client: Client) => inProgressByClient.get(client) ?? 0;

  function start<Result>(client: Client, execute: Operation<Result>) {
    const result = execute();
    if (!(result instanceof Promise)) return result;
    // Ends the slice: most of the operation's work may still follow in microtasks, before other events.
    sliceEnd = 0;
    inProgress++;
    inProgressByClient.set(client, ownInProgress(client) + 1);
    return result.finally(() => {
      inProgress--;
      const left = ownInProgress(client) - 1;
      if (left > 0) inProgressByClient.set(client, left);
      else inProgressByClient.delete(client);
    });
  }

  return {
    /** Calls `refuse` if the queue is full, the operation waited too long, or too many are in progress. */
    run<Result>(client: Client, execute: Operation<Result>, refuse: Task<Result>): Promise<Result> {
      const askedAt = performance.now();
      const begin = (isByClient: boolean) => {
        beginSlice();
        const waitedMs = performance.now() - askedAt;
        onWaited?.(waitedMs / 1_000);
        if (waitedMs > maxWaitMs) return refuse(isByClient);
        const own = ownInProgress(client);
        const hasOwnRoom = own < MAX_IN_PROGRESS_PER_CLIENT;
        const most = own === 0 ? MAX_IN_PROGRESS : MAX_IN_PROGRESS - MAX_FIRST_IN_PROGRESS;
        if (hasOwnRoom && inProgress < most) return start(client, execute);
        return refuse(!hasOwnRoom);
      };
      return inTurn(client, begin, refuse);
    },
    /** Executes a synchronous operation at once if no other runs or waits. Otherwise returns undefined. */
    runNow<Result>(execute: () => Result): { readonly result: Result } | undefined {
      if (isRunning || waiting.waiting > 0) return undefined;
      isRunning = true;
      beginSlice();
      try {
        return { result: execute() };
      } finally {
        endTask();
      }
    },
    /**
     * Call it after waiting for something that many operations wait for, such as a response of the upstream: otherwise all
     * of them would resume at once. Returns the result of `refuse` if the queue is full.
     */
    resume<Refusal>(client: Client, refuse: (isByClient: boolean) => Refusal) {
      const resumed = () => {
        // Ends the slice: the operation resumes in a microtask, and the next task begins only after other events.
        sliceEnd = 0;
        return undefined;
      };
      return inTurn<Refusal | undefined>(client, resumed, refuse);
    },
    get inProgress() {
      return inProgress;
    },
    get waiting() {
      return waiting.waiting;
    },
  };
}
