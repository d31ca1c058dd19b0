import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../errors.js';

/** Limits that a refused client is told of. */
export interface OverloadOptions {
  /** How long an operation may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

/** Whether a request is to be refused since the gateway is busy. */
export interface OverloadContext {
  readonly isOverloaded?: boolean | undefined;
}

/** After this many seconds a refused client may try again. */
const RETRY_AFTER_SECONDS = 1;

/** Refuses an operation that would wait too long for its turn, with HTTP 503 and before anything reads it. */
export function useOverload({ maxWaitMs }: OverloadOptions): Plugin<OverloadContext, OverloadContext> {
  const message = `The gateway is busy: this operation would have waited longer than ${maxWaitMs} ms (MAX_WAIT_MS) and was not executed. Send it again in ${RETRY_AFTER_SECONDS} s.`;
  const code: ErrorCode = 'OVERLOADED';
  const body = JSON.stringify({ errors: [{ message, extensions: { code } }] });
  return {
    onRequest({ serverContext, endResponse, fetchAPI }) {
      if (!serverContext.isOverloaded) return;
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'no-store',
        'retry-after': String(RETRY_AFTER_SECONDS),
      };
      endResponse(new fetchAPI.Response(body, { status: 503, headers }));
    },
  };
}
