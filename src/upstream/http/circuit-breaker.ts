/** A circuit breaker: after failures in a row it stops requests, and then sends one as a probe. */
import type { RequestDelay } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';

/** Closed: requests are sent. Open: they are not. Half-open: only the probe is sent. */
export type BreakerState = 'closed' | 'half-open' | 'open';

/** This many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** For how long an open breaker refuses requests, in milliseconds. After that the next request is sent as a probe. */
const OPEN_MS = 2_000;
/** How often other requests poll while the probe is in progress (ms). So they are not all sent at once after it. */
const PROBE_POLL_MS = 50;

/** Creates a closed circuit breaker on the monotonic clock. `onState` is called whenever its state has changed. */
export function createBreaker(onState: (state: BreakerState, before: BreakerState) => void) {
  const failed = new Set<string | object>();
  let state: BreakerState = 'closed';
  /** The failure that opened the breaker; undefined while it is closed. */
  let openedBy: UpstreamError | undefined;
  let openedAt = 0;

  function enter(next: BreakerState): void {
    const before = state;
    state = next;
    if (next === 'open') openedAt = performance.now();
    if (next === 'closed') openedBy = undefined;
    if (next !== 'half-open') failed.clear();
    onState(next, before);
  }

  return {
    /** Why and for how long requests wait; undefined if one may be sent: the breaker is closed, or a probe is due. */
    delay(): RequestDelay | undefined {
      if (!openedBy) return undefined;
      const leftMs = state === 'half-open' ? PROBE_POLL_MS : openedAt + OPEN_MS - performance.now();
      return leftMs > 0 ? { error: openedBy, leftMs } : undefined;
    },
    /**
     * Sends the request, and notes the outcome. While the breaker is not closed, this request is the probe: call it
     * only if `delay` has just returned undefined.
     *
     * @param keyOf called at the end of the request. Failures with equal keys count once, so that a repeated bad request
     *   cannot open the breaker. If it returns undefined, the request counts only if it is the probe
     * @throws any error of `send`
     */
    async run<Answer>(
      keyOf: () => string | object | undefined,
      send: () => Promise<Answer>,
    ): Promise<Answer> {
      const isProbe = state !== 'closed';
      if (isProbe) enter('half-open');
      const noteOutcome = (failure?: UpstreamError) => {
        const key = keyOf();
        // Ignored: a request that was sent before the breaker opened, and one without a key that is not the probe.
        if (!isProbe && (state !== 'closed' || key === undefined)) return;
        if (failure) {
          failed.add(key ?? failure);
          if (!isProbe && failed.size < FAILURES_TO_OPEN) return;
          openedBy = failure;
          enter('open');
        } else if (isProbe) enter('closed');
        else failed.clear();
      };
      try {
        const answer = await send();
        noteOutcome();
        return answer;
      } catch (error) {
        // Any other error counts as a success: the service has answered, and only this request is wrong.
        noteOutcome(error instanceof UpstreamError && isOfTheService(error) ? error : undefined);
        throw error;
      }
    },
  };
}

/** True if the service as a whole failed, not only this request. */
function isOfTheService({ code, status = 0 }: UpstreamError): boolean {
  if (code === 'UPSTREAM_GONE') return false;
  return status < 400 || status >= 500 || status === 401 || status === 403 || status === 429;
}
