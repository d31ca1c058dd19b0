import type { Plugin } from 'graphql-yoga';
import type { ErrorCode } from '../../domain/errors.js';
import { readUpTo } from '../../http/read-up-to.js';
import { type Refusal, refusalResponse } from '../../http/refusal.js';

export interface BodyLimitOptions {
  readonly maxBodyBytes: number;
}

export interface BodyLimitContext {
  /** How many bytes of body the HTTP server received; undefined if nobody has counted them. */
  readonly bodyBytes?: number | undefined;
}

/** Refuses a larger request body with HTTP 413, and reads hardly more of it than the limit. */
export function useBodyLimit({ maxBodyBytes }: BodyLimitOptions): Plugin<BodyLimitContext, BodyLimitContext> {
  const refusal = (bytes: number | 'more'): Refusal => ({
    status: 413,
    message: `A request body may have at most ${maxBodyBytes} bytes (MAX_BODY_BYTES); this one has ${bytes}.`,
    code: 'LIMIT_EXCEEDED' satisfies ErrorCode,
  });
  return {
    onRequest({ request, serverContext, endResponse, fetchAPI }) {
      const declared = Number(request.headers.get('content-length')) || 0;
      const bytes = Math.max(declared, serverContext.bodyBytes ?? 0);
      if (bytes > maxBodyBytes) endResponse(refusalResponse(refusal(bytes), fetchAPI));
    },
    onRequestParse({ request, serverContext, requestParser, setRequestParser, endResponse, fetchAPI }) {
      const { url, method, headers, body } = request;
      if (serverContext.bodyBytes !== undefined || !body || !requestParser) return undefined;
      return readUpTo(maxBodyBytes, body).then(({ body: read }) => {
        if (!read) endResponse(refusalResponse(refusal('more'), fetchAPI));
        else
          setRequestParser(() => requestParser(new fetchAPI.Request(url, { method, headers, body: read })));
      });
    },
  };
}
