/** Tells clients apart by their addresses. */
/** The first 96 bits of an IPv4 address that is mapped into IPv6 (RFC 4291). */
const MAPPED_IPV4 = '0:0:0:0:0:ffff';
/** How many of the eight groups of an IPv6 address name the network (/64). A machine can choose the other groups. */
const NETWORK_GROUPS = 4;

/**
 * The client behind the remote address of a socket, for limits and fair queues per client. An IPv4 address is a
 * client, even if it is mapped into IPv6. A /64 network of IPv6 is a client: one machine can use all addresses of the
 * network.
 *
 * @returns a text such as `192.0.2.1` or `2001:db8:0:7::/64`; empty for a closed socket
 */
export function clientOf(remoteAddress: string | undefined): string {
  const [address = ''] = remoteAddress?.split('%') ?? [];
  // For an IPv4 address, and for any other text by which the server around the library names a client.
  if (!address.includes(':') || !URL.canParse(`http://[${address}]`)) return remoteAddress ?? '';
  const groups = groupsOf(address);
  if (groups.slice(0, 6).join(':') === MAPPED_IPV4) return ipv4Of(groups.slice(6));
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): readonly string[] {
  // The URL parser normalises: lower case, the longest run of zeros as "::", an IPv4 address at the end as two groups.
  const { hostname } = new URL(`http://[${address}]`);
  const [before = '', after = ''] = hostname.slice(1, -1).split('::');
  const leading = before.split(':').filter(Boolean);
  const trailing = after.split(':').filter(Boolean);
  return [...leading, ...Array<string>(8 - leading.length - trailing.length).fill('0'), ...trailing];
}

/** The IPv4 address of two groups. */
function ipv4Of(groups: readonly string[]): string {
  const bytes = groups.map((group) => Number.parseInt(group, 16)).flatMap((two) => [two >> 8, two & 255]);
  return bytes.join('.');
}
