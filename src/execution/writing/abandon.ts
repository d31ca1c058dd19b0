/*
 * Abandonment: an operation whose answer is not plain is left to graphql-js, which executes it from the beginning.
 * Both errors are made once and have no stack, so that abandoning costs a client nothing that it could attack with.
 */

function readyMade(message: string): Error {
  return Object.freeze(Object.defineProperty(new Error(message), 'stack', { value: message }));
}

/** Thrown where graphql-js would report an error, and for every value that the writer does not know. */
export const ABANDONED = readyMade('The operation is left to graphql-js.');
/** Thrown where graphql-js would wait. */
export const PROMISE_MET = readyMade('The operation is left to graphql-js: it has to wait.');

/** Whether graphql-js would wait for this value. A getter `then` may throw. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { then?: unknown } | null | undefined)?.then === 'function';
}

function ignore(): void {}

/** Handles the rejection of a promise that nobody waits for any more: it would end the process. */
export function ignorePromise(promise: PromiseLike<unknown>): void {
  try {
    promise.then(ignore, ignore);
  } catch {
    // An object with a method `then`, and no promise.
  }
}

/**
 * Handles the rejections of all promises in a list from this index on.
 *
 * @param nested how many levels of lists are within it, by its type
 */
export function ignorePromisesFrom(list: readonly unknown[], first: number, nested: number): void {
  for (let index = first; index < list.length; index++) {
    try {
      const item = list[index];
      if (isPromise(item)) ignorePromise(item);
      else if (nested > 0 && Array.isArray(item)) ignorePromisesFrom(item, 0, nested - 1);
    } catch {
      // A getter that throws is no promise.
    }
  }
}

/**
 * Abandons the operation unless graphql-js would take the value as it is: promises, errors, and functions, which it
 * would call or reject.
 */
export function assertPlain(value: unknown): void {
  if (typeof value === 'object') {
    if (isPromise(value)) {
      ignorePromise(value);
      throw PROMISE_MET;
    }
    if (value instanceof Error) throw ABANDONED;
  } else if (typeof value === 'function') {
    if (isPromise(value)) {
      ignorePromise(value);
      throw PROMISE_MET;
    }
    throw ABANDONED;
  }
}
