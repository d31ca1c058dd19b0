import type { Plugin } from 'graphql-yoga';
import type { Logger } from '../../logger.js';
import type { Metrics } from '../../metrics.js';

/** What {@link useMetrics} takes. */
export interface MetricsOptions {
  readonly metrics: Metrics;
  /** Gets what went wrong with a scrape, of which the client learns only that it failed. */
  readonly log: Logger;
}

/** The path that {@link useMetrics} answers, exactly so written. */
export const METRICS_PATH = '/metrics';

/** `/metrics`: what was counted and measured, for Prometheus. A scrape that fails is 500 and harms nothing else. */
export function useMetrics({ metrics, log }: MetricsOptions): Plugin {
  return {
    // Not async, since every other request passes here, too.
    onRequest({ request, url, endResponse, fetchAPI }) {
      if (url.pathname !== METRICS_PATH) return undefined;
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
      if (request.method !== 'GET' && request.method !== 'HEAD') {
        const body = JSON.stringify({ error: `Expected GET or HEAD, got ${request.method}.` });
        endResponse(
          new fetchAPI.Response(body, { status: 405, headers: { ...headers, allow: 'GET, HEAD' } }),
        );
        return undefined;
      }
      return metrics.expose().then(
        ({ contentType, text }) =>
          endResponse(new fetchAPI.Response(text, { headers: { ...headers, 'content-type': contentType } })),
        (err) => {
          log.error({ err }, 'The metrics could not be collected');
          const body = JSON.stringify({ error: 'The metrics could not be collected; the log says why.' });
          endResponse(new fetchAPI.Response(body, { status: 500, headers }));
        },
      );
    },
  };
}
