/** Tells clients apart by their addresses, even behind trusted proxies. */
import { isIP } from 'node:net';
import proxyaddr from 'proxy-addr';
import { TEXT_LIMITS } from '../domain/text-limits.js';

/** The first 96 bits of an IPv4 address that is mapped into IPv6 (RFC 4291). */
const MAPPED_IPV4 = '0:0:0:0:0:ffff';

/**
 * The client behind an address, for limits and fair queues: an IPv4 address, even if it is mapped into IPv6, or a network
 * such as `2001:db8:0:7::/64`. Empty for a closed socket. Any other text is returned unchanged.
 */
export function clientOf(remoteAddress: string | undefined): string {
  const [address = ''] = remoteAddress?.split('%') ?? [];
  if (!address.includes(':') || !URL.canParse(`http://[${address}]`)) return remoteAddress ?? '';
  const groups = groupsOf(address);
  // A machine can choose the last four groups of its IPv6 address.
  if (groups.slice(0, 6).join(':') !== MAPPED_IPV4) return `${groups.slice(0, 4).join(':')}::/64`;
  const numbers = groups.slice(6).map((group) => Number.parseInt(group, 16));
  return numbers.flatMap((two) => [two >> 8, two & 255]).join('.');
}

/** The eight groups, without leading zeros. */
function groupsOf(address: string): readonly string[] {
  // The URL parser normalises: lower case, the longest run of zeros as "::", an IPv4 address at the end as two groups.
  const { hostname } = new URL(`http://[${address}]`);
  const [before = '', after = ''] = hostname.slice(1, -1).split('::');
  const leading = before.split(':').filter(Boolean);
  const trailing = after.split(':').filter(Boolean);
  return [...leading, ...Array<string>(8 - leading.length - trailing.length).fill('0'), ...trailing];
}

export type ClientFinder = ReturnType<typeof createClientFinder>;

/**
 * Creates the function that finds the client whose request came through trusted proxies: the last address in
 * `X-Forwarded-For` that is not a trusted proxy's. Clients can make up all addresses before it. If a proxy adds no
 * address, the proxy counts as the client. The result is undefined if no trusted proxy sent the request.
 */
export function createClientFinder(trustedProxies: readonly string[]) {
  const isTrusted = proxyaddr.compile([...trustedProxies]);
  return (connectionAddress: string | undefined, forwardedFor: string | readonly string[] = '') => {
    if (connectionAddress === undefined || !isTrusted(connectionAddress, 0)) return undefined;
    let address = connectionAddress;
    for (const entry of entriesFromTheEnd(String(forwardedFor))) {
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

const IPV4_WITH_PORT = /^(\d+\.\d+\.\d+\.\d+):\d+$/;
const IPV6_IN_BRACKETS = /^\[([^\]]+)\](?::\d+)?$/;

/** The address in an entry, which some proxies write with a port. Undefined for any other text. */
function addressIn(entry: string): string | undefined {
  const [, address = entry] = IPV4_WITH_PORT.exec(entry) ?? IPV6_IN_BRACKETS.exec(entry) ?? [];
  return isIP(address) ? address : undefined;
}
