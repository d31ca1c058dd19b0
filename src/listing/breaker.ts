import { UpstreamError } from './errors.js';

/** Closed: requests go through. Half-open: one is sent as a probe. Open: none is sent. */
export type BreakerState = 'closed' | 'half-open' | 'open';

/** A circuit breaker. All times are on the monotonic clock, which nobody can set back. */
export interface Breaker {
  readonly state: BreakerState;
  /** The failure that opened it last; undefined if none has. */
  readonly openedBy: UpstreamError | undefined;
  /** How long until a request may be sent, in milliseconds: 0 while it is closed, or a probe is due. */
  delayMs(): number;
  /**
   * Sends, and counts the outcome. While the breaker is not closed, this request is the probe that decides: call
   * it only when {@link Breaker.delayMs} has just been 0.
   *
   * @param key failures with equal keys count once, so that one bad question cannot open the breaker
   * @throws whatever `send` throws
   */
  run<Answer>(key: string | object, send: () => Promise<Answer>): Promise<Answer>;
}

/** So many failures in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** While it is open, a probe is due so long after the last failure. */
const OPEN_MS = 2_000;
/** How often those who wait look whether a probe has ended; they must not all leave at the same time. */
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
    // Sent before it opened: it says nothing new.
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
        // It has answered, if only to say that it does not like the question.
        else succeed(isProbe);
        throw error;
      }
    },
  };
}

/** Whether the failure says something of the service, and not only of one question. */
function isOfTheService({ code, status = 0 }: UpstreamError): boolean {
  if (code === 'UPSTREAM_GONE') return false;
  return status < 400 || status >= 500 || status === 401 || status === 403 || status === 429;
}
