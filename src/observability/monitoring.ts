import { type Refusal, refusalBody, refusalHeaders } from '../http/refusal.js';
import type { Logger } from '../logger.js';
import type { Snapshots } from '../snapshots/snapshots.js';
import type { Metrics } from './metrics.js';

export interface MonitoringOptions {
  /** Why this process should get no traffic now; undefined if it should. */
  readonly notReadyReason: () => string | undefined;
  /** Whether the listings are demo data; `/ready` then says so. */
  readonly isDemo: boolean;
  readonly metrics: Pick<Metrics, 'expose'>;
  /** Gets the cause of a failed scrape; the client only learns that it failed. */
  readonly log: Logger;
}

/** A response of a monitoring path. */
export interface MonitoringResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Answers requests to the monitoring paths; undefined for other paths. */
export type Monitoring = (
  method: string,
  path: string,
) => MonitoringResponse | Promise<MonitoringResponse> | undefined;

/** Exact paths: `/live/` is not found. */
export const MONITORING_PATHS: readonly string[] = ['/live', '/ready', '/metrics'];
/** Those that stay on the public port where there is an admin port. */
export const PUBLIC_PATHS: readonly string[] = ['/live', '/ready'];

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * Creates the answers of `/live`, `/ready` and `/metrics`. `/live`: the process runs. `/ready`: it has listings to serve and is not about to stop; otherwise 503. `/metrics`:
 * for Prometheus; a failed scrape is answered with 500 and affects nothing else.
 *
 * @param paths the paths to answer; undefined is returned for all others
 */
export function createMonitoring(
  { notReadyReason, isDemo, metrics, log }: MonitoringOptions,
  paths = MONITORING_PATHS,
): Monitoring {
  return (method, path) => {
    if (!paths.includes(path)) return undefined;
    if (method !== 'GET' && method !== 'HEAD') {
      const message = `Expected GET or HEAD, got ${method}.`;
      return refused({ status: 405, message, headers: { allow: 'GET, HEAD' } });
    }
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
        return refused({ status: 500, message: 'The metrics could not be collected; the log says why.' });
      },
    );
  };
}

function respond(body: string, type = JSON_TYPE, status = 200): MonitoringResponse {
  return { status, headers: { 'content-type': type, 'cache-control': 'no-store' }, body };
}

function refused(refusal: Refusal): MonitoringResponse {
  return { status: refusal.status, headers: refusalHeaders(refusal), body: refusalBody(refusal) };
}

/** Why this process should get no traffic now; undefined if it should. */
export function notReadyReason(snapshots: Snapshots, stopping: boolean): string | undefined {
  if (stopping) return 'The gateway is stopping.';
  const missing = snapshots.status(Date.now()).filter(({ state }) => state === 'EMPTY');
  if (missing.length === 0) return undefined;
  return missing
    .map(({ name, lastFailure }) =>
      lastFailure
        ? `There is no snapshot of the ${name} listing yet: ${lastFailure.code}: ${lastFailure.message}`
        : `The first snapshot of the ${name} listing is being fetched.`,
    )
    .join(' ');
}
