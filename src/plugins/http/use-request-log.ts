import type { Plugin } from 'graphql-yoga';
import { requestIdOf } from '../../http/request-ids.js';
import type { Logger } from '../../logger.js';

/** What {@link useRequestLog} takes. */
export interface RequestLogOptions {
  readonly log: Logger;
  /** Paths that are asked all the time by machines, and so logged only at `debug`. */
  readonly quietPaths: readonly string[];
}

/** Gives every request an id, says it in the answer's `x-request-id`, and logs one line for each answer. */
export function useRequestLog({ log, quietPaths }: RequestLogOptions): Plugin {
  const quiet = new Set(quietPaths);
  const started = new WeakMap<Request, number>();
  const operationNames = new WeakMap<Request, string>();
  return {
    onRequest({ request }) {
      started.set(request, performance.now());
    },
    onParams({ params, request }) {
      // Not yet checked: it is whatever the client sent.
      const name: unknown = params.operationName;
      if (typeof name === 'string' && name) operationNames.set(request, name.slice(0, 100));
    },
    onResponse({ request, response }) {
      const requestId = requestIdOf(request);
      response.headers.set('x-request-id', requestId);
      const { pathname } = new URL(request.url);
      log[quiet.has(pathname) ? 'debug' : 'info'](
        {
          requestId,
          method: request.method,
          path: pathname.slice(0, 200),
          status: response.status,
          operation: operationNames.get(request),
          ms: Math.round((performance.now() - (started.get(request) ?? performance.now())) * 10) / 10,
        },
        'Answered',
      );
    },
  };
}
