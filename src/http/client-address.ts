/** Tells clients apart by their addresses, even behind trusted proxies. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import proxyaddr from 'proxy-addr';
import { TEXT_LIMITS } from '../domain/text-limits.js';

/**
 * The client behind an address, for limits and fair queues: an IPv4 address, even if it is mapped into IPv6, or a network
 * such as `2001:db8:0:7::/64`. Empty for a closed socket. Any other text is returned unchanged.
 */
export function clientOf(remoteAddress = ''): string {
  const [address = ''] = remoteAddress.split('%', 1);
  if (!isIPv6(address)) return remoteAddress;
  // Written by the URL parser, because ipaddr.js does not know all forms, such as `64:ff9b::192.0.2.1`.
  const { hostname } = new URL(`http://[${address}]`);
  const parsed = ipaddr.process(hostname.slice(1, -1));
  if (parsed instanceof ipaddr.IPv4) return parsed.toString();
  // A machine can choose the last four groups of its IPv6 address.
  const groups = parsed.parts.slice(0, 4).map((group) => group.toString(16));
  return `${groups.join(':')}::/64`;
}

export type ClientFinder = ReturnType<typeof createClientFinder>;

/**
 * Creates the function that finds the client of a request: the address of the connection or, if that is a trusted proxy's,
 * the last address in `X-Forwarded-For` that is not a trusted proxy's. Clients can make up all addresses before it. If a
 * proxy adds no address, the proxy counts as the client.
 */
export function createClientFinder(trustedProxies: readonly string[]) {
  const isTrusted = proxyaddr.compile([...trustedProxies]);
  return (remoteAddress: string | undefined, forwardedFor: string | readonly string[] = ''): string => {
    const headers: IncomingHttpHeaders = { 'x-forwarded-for': endOf(String(forwardedFor)) };
    const request = { socket: { remoteAddress }, headers } as IncomingMessage;
    const addresses = proxyaddr.all(request, (entry, nth) => isTrusted(addressIn(entry), nth)).map(addressIn);
    return clientOf(addresses.findLast(Boolean));
  };
}

/** Only the end of a long header is read: the nearest proxies wrote it. */
function endOf(header: string): string {
  if (header.length <= TEXT_LIMITS.header) return header;
  // Without its first entry, which may be cut: a cut address can be that of another client.
  return header.slice(-TEXT_LIMITS.header).replace(/^[^,]*/, '');
}

const IN_BRACKETS_OR_WITH_PORT = /^(?:\[(.+)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/** The address in an entry, which some proxies write with a port. Empty for any other text. */
function addressIn(entry = ''): string {
  const text = entry.trim();
  const [, ipv6, ipv4] = IN_BRACKETS_OR_WITH_PORT.exec(text) ?? [];
  const address = ipv6 ?? ipv4 ?? text;
  return isIP(address) ? address : '';
}
