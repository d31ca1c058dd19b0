import type { Plugin } from 'graphql-yoga';
import { refusalResponse } from '../../http/refusal.js';
import type { Logger } from '../../logger.js';
import type { Metrics } from '../../metrics.js';

export interface MonitoringOptions {
  /** Why this process should get no traffic now; undefined if it should. */
  readonly notReadyReason: () => string | undefined;
  /** Whether the listings are demo data; `/ready` then says so. */
  readonly isDemo: boolean;
  readonly metrics: Metrics;
  /** Gets the cause of a failed scrape; the client only learns that it failed. */
  readonly log: Logger;
}

/** Exact paths: `/live/` is not found. */
export const MONITORING_PATHS: readonly string[] = ['/live', '/ready', '/metrics'];

const JSON_TYPE = 'application/json; charset=utf-8';

/**
 * `/live`: the process runs. `/ready`: it has listings to serve and is not about to stop; otherwise 503. `/metrics`:
 * for Prometheus; a failed scrape is answered with 500 and affects nothing else.
 */
export function useMonitoring({ notReadyReason, isDemo, metrics, log }: MonitoringOptions): Plugin {
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request: { method }, url: { pathname }, endResponse, fetchAPI }) {
      if (!MONITORING_PATHS.includes(pathname)) return undefined;
      const respond = (body: string, type = JSON_TYPE, status = 200) => {
        const headers = { 'content-type': type, 'cache-control': 'no-store' };
        endResponse(new fetchAPI.Response(body, { status, headers }));
      };
      if (method !== 'GET' && method !== 'HEAD') {
        const message = `Expected GET or HEAD, got ${method}.`;
        return endResponse(
          refusalResponse({ status: 405, message, headers: { allow: 'GET, HEAD' } }, fetchAPI),
        );
      }
      if (pathname === '/live') return respond('{"live":true}');
      if (pathname === '/ready') {
        const reason = notReadyReason();
        const state = { ready: reason === undefined, reason, source: isDemo ? 'demo' : undefined };
        return respond(JSON.stringify(state), JSON_TYPE, reason ? 503 : 200);
      }
      return metrics.expose().then(
        ({ contentType, text }) => respond(text, contentType),
        (err) => {
          log.error({ err }, 'The metrics could not be collected');
          const message = 'The metrics could not be collected; the log says why.';
          endResponse(refusalResponse({ status: 500, message }, fetchAPI));
        },
      );
    },
  };
}
