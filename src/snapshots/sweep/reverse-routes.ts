import { tokenKey } from '../../domain/addresses.js';
import type { Token } from '../../domain/listing.js';
import { UpstreamError } from '../../domain/upstream-error.js';
import type { KnownRoutes } from '../routes/routes.js';
import type { TokenSnapshot } from '../snapshot.js';
import type { RouteMapLimits } from './route-map.js';
import { createSweep, type SweepOptions } from './sweep.js';
import { createSweptRoutes, type SweptRoutesOptions } from './swept-routes.js';

/** Times are in milliseconds. */
export interface ReverseRoutesOptions
  extends Omit<SweepOptions, 'swept'>,
    Pick<SweptRoutesOptions, 'select'> {
  /** Bounds on what is held, for tests. */
  readonly routeMapLimits?: RouteMapLimits | undefined;
}

/** What can reach one token, as far as the upstream's answers are known. */
export interface TokenSources {
  /** Whether every bridgeable token has an answer: otherwise there may be more. */
  readonly isComplete: boolean;
  /** When the oldest of all answers was taken (milliseconds since 1970); null if there is no token to ask. */
  readonly asOf: number | null;
  /** How many tokens `rows` looks at. */
  count(): number;
  /** The listed tokens with a route to it, by the operator's order of chains, then by chain keys and addresses. */
  rows(): readonly Token[];
  /** When the oldest answer for these sources was taken (milliseconds since 1970); null if there is none. */
  oldestOf(sources: readonly Token[]): number | null;
}

/** The state of the map of routes. */
export interface RouteMapVersion {
  /** Changes with the routes. */
  readonly version: number;
  /** Changes with each answer, and so with the time of the oldest. */
  readonly answers: number;
}

/** What the sweep of routes has come to. */
export interface SweepStatus {
  /** Tokens with an answer. */
  readonly known: number;
  /** Bridgeable tokens that the present sweep has still to ask. */
  readonly left: number;
  readonly pairs: number;
  /** The age of the oldest answer, in milliseconds; undefined without one. */
  readonly ageMs: number | undefined;
}

/** What can reach a token: the routes of all bridgeable tokens, turned round and kept fresh by a sweep. */
export interface ReverseRoutes
  extends Pick<ReturnType<typeof createSweep>, 'restore' | 'start' | 'wake' | 'close'> {
  /** The same routes forwards. */
  readonly known: KnownRoutes;
  version(): RouteMapVersion;
  /**
   * The sources of a token.
   *
   * @throws UpstreamError while nothing is known: the one of the last failed request, if any
   */
  sourcesOf(tokens: TokenSnapshot, chainKey: string, address: string): TokenSources;
  status(): SweepStatus;
}

/** Makes the reverse routes; nothing is known or asked before `restore` and `start`. */
export function createReverseRoutes(options: ReverseRoutesOptions): ReverseRoutes {
  const { tokens, select, routeMapLimits: limits } = options;
  const swept = createSweptRoutes({ listing: tokens, select, limits });
  const sweep = createSweep({ ...options, swept });
  const { map, known } = swept;
  const { restore, start, wake, close } = sweep;
  return {
    known,
    restore,
    start,
    wake,
    close,
    version: () => ({ version: map.version, answers: map.answers }),
    sourcesOf(listed, chainKey, address) {
      const isComplete = swept.isComplete(listed);
      const { oldestAt } = map;
      if (oldestAt === undefined && !isComplete) throw sweep.lastError ?? nothingYet();
      return {
        isComplete,
        asOf: oldestAt ?? null,
        count: () => map.countSources(tokenKey(chainKey, address)),
        rows: () => swept.sourcesOf(listed, chainKey, address),
        oldestOf: swept.oldestOf,
      };
    },
    status() {
      const listed = tokens();
      const { size, pairs, oldestAt } = map;
      const left = listed ? swept.countDue(listed, sweep.startedAt) : 0;
      return { known: size, pairs, left, ageMs: oldestAt === undefined ? undefined : Date.now() - oldestAt };
    },
  };
}

function nothingYet(): UpstreamError {
  const message =
    'The gateway has begun to ask for the routes of all tokens, and has no answer of the upstream yet. Try again in a few seconds.';
  return new UpstreamError('UPSTREAM_TIMEOUT', message, { notSent: true });
}
