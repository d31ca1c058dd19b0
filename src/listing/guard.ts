import {
  type CircuitBreakerPolicy,
  CircuitState,
  ConsecutiveBreaker,
  circuitBreaker,
  handleWhen,
  isBrokenCircuitError,
} from 'cockatiel';
import { LRUCache } from 'lru-cache';
import { UpstreamError } from './errors.js';
import { GONE_PAUSE_MS } from './faults.js';

/** How the breaker stands: questions go through, one is let through as a try, or none. */
export type BreakerState = 'closed' | 'half-open' | 'open';

/** What {@link createGuard} takes. */
export interface GuardOptions {
  /** Called whenever the breaker changes. */
  readonly onBreaker: (state: BreakerState) => void;
  /** Called when the upstream asks to be left alone, with how long (milliseconds). */
  readonly onPause: (ms: number) => void;
}

/**
 * Keeps questions from an upstream that cannot or will not answer them, for the whole process: while it asks
 * to be left alone (Retry-After), for an hour where it has said that it is gone, and while it fails again
 * and again.
 */
export interface Guard {
  /**
   * Whether this question may be sent now.
   *
   * @param waits whether it has the next try of an open breaker, and so waits for that: a listing's question
   *   does, or routes that fail would keep the listings from being refreshed
   * @returns 0 if so; otherwise how long to wait before asking again, in milliseconds
   * @throws UpstreamError where waiting takes too long, with the code of what stands in the way and, as
   *   `retryAfterMs`, when to come again
   */
  check(url: string, waits: boolean): number;
  /** Sends, and learns from what comes. A passed `check` must come right before it. */
  run<Answer>(url: string, send: () => Promise<Answer>): Promise<Answer>;
}

/** So many failed attempts in a row open the breaker. */
const FAILURES_TO_OPEN = 5;
/** While it is open, an attempt is let through when this has passed since the last, if there is one. */
const OPEN_MS = 2_000;
/** How often it is looked whether a try has ended. */
const TRIED_MS = 50;
/** A longer Retry-After is not waited for: whoever asks decides when to come again. */
const MAX_WAIT_MS = 10_000;
/** However long the upstream asks to be left alone, it is asked again after this. */
const MAX_PAUSE_MS = 3_600_000;
/** Each is remembered for an hour; the least recent make room. */
const MAX_GONE = 1_000;

/** Makes the guard in front of one service. */
export function createGuard({ onBreaker, onPause }: GuardOptions): Guard {
  const gone = new LRUCache<string, UpstreamError>({ max: MAX_GONE, ttl: GONE_PAUSE_MS });
  let pausedUntil = 0;
  let pausedBy: UpstreamError | undefined;
  let openedAt = 0;
  let openedBy: UpstreamError | undefined;
  let breaker = createBreaker();

  function createBreaker(): CircuitBreakerPolicy {
    const created = circuitBreaker(handleWhen(isOfTheService), {
      // A little less: it goes by another clock, and whoever passes the check is to be let through.
      halfOpenAfter: OPEN_MS - 100,
      breaker: new ConsecutiveBreaker(FAILURES_TO_OPEN),
    });
    created.onFailure(({ handled, reason }) => {
      if (handled && 'error' in reason && reason.error instanceof UpstreamError) openedBy = reason.error;
    });
    created.onStateChange((state) => {
      if (state === CircuitState.Open) openedAt = performance.now();
      onBreaker(NAMES[state]);
    });
    return created;
  }

  function breakerLeftMs(): number {
    if (breaker.state === CircuitState.Closed) return 0;
    // While one is tried, nobody else goes; what waited for it would leave all at once.
    if (breaker.state === CircuitState.HalfOpen) return TRIED_MS;
    return openedAt + OPEN_MS - performance.now();
  }

  function learn(url: string, error: unknown): void {
    if (!(error instanceof UpstreamError)) return;
    if (error.code === 'UPSTREAM_GONE') {
      gone.set(url, error);
      return;
    }
    const ms = Math.min(error.retryAfterMs ?? 0, MAX_PAUSE_MS);
    if (performance.now() + ms <= pausedUntil || ms === 0) return;
    pausedUntil = performance.now() + ms;
    pausedBy = error;
    onPause(ms);
  }

  return {
    check(url, waits) {
      // Where the operation itself is gone, so is each question of it.
      for (const key of new Set([url, url.replace(/\?.*/s, '')])) {
        const error = gone.get(key);
        if (error) throw unasked(error, gone.getRemainingTTL(key));
      }
      const pauseLeftMs = pausedUntil - performance.now();
      if (pausedBy && pauseLeftMs > MAX_WAIT_MS) throw unasked(pausedBy, pauseLeftMs);
      const leftMs = breakerLeftMs();
      if (openedBy && leftMs > 0 && !waits) throw unasked(openedBy, leftMs);
      return Math.max(0, pauseLeftMs, leftMs);
    },
    async run(url, send) {
      try {
        return await breaker.execute(send);
      } catch (error) {
        if (openedBy && isBrokenCircuitError(error)) {
          // Its clock is the wall clock: one that was set back would keep it open for as long.
          breaker = createBreaker();
          onBreaker('closed');
          throw unasked(openedBy, OPEN_MS);
        }
        learn(url, error);
        throw error;
      }
    },
  };
}

const NAMES: Record<CircuitState, BreakerState> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Open]: 'open',
  [CircuitState.Isolated]: 'open',
};

/** Whether it says something of the service, and not only of one question. */
function isOfTheService(error: Error): boolean {
  if (!(error instanceof UpstreamError) || error.code === 'UPSTREAM_GONE') return false;
  const { status = 0 } = error;
  return status < 400 || status >= 500 || status === 401 || status === 403 || status === 429;
}

/** The same error for a question that was not sent. */
function unasked({ code, message, status, detail }: UpstreamError, retryAfterMs: number): UpstreamError {
  return new UpstreamError(code, message, {
    status,
    retryAfterMs,
    detail: `not asked, because of: ${detail}`,
  });
}
