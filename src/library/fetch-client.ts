import { isIP } from 'node:net';
import { clientOf } from '../http/client-address.js';
import type { ClientFinder } from '../server/forwarded-client.js';

/** The client of a request of `fetch`. */
export interface FetchClient {
  /** Undefined if nobody says who asks. */
  readonly client: string | undefined;
  /** Whether a proxy that is not trusted may have sent the request for another client. */
  readonly isForwarded: boolean;
}

/**
 * Finds the client of a request of `fetch`, which has no connection.
 *
 * @param given the address at the other end of the connection, or any other text; undefined if unknown
 */
export function fetchClient(
  { headers }: Request,
  given: string | undefined,
  findClient: ClientFinder,
): FetchClient {
  if (given === undefined) return { client: undefined, isForwarded: false };
  if (!isIP(given)) return { client: given, isForwarded: false };
  const forwardedFor = headers.get('x-forwarded-for');
  const connectionClient = clientOf(given);
  const client = findClient(given, forwardedFor) ?? connectionClient;
  return { client, isForwarded: forwardedFor !== null && client === connectionClient };
}
