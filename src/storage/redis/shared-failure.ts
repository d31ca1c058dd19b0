import * as v from 'valibot';
import { UPSTREAM_ERROR_CODES } from '../../domain/upstream-error.js';
import type { SharedFailure } from '../../snapshots/peers.js';
import { MAX_EARLY_MS } from '../record.js';
import type { Seal } from './seal.js';

/** A failure that a peer has shared. */
export interface DatedFailure {
  readonly failure: SharedFailure;
  /** How much of its pause is left, in milliseconds; infinite without a secret, when only Redis knows. */
  readonly pauseMs: number;
}

/** The longest pause is reached long before this many failures. */
const MAX_FAILURES = 30;

const time = v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(8.64e15));
const failureJson = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({
    code: v.picklist(UPSTREAM_ERROR_CODES),
    message: v.pipe(v.string(), v.maxLength(1000)),
    at: time,
    /** When the next attempt is due (milliseconds since 1970). */
    retryAt: v.optional(time),
    failuresInARow: v.pipe(
      v.number(),
      v.minValue(0),
      v.transform((failures) => Math.min(failures, MAX_FAILURES)),
      v.safeInteger(),
    ),
    heldBack: v.optional(
      v.object({
        signature: v.pipe(v.string(), v.maxLength(100)),
        times: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
      }),
    ),
  }),
);

/** Encodes a failure for peers. The seal's purpose, `setback`, is part of the format. */
export function encodeSharedFailure(
  seal: Seal,
  topic: string,
  failure: SharedFailure,
  retryInMs: number,
): string {
  const retryAt = Date.now() + Math.max(0, Math.ceil(retryInMs));
  return seal.close('setback', topic, JSON.stringify({ ...failure, retryAt }));
}

/**
 * Reads what `encodeSharedFailure` wrote; undefined for anything else.
 *
 * A change that peers have held back counts only with a secret, which shows that it is from them. Without one, a single
 * write to Redis could have a change accepted that no gateway has seen.
 */
export function decodeSharedFailure(seal: Seal, topic: string, text: string): DatedFailure | undefined {
  const json = seal.open('setback', topic, text);
  const { success, output } = v.safeParse(failureJson, json);
  const now = Date.now();
  if (!success || output.at > now + MAX_EARLY_MS) return undefined;
  const { retryAt = 0, heldBack, ...failure } = output;
  return {
    failure: { ...failure, heldBack: seal.isAuthentic ? heldBack : undefined },
    pauseMs: seal.isAuthentic ? Math.max(0, retryAt + MAX_EARLY_MS - now) : Number.POSITIVE_INFINITY,
  };
}
