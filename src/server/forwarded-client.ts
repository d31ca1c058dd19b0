/** Finds the client of a request behind trusted proxies. */
import { isIP } from 'node:net';
import proxyaddr from 'proxy-addr';
import { TEXT_LIMITS } from '../domain/text-limits.js';
import { clientOf } from '../http/client-address.js';

/**
 * Finds the client for whom trusted proxies have sent a request.
 *
 * @param address the address at the other end of the connection; undefined once the connection is closed
 * @param forwardedFor the `X-Forwarded-For` header
 * @returns undefined for a request that no trusted proxy sent: its client is that of the connection
 */
export type ClientFinder = (
  address: string | undefined,
  forwardedFor: string | readonly string[] | null | undefined,
) => string | undefined;

const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d+)?$/;

/**
 * Creates the finder. The client of a request through trusted proxies is the last address in `X-Forwarded-For` that is not
 * a trusted proxy. A client can write anything into the header before that address. If a proxy adds no address, the proxy
 * counts as the client.
 *
 * @param trustedProxies networks as `proxy-addr` reads them; without any, the finder always returns undefined
 */
export function createClientFinder(trustedProxies: readonly string[]): ClientFinder {
  if (trustedProxies.length === 0) return () => undefined;
  const isTrusted = proxyaddr.compile([...trustedProxies]);
  return (connectionAddress, forwardedFor) => {
    if (connectionAddress === undefined || !isTrusted(connectionAddress, 0)) return undefined;
    let address = connectionAddress;
    for (const entry of entriesFromTheEnd(String(forwardedFor ?? ''))) {
      const next = addressIn(entry);
      if (next === undefined) break;
      address = next;
      if (!isTrusted(address, 0)) break;
    }
    return clientOf(address);
  };
}

function entriesFromTheEnd(header: string): readonly string[] {
  // Only the end of a longer header is read: the nearest proxies wrote it.
  const entries = header.slice(-TEXT_LIMITS.header).split(',');
  // The first entry may be cut, and a cut address can be the address of another client.
  if (header.length > TEXT_LIMITS.header) entries.shift();
  return entries
    .map((entry) => entry.trim())
    .filter(Boolean)
    .reverse();
}

/** The address in an entry, which some proxies write with a port. Undefined for any other text. */
function addressIn(entry: string): string | undefined {
  const [, address = entry] = IPV4_WITH_PORT.exec(entry) ?? IPV6_IN_BRACKETS.exec(entry) ?? [];
  return isIP(address) ? address : undefined;
}
