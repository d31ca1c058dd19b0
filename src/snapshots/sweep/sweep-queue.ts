import { sentAtOf, type Token } from '../../domain/listing.js';
import { TOKENS } from '../../upstream/listing-kinds.js';
import type { TokenSnapshot } from '../snapshot.js';
import type { SweptRoutes } from './swept-routes.js';

/** A token that cannot be asked is asked once more in the same sweep, after the others. */
const ATTEMPTS = 2;

/** Makes the list of the tokens that one sweep has still to ask. */
export function createSweepQueue(swept: Pick<SweptRoutes, 'due' | 'map'>) {
  /** The next one last. */
  let queue: Token[] = [];
  /** How often each token has failed in this sweep, by key. */
  const failures = new Map<string, number>();

  const hasFailed = (token: Token) => (failures.get(TOKENS.keyOf(token)) ?? 0) >= ATTEMPTS;

  return {
    /** Begins anew, for another sweep. */
    clear(): void {
      queue = [];
      failures.clear();
    },
    /** Forgets the order, because the listing or the map has changed. */
    refill(): void {
      queue = [];
    },
    /** The next token; undefined if all have been asked since `startedAt` (milliseconds since 1970). */
    async next(tokens: TokenSnapshot, startedAt: number): Promise<Token | undefined> {
      for (let isFilled = false; ; isFilled = true) {
        for (let token = queue.pop(); token; token = queue.pop()) {
          // A client may have asked for it meanwhile.
          const known = swept.map.get(TOKENS.keyOf(token));
          if (!known || sentAtOf(known) < startedAt) return token;
        }
        if (isFilled) return undefined;
        queue = (await swept.due(tokens, startedAt)).filter((token) => !hasFailed(token)).reverse();
      }
    },
    /** Lets this token be the next one. */
    putBack(token: Token): void {
      queue.push(token);
    },
    /** The token could not be asked. */
    fail(token: Token): void {
      const key = TOKENS.keyOf(token);
      failures.set(key, (failures.get(key) ?? 0) + 1);
    },
  };
}
