/** The first 96 bits of an IPv4 address that is mapped into IPv6 (RFC 4291). */
const MAPPED_IPV4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i;
/** How many of the eight groups of an IPv6 address name a network. The others are chosen by each machine in it. */
const NETWORK_GROUPS = 4;

/**
 * The client behind the remote address of a socket, for limits and fair queues per client. An IPv4 address as it is,
 * also when it is mapped into IPv6; an IPv6 address as its /64, since one machine can use any address of that.
 *
 * @returns such as `192.0.2.1` or `2001:db8:0:7::/64`; empty for a socket that is already closed
 */
export function clientOf(remoteAddress: string | undefined): string {
  if (!remoteAddress?.includes(':')) return remoteAddress ?? '';
  const [, ipv4] = MAPPED_IPV4.exec(remoteAddress) ?? [];
  if (ipv4 !== undefined) return ipv4;
  const [address = ''] = remoteAddress.toLowerCase().split('%');
  const [before = '', after] = address.split('::');
  const leading = before === '' ? [] : before.split(':');
  const trailing = after ? after.split(':') : [];
  const isShortened = after !== undefined;
  const zeros = isShortened ? Array.from({ length: 8 - leading.length - trailing.length }, () => '0') : [];
  const groups = [...leading, ...zeros, ...trailing].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, '')).join(':')}::/64`;
}
