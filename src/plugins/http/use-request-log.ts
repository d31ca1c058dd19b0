import type { Plugin } from 'graphql-yoga';
import { elapsedMs } from '../../http/elapsed.js';
import { requestIdOf } from '../../http/request-ids.js';
import type { Logger } from '../../logger.js';

export interface RequestLogOptions {
  readonly log: Logger;
  /** Paths that machines request all the time; logged at `debug`. */
  readonly quietPaths: readonly string[];
}

/** Gives every request an id, returns it as `x-request-id`, and logs one line for each response. */
export function useRequestLog({ log, quietPaths }: RequestLogOptions): Plugin {
  const startedAt = new WeakMap<Request, number>();
  const operationNames = new WeakMap<Request, string>();
  return {
    onRequest({ request }) {
      startedAt.set(request, performance.now());
    },
    onParams({ params, request }) {
      // Not validated yet: the client can send any value.
      const name: unknown = params.operationName;
      if (typeof name === 'string' && name) operationNames.set(request, name.slice(0, 100));
    },
    onResponse({ request, response }) {
      const requestId = requestIdOf(request);
      response.headers.set('x-request-id', requestId);
      const { pathname } = new URL(request.url);
      log[quietPaths.includes(pathname) ? 'debug' : 'info'](
        {
          requestId,
          method: request.method,
          path: pathname.slice(0, 200),
          status: response.status,
          operation: operationNames.get(request),
          ms: elapsedMs(startedAt.get(request) ?? performance.now()),
        },
        'Answered',
      );
    },
  };
}
