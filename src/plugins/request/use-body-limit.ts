import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';
import { refusalResponse } from '../../http/refusal.js';

export interface BodyLimitOptions {
  readonly maxBodyBytes: number;
}

export interface BodyLimitContext {
  /** How many bytes of body the HTTP server received; it passes on none that is larger than the limit. */
  readonly bodyBytes?: number | undefined;
}

/** Refuses a larger request body with HTTP 413. */
export function useBodyLimit({ maxBodyBytes }: BodyLimitOptions): Plugin<BodyLimitContext, BodyLimitContext> {
  return {
    onRequest({ request, serverContext, endResponse, fetchAPI }) {
      const declared = Number(request.headers.get('content-length')) || 0;
      const bytes = Math.max(declared, serverContext.bodyBytes ?? 0);
      if (bytes <= maxBodyBytes) return;
      const message = `A request body may have at most ${maxBodyBytes} bytes (MAX_BODY_BYTES); this one has ${bytes}.`;
      const code: ErrorCode = 'LIMIT_EXCEEDED';
      endResponse(refusalResponse({ status: 413, message, code }, fetchAPI));
    },
  };
}
