// Pauses between the refreshes of a listing, in milliseconds.

/** After a first failed refresh. */
export const FIRST_PAUSE_MS = 1_000;
/** The longest pause after a failed refresh, where the listing is fresh for longer than that. */
export const MAX_PAUSE_MS = 30_000;
/** However long the upstream asks to be left alone, it is asked again after this. */
export const LONGEST_PAUSE_MS = 3_600_000;
/** Where gateways share, who has failed leaves the next try to the others by so much at most. */
export const STAND_BACK_MS = 1_000;
/** What another shares is asked for anew no sooner than this. */
export const LEAST_PAUSE_MS = 100;

/** A pause that doubles with each failure and is jittered, so that gateways do not come back all at once. */
export function growingPause(firstMs: number, longestMs: number, failuresBefore: number): number {
  return Math.min(firstMs * 2 ** failuresBefore, longestMs) * (0.5 + Math.random() / 2);
}
