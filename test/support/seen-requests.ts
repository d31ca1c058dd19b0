/** Records the requests of `fetch`, to see the real requests of a client. */
import { onTestFinished, vi } from 'vitest';

/** Records every request that `fetch` sends until the end of the test. */
export function watchRequests() {
  const sent: { readonly method: string; readonly url: string }[] = [];
  const real = globalThis.fetch;
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    const { method, url } = new Request(input, init);
    sent.push({ method, url });
    return real(input, init);
  });
  onTestFinished(() => spy.mockRestore());
  return sent;
}
