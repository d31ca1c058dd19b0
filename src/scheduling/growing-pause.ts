/** Exponential back-off. Times are in milliseconds. */

/** The longest pause that an upstream can cause: within an hour the gateway must notice that the upstream is back. */
export const LONGEST_PAUSE_MS = 3_600_000;

/** The pause after failures in a row: each further failure doubles it, up to `longestMs`. */
export function growingPause(firstMs: number, longestMs: number, failuresBefore: number): number {
  return Math.min(firstMs * 2 ** failuresBefore, longestMs);
}

/** A random part of the pause, between half and all of it, so that gateways do not retry at the same moment. */
export function withJitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}
