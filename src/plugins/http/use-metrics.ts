import type { Plugin } from 'graphql-yoga';
import { methodNotAllowed, refusalResponse } from '../../http/refusal.js';
import type { Logger } from '../../logger.js';
import type { Metrics } from '../../metrics.js';

export interface MetricsOptions {
  readonly metrics: Metrics;
  /** Gets the cause of a failed scrape; the client only learns that it failed. */
  readonly log: Logger;
}

/** An exact path: `/metrics/` is not found. */
export const METRICS_PATH = '/metrics';

/** `/metrics`, for Prometheus. A failed scrape is answered with 500 and affects nothing else. */
export function useMetrics({ metrics, log }: MetricsOptions): Plugin {
  return {
    // Not async: every other request passes through here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      if (url.pathname !== METRICS_PATH) return undefined;
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        endResponse(refusalResponse(methodNotAllowed(request.method), fetchAPI));
        return undefined;
      }
      return metrics.expose().then(
        ({ contentType, text }) =>
          endResponse(
            new fetchAPI.Response(text, {
              headers: { 'content-type': contentType, 'cache-control': 'no-store' },
            }),
          ),
        (err) => {
          log.error({ err }, 'The metrics could not be collected');
          const message = 'The metrics could not be collected; the log says why.';
          endResponse(refusalResponse({ status: 500, message }, fetchAPI));
        },
      );
    },
  };
}
