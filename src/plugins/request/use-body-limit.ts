import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../../domain/errors.js';

/** What {@link useBodyLimit} takes. */
export interface BodyLimitOptions {
  readonly maxBodyBytes: number;
}

/** What the HTTP server says of a request whose body it did not keep. */
export interface BodyLimitContext {
  /** How many bytes came, where they were too many. */
  readonly bodyBytesOverLimit?: number | undefined;
}

/** Refuses a request body over the limit with HTTP 413, before anything reads it. */
export function useBodyLimit({ maxBodyBytes }: BodyLimitOptions): Plugin<BodyLimitContext, BodyLimitContext> {
  return {
    onRequest({ request, serverContext, endResponse, fetchAPI }) {
      const declared = Number(request.headers.get('content-length') ?? 0);
      const came = Math.max(declared, serverContext.bodyBytesOverLimit ?? 0);
      if (came <= maxBodyBytes) return;
      const { code, message } = new GatewayError(
        'LIMIT_EXCEEDED',
        `A request body may have at most ${maxBodyBytes} bytes (MAX_BODY_BYTES); this one has ${came}.`,
      );
      const body = JSON.stringify({ errors: [{ message, extensions: { code } }] });
      const headers = { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' };
      endResponse(new fetchAPI.Response(body, { status: 413, headers }));
    },
  };
}
