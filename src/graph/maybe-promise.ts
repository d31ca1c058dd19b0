/** Values that may have to be loaded first. */
/** A value, or a promise of it if it must be loaded first. */
export type MaybePromise<Value> = Value | Promise<Value>;

/** Passes a value on: at once if it is loaded, otherwise when its promise resolves. */
export function whenReady<Value, Result>(
  value: MaybePromise<Value>,
  use: (value: Value) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(use) : use(value);
}

/** Waits for a value of the upstream, then for a turn in the queue: one answer can resume many operations at once. */
export async function awaitAndYield<Value>(
  value: Promise<Value>,
  yieldToQueue: () => Promise<void>,
): Promise<Value> {
  try {
    return await value;
  } finally {
    await yieldToQueue();
  }
}

/** Thrown by loaders in place of waiting. This object has no stack: it is no error, and can be thrown often. */
export const WOULD_WAIT: unknown = Object.freeze({ message: 'This operation has to wait for the upstream.' });
