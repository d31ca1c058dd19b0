/** The answers of `/live`, `/ready`, `/metrics` and `POST /refresh`. */
import type { UpstreamError } from '../domain/upstream-error.js';
import { MONITORING_PATHS } from '../http/paths.js';
import { type PlainResponse, plainRefusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import { LISTING_NAMES } from '../snapshots/snapshot.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import type { Metrics } from './metrics.js';

export type RefreshAnswer = (method: string) => PlainResponse | Promise<PlainResponse>;

/** Answers the monitoring paths. Returns undefined for all other paths. */
export type Monitoring = (method: string, path: string) => PlainResponse | Promise<PlainResponse> | undefined;

const JSON_TYPE = 'application/json; charset=utf-8';

/** @param notReadyReason why this process should get no traffic now; undefined if it is ready */
export function createMonitoring(
  notReadyReason: () => string | undefined,
  isDemo: boolean,
  metrics: Metrics,
  log: Logger,
): Monitoring {
  return (method, path) => {
    if (!MONITORING_PATHS.some((each) => each === path)) return undefined;
    if (method !== 'GET' && method !== 'HEAD') return notAllowed(method, 'GET', 'HEAD');
    if (path === '/live') return respond('{"live":true}');
    if (path === '/ready') {
      const reason = notReadyReason();
      const state = { ready: reason === undefined, reason, source: isDemo ? 'demo' : undefined };
      return respond(JSON.stringify(state), JSON_TYPE, reason ? 503 : 200);
    }
    return metrics.expose().then(
      ({ contentType, text }) => respond(text, contentType),
      (err) => {
        log.error({ err }, 'The metrics could not be collected');
        const message = 'The metrics could not be collected; the log says why.';
        return plainRefusal({ status: 500, message });
      },
    );
  };
}

/** Concurrent requests of `POST /refresh` share one refresh and its response. */
export function createRefreshAnswer(refresh: Snapshots['refreshOnRequest'], log: Logger): RefreshAnswer {
  let answer: Promise<PlainResponse> | undefined;

  async function refreshBoth(): Promise<PlainResponse> {
    log.info('Refreshing both listings at the request of POST /refresh');
    const results = await refresh();
    const outcomes = results.map((result) => {
      if (result.status === 'rejected') {
        const { code, message, retryAfterMs } = result.reason as UpstreamError;
        return { refreshed: false, code, message, retryAfterMs };
      }
      const { source, takenAt, rows } = result.value;
      return { refreshed: true, source, takenAt: new Date(takenAt).toISOString(), rows: rows.length };
    });
    const isDone = results.every(({ status }) => status === 'fulfilled');
    const byListing = Object.fromEntries(outcomes.map((outcome, nth) => [LISTING_NAMES[nth], outcome]));
    return respond(JSON.stringify(byListing), JSON_TYPE, isDone ? 200 : 502);
  }

  return (method) => {
    if (method !== 'POST') return notAllowed(method, 'POST');
    answer ??= refreshBoth().finally(() => {
      answer = undefined;
    });
    return answer;
  };
}

function respond(body: string, type = JSON_TYPE, status = 200): PlainResponse {
  return { status, headers: { 'content-type': type, 'cache-control': 'no-store' }, body };
}

function notAllowed(method: string, ...allowed: readonly string[]): PlainResponse {
  const message = `Expected ${allowed.join(' or ')}, got ${method}.`;
  return plainRefusal({ status: 405, message, headers: { allow: allowed.join(', ') } });
}

/** Why this process should get no traffic now. Undefined if it is ready. */
export function notReadyReason(snapshots: Snapshots, isStopping: boolean): string | undefined {
  if (isStopping) return 'The gateway is stopping.';
  const missing = snapshots.status(Date.now()).filter(({ state }) => state === 'EMPTY');
  const reasons = missing.map(({ name, lastFailure }) =>
    lastFailure
      ? `There is no snapshot of the ${name} listing yet: ${lastFailure.code}: ${lastFailure.message}`
      : `The first snapshot of the ${name} listing is being fetched.`,
  );
  return missing.length === 0 ? undefined : reasons.join(' ');
}
