import type { TraceSpan } from '../../tracing/tracing.js';
import type { SentRefusal, ServerRefusal } from '../refusals.js';
import type { CacheableRequest } from './cacheable-request.js';

/** One request and the way back to its client: of node:http, or of `fetch`. Exactly one response is sent. */
export interface Exchange {
  readonly method: string;
  /** The target of the request, as it was sent. */
  readonly url: string;
  /** When the whole request had arrived, and it was its turn; by `performance.now()`. */
  readonly startedAt: number;
  /** Of the request, if it is traced. */
  readonly span?: TraceSpan | undefined;
  /** The client, such as its address, for fair turns. All requests without one count as one client. */
  readonly client: string | undefined;
  /** Whether a proxy that is not trusted may have sent the request for another client. */
  readonly isForwarded: boolean;
  /** The HTTP status, once a response was sent. */
  readonly status: number;
  /** Of the body of the response, once it was sent. */
  readonly bodyBytes: number;
  /** Whether the client has gone before or while the response was sent. */
  readonly isAborted: boolean;
  /** Whether nobody waits for the response any more. */
  readonly isClosed: boolean;
  /**
   * Makes the request for GraphQL Yoga. It is aborted when nobody waits for the response any more.
   *
   * @param body undefined for a request without one, and for a refused body
   * @throws NotAPath if the target of the request is no path
   */
  toRequest(RequestClass: typeof Request, request: CacheableRequest, body: string | undefined): Request;
  /**
   * Sends a whole response.
   *
   * @param headers names and values in turn
   * @param parts the body, which must not change afterwards; undefined for a response that has none
   */
  send(status: number, headers: string[], parts?: readonly Uint8Array[]): void;
  /**
   * Sends a refusal.
   *
   * @returns undefined if a response has begun, which is then broken off
   */
  refuse(refusal: ServerRefusal): SentRefusal | undefined;
  /** Ends the exchange without a response. */
  destroy(error: Error): void;
}

/**
 * The body for a request of `fetch`. A body without a type goes as bytes: `fetch` would call a text `text/plain`, and
 * nobody could tell any more that its type is missing.
 */
export function typedBody(
  { contentType }: CacheableRequest,
  body: string | undefined,
): string | Uint8Array<ArrayBuffer> | null {
  if (body === undefined) return null;
  return contentType === undefined ? new TextEncoder().encode(body) : body;
}

/** A request whose target is not a path, such as `example.org:443`. */
export class NotAPath extends Error {}
