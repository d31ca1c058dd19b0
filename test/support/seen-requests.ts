/** Records the requests of `fetch`, to see the real requests of a client. */
import { onTestFinished, vi } from 'vitest';

/** Records until the end of the test. @returns a function that returns the requests so far */
export function watchRequests(): () => readonly Request[] {
  const spy = vi.spyOn(globalThis, 'fetch');
  onTestFinished(() => spy.mockRestore());
  return () => spy.mock.calls.map(([input, init]) => new Request(input, init));
}
