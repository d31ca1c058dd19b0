/** A value, or a promise of it where it must be loaded first. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Uses a value at once if it is at hand. */
export function whenReady<Value, Result>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Waits for what the upstream gives, and then for a turn: one answer of the upstream can resume many operations. */
export async function inTurn<Value>(value: Promise<Value>, nextTurn: () => Promise<void>): Promise<Value> {
  try {
    return await value;
  } finally {
    await nextTurn();
  }
}

/** Thrown by loaders that may not wait. It has no stack, since it is no fault and may be thrown often. */
export const WOULD_WAIT: unknown = Object.freeze({ message: 'This operation has to wait for the upstream.' });
