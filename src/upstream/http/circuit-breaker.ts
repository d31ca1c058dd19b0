import { UpstreamError } from '../../domain/upstream-error.js';

/** Closed: requests are sent. Open: none is sent. Half-open: only the probe is sent. */
export type BreakerState = 'closed' | 'half-open' | 'open';

/** A circuit breaker on the monotonic clock. */
export interface Breaker {
  readonly state: BreakerState;
  /** The failure that last opened it; undefined if none has. */
  readonly openedBy: UpstreamError | undefined;
  /** How long until a request may be sent, in milliseconds; 0 while closed, or when a probe is due. */
  delayMs(): number;
  /**
   * Sends, and records the outcome. While the breaker is not closed, this request is the probe: call it only if
   * {@link Breaker.delayMs} has just returned 0.
   *
   * @param key failures with equal keys count once, so that one bad request cannot open the breaker
   * @throws any error of `send`
   */
  run<Answer>(key: string | object, send: () => Promise<Answer>): Promise<Answer>;
}

/** This many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** How long after it opened a probe is due. */
const OPEN_MS = 2_000;
/** While a probe is under way, the other requests poll, so that they are not released all at once. */
const PROBE_POLL_MS = 50;

/** Makes a closed breaker. `onState` is called whenever its state changes. */
export function createBreaker(onState: (state: BreakerState) => void): Breaker {
  const failed = new Set<string | object>();
  let state: BreakerState = 'closed';
  let openedBy: UpstreamError | undefined;
  let openedAt = 0;

  function enter(next: BreakerState): void {
    state = next;
    if (next === 'open') openedAt = performance.now();
    if (next !== 'half-open') failed.clear();
    onState(next);
  }

  function fail(key: string | object, error: UpstreamError, isProbe: boolean): void {
    // It was sent before the breaker opened.
    if (!isProbe && state !== 'closed') return;
    failed.add(key);
    if (!isProbe && failed.size < FAILURES_TO_OPEN) return;
    openedBy = error;
    enter('open');
  }

  function succeed(isProbe: boolean): void {
    if (isProbe) enter('closed');
    else if (state === 'closed') failed.clear();
  }

  return {
    get state() {
      return state;
    },
    get openedBy() {
      return openedBy;
    },
    delayMs() {
      if (state === 'closed') return 0;
      if (state === 'half-open') return PROBE_POLL_MS;
      return Math.max(0, openedAt + OPEN_MS - performance.now());
    },
    async run(key, send) {
      const isProbe = state !== 'closed';
      if (isProbe) enter('half-open');
      try {
        const answer = await send();
        succeed(isProbe);
        return answer;
      } catch (error) {
        if (error instanceof UpstreamError && isOfTheService(error)) fail(key, error, isProbe);
        // The service has answered: only this request is wrong.
        else succeed(isProbe);
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
