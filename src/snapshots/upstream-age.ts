import { type Origin, sentAtOf } from '../domain/listing.js';
import type { Snapshot } from './snapshot.js';

/*
 * Answers that are old before they are fetched: a cache in front of the upstream has held them, and says for how long
 * in the `Age` header. Such a cache can fall behind, and its nodes can hold answers of different ages.
 */

/** `Age` has whole seconds: the same answer from one cache can seem to be older by this, in milliseconds. */
const AGE_STEP_MS = 1_000;

/**
 * Whether an answer from a cache is older than the snapshot that is served, and must not replace it. It compares ages:
 * that of the snapshot is monotonic, so a clock that was set back does not make all later answers older.
 */
export function isOlder(
  { takenAt, upstreamAgeMs = 0 }: Origin,
  served: Pick<Snapshot<unknown>, 'ageAt'> | undefined,
): boolean {
  const now = Date.now();
  return upstreamAgeMs > 0 && served !== undefined && now - takenAt > served.ageAt(now) + AGE_STEP_MS;
}

/** The served snapshot with the time of a request that brought an older answer. Peers do not repeat that request. */
export function withTimeOf<Indexed extends Origin>(older: Origin, served: Indexed): Indexed {
  return { ...served, upstreamAgeMs: Math.max(0, sentAtOf(older) - served.takenAt) };
}

/** How long ago the request for a snapshot was sent, in milliseconds. */
export function msSinceSent({ ageAt, upstreamAgeMs = 0 }: Snapshot<unknown>): number {
  return ageAt(Date.now()) - upstreamAgeMs;
}
