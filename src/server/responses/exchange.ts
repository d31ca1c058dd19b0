import type { ServerRefusal } from '../refusals.js';
import type { CacheableRequest } from './cacheable-request.js';

/** One request and the way back to its client: of node:http, or of `fetch`. Exactly one response is sent. */
export interface Exchange {
  /** The client, such as its address, for fair turns. All requests without one count as one client. */
  readonly client: string | undefined;
  /** Whether a proxy that is not trusted may have sent the request for another client. */
  readonly isForwarded: boolean;
  /** The HTTP status, once a response was sent. */
  readonly status: number;
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
   * @param bytes undefined for a response that has no body
   */
  send(status: number, headers: string[], bytes?: Uint8Array): void;
  /** Sends a refusal. If a response has begun, it is broken off. */
  refuse(refusal: ServerRefusal): void;
  /** Ends the exchange without a response. */
  destroy(error: Error): void;
}

/** A request whose target is not a path, such as `example.org:443`. */
export class NotAPath extends Error {}
