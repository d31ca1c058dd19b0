/** The last 32 bits of an IPv6 address, where they are written as an IPv4 address. */
const IPV4_AT_THE_END = /(\d+)\.(\d+)\.(\d+)\.(\d+)$/;
/** The first 96 bits of an IPv4 address that is mapped into IPv6 (RFC 4291). */
const MAPPED_IPV4 = '0:0:0:0:0:ffff';
/** How many of the eight groups of an IPv6 address name a network. The others are chosen by each machine in it. */
const NETWORK_GROUPS = 4;

/**
 * The client behind the remote address of a socket, for limits and fair queues per client. An IPv4 address as it is,
 * also when it is mapped into IPv6, in any spelling; an IPv6 address as its /64, since one machine can use any address
 * of that.
 *
 * @returns such as `192.0.2.1` or `2001:db8:0:7::/64`; empty for a socket that is already closed
 */
export function clientOf(remoteAddress: string | undefined): string {
  if (!remoteAddress?.includes(':')) return remoteAddress ?? '';
  const groups = groupsOf(remoteAddress);
  if (groups.slice(0, 6).join(':') === MAPPED_IPV4) return ipv4Of(groups.slice(6));
  return `${groups.slice(0, NETWORK_GROUPS).join(':')}::/64`;
}

/** The eight groups of an IPv6 address, without leading zeros. */
function groupsOf(address: string): readonly string[] {
  const [inAnyForm = ''] = address.toLowerCase().split('%');
  const inHex = inAnyForm.replace(IPV4_AT_THE_END, (_all, a, b, c, d) => `${hexOf(a, b)}:${hexOf(c, d)}`);
  const [before = '', after] = inHex.split('::');
  const leading = before === '' ? [] : before.split(':');
  const trailing = after ? after.split(':') : [];
  const isShortened = after !== undefined;
  const zeros = isShortened ? Array.from({ length: 8 - leading.length - trailing.length }, () => '0') : [];
  return [...leading, ...zeros, ...trailing].map((group) => group.replace(/^0+(?=.)/, ''));
}

/** The group of two bytes that are written as decimals. */
function hexOf(high: string, low: string): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}

/** The IPv4 address of two groups. */
function ipv4Of(groups: readonly string[]): string {
  const bytes = groups.map((group) => Number.parseInt(group, 16)).flatMap((two) => [two >> 8, two & 255]);
  return bytes.join('.');
}
