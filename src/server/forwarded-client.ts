import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import proxyaddr from 'proxy-addr';
import { clientOf } from '../http/client-address.js';

/**
 * Finds the client of a request.
 *
 * @param connectionClient the client at the other end of the connection
 */
export type ClientFinder = (request: IncomingMessage, connectionClient: string) => string;

/** The rest of a longer header is ignored: its end was written by the nearest proxies. */
const MAX_HEADER_LENGTH = 1_000;
const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d+)?$/;

/**
 * Makes the finder. A request through trusted proxies is the last untrusted address's of its `X-Forwarded-For` header.
 * Everything before that address was written by the client itself, which can write any address there. Where a proxy
 * names no address, the request counts as that proxy's own.
 *
 * @param trustedProxies networks as `proxy-addr` reads them; without any, the client is always that of the connection
 */
export function createClientFinder(trustedProxies: readonly string[]): ClientFinder {
  if (trustedProxies.length === 0) return (_request, connectionClient) => connectionClient;
  const isTrusted = proxyaddr.compile([...trustedProxies]);
  return ({ headers, socket }, connectionClient) => {
    let address = socket.remoteAddress;
    // The socket has no address any more once it is closed.
    if (address === undefined || !isTrusted(address, 0)) return connectionClient;
    for (const entry of entriesFromTheEnd(String(headers['x-forwarded-for'] ?? ''))) {
      const next = addressIn(entry);
      if (next === undefined) break;
      address = next;
      if (!isTrusted(address, 0)) break;
    }
    return clientOf(address);
  };
}

function entriesFromTheEnd(header: string): readonly string[] {
  const entries = header.slice(-MAX_HEADER_LENGTH).split(',');
  // A part of an address is another address.
  if (header.length > MAX_HEADER_LENGTH) entries.shift();
  return entries
    .map((entry) => entry.trim())
    .filter(Boolean)
    .reverse();
}

/** The address in an entry, which some proxies write with a port; undefined for any other text. */
function addressIn(entry: string): string | undefined {
  const [, address = entry] = IPV4_WITH_PORT.exec(entry) ?? IPV6_IN_BRACKETS.exec(entry) ?? [];
  return isIP(address) ? address : undefined;
}
