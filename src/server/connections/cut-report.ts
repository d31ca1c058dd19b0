import type { Logger } from '../../logger.js';

/** Why the server cut a connection: closed it although its client would have kept it. */
export type CutReason =
  | 'too_many_connections'
  | 'pipelining'
  | 'slow_reader'
  | 'response_bytes'
  | 'request_bytes'
  | 'accept_failed';

/** Reports one cut; `detail` is only logged if this cut writes a line. */
export type CutReport = (reason: CutReason, detail?: object) => void;

export interface CutCounter {
  connectionCut(reason: CutReason): void;
}

const MESSAGES: Readonly<Record<CutReason, string>> = {
  too_many_connections: 'Closed connections beyond MAX_CONNECTIONS',
  pipelining: 'Closed connections with too many unanswered requests',
  slow_reader: 'Closed connections that did not read their response',
  response_bytes: 'Closed connections: unread responses took too much memory',
  request_bytes: 'Refused requests: unfinished ones took too much memory',
  accept_failed: 'Could not accept connections',
};
const LOG_EVERY_MS = 60_000;

/**
 * Counts every cut, and logs at most one line a minute for each reason, so that an attack does not fill the log. The
 * line has the number of cuts since the last line.
 */
export function createCutReport(log: Logger, counter?: CutCounter): CutReport {
  const unlogged = new Map<CutReason, { count: number; loggedAt: number }>();
  return (reason, detail) => {
    counter?.connectionCut(reason);
    const state = unlogged.get(reason) ?? { count: 0, loggedAt: Number.NEGATIVE_INFINITY };
    unlogged.set(reason, state);
    state.count++;
    const now = performance.now();
    if (now - state.loggedAt < LOG_EVERY_MS) return;
    log.warn({ reason, count: state.count, ...detail }, MESSAGES[reason]);
    state.count = 0;
    state.loggedAt = now;
  };
}
