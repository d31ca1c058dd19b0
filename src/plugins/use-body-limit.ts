import type { Plugin } from 'graphql-yoga';
import { GatewayError } from '../errors.js';

/** What {@link useBodyLimit} takes. */
export interface BodyLimitOptions {
  readonly maxBodyBytes: number;
}

/** What the HTTP server says of a request whose body it read no further. */
export interface BodyLimitContext {
  /** How many bytes had come when it stopped. */
  readonly bodyBytesOverLimit?: number | undefined;
}

/** Refuses a request body over the limit with HTTP 413, before anything reads it. */
export function useBodyLimit({ maxBodyBytes }: BodyLimitOptions): Plugin<BodyLimitContext, BodyLimitContext> {
  return {
    onRequest({ request, serverContext, endResponse, fetchAPI }) {
      const declared = Number(request.headers.get('content-length') ?? 0);
      const over = declared > maxBodyBytes ? `${declared}` : undefined;
      const seen = serverContext.bodyBytesOverLimit;
      const came = over ?? (seen === undefined ? undefined : `${seen} or more`);
      if (came === undefined) return;
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
