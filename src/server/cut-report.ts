import type { Logger } from '../logger.js';

/** Why the server closed a connection that its client would have kept. */
export type CutReason =
  | 'too_many_connections'
  | 'pipelining'
  | 'slow_reader'
  | 'response_bytes'
  | 'request_bytes'
  | 'accept_failed';

/** Counts the connections that were cut. */
export interface CutCounter {
  connectionCut(reason: CutReason): void;
}

const MEANING: Readonly<Record<CutReason, string>> = {
  too_many_connections: 'Closed connections beyond MAX_CONNECTIONS',
  pipelining: 'Closed connections with too many unanswered requests',
  slow_reader: 'Closed connections that did not read their response',
  response_bytes: 'Closed connections: unread responses took too much memory',
  request_bytes: 'Refused requests: unfinished ones took too much memory',
  accept_failed: 'Could not accept connections',
};
const LOG_EVERY_MS = 60_000;

/**
 * Counts each cut, and logs the first of a reason at once and the further ones together, once a minute at most:
 * an attack must not fill the log.
 *
 * @returns to be called at each cut; the detail is logged where this cut is the one that is logged
 */
export function createCutReport(
  log: Logger,
  counter?: CutCounter,
): (reason: CutReason, detail?: object) => void {
  const unlogged = new Map<CutReason, { count: number; loggedAt: number }>();
  return (reason, detail) => {
    counter?.connectionCut(reason);
    const state = unlogged.get(reason) ?? { count: 0, loggedAt: Number.NEGATIVE_INFINITY };
    unlogged.set(reason, state);
    state.count++;
    const now = performance.now();
    if (now - state.loggedAt < LOG_EVERY_MS) return;
    log.warn({ reason, count: state.count, ...detail }, MEANING[reason]);
    state.count = 0;
    state.loggedAt = now;
  };
}
