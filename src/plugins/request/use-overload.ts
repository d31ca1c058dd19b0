import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';
import { refusalResponse } from '../../http/refusal.js';

export interface OverloadOptions {
  /** How long an operation may wait for its turn, in milliseconds. */
  readonly maxWaitMs: number;
}

export interface OverloadContext {
  /** Whether to refuse the request because the gateway is busy. */
  readonly isOverloaded?: boolean | undefined;
}

/** A refused client may try again after this many seconds. */
const RETRY_AFTER_SECONDS = 1;

/** Refuses an operation that would wait too long for its turn with HTTP 503, before it is parsed. */
export function useOverload({ maxWaitMs }: OverloadOptions): Plugin<OverloadContext, OverloadContext> {
  const refusal = {
    status: 503,
    message: `The gateway is busy: this operation would have waited longer than ${maxWaitMs} ms (MAX_WAIT_MS) and was not executed. Send it again in ${RETRY_AFTER_SECONDS} s.`,
    code: 'OVERLOADED' satisfies ErrorCode,
    headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
  };
  return {
    onRequest({ serverContext, endResponse, fetchAPI }) {
      if (serverContext.isOverloaded) endResponse(refusalResponse(refusal, fetchAPI));
    },
  };
}
