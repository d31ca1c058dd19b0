import { BlockList, isIP } from 'node:net';

/** A longer address is none that a page had better load. */
const MAX_LENGTH = 2048;
/** What ends an attribute, a tag, or an address in a style sheet; and what cannot be seen. */
const MARKUP = /[\s<>"'`\\^{|}\p{Cc}\p{Cf}]/u;
/** Names of the own machine and the own network. */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|lan|home|home\.arpa)$/;

/** Addresses that are of no public host: of this machine, of private networks, of a link, or set apart. */
const NOT_PUBLIC = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv4');
}
/** Of the public ones, those that carry an IPv4 address, or are for examples. */
for (const [network, prefix] of [
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
] as const) {
  NOT_PUBLIC.addSubnet(network, prefix, 'ipv6');
}
const PUBLIC_IPV6 = new BlockList();
PUBLIC_IPV6.addSubnet('2000::', 3, 'ipv6');

/**
 * The address of a picture in the one form in which pages may load it; null for anything else. It is `https:`
 * or `http:`, at a public host, without a name and password, and has no character that means something in
 * markup.
 *
 * @param sent what an upstream sends as `logoUrl`, of any type
 */
export function logoUrlOf(sent: unknown): string | null {
  if (typeof sent !== 'string' || sent.length > MAX_LENGTH || MARKUP.test(sent)) return null;
  if (!URL.canParse(sent)) return null;
  const { protocol, username, password, hostname, href } = new URL(sent);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  if (username !== '' || password !== '' || !isPublic(hostname)) return null;
  return href.length <= MAX_LENGTH && !MARKUP.test(href) ? href : null;
}

/** Whether this is a host of the public network, as far as its name says so. */
function isPublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const version = isIP(host);
  if (version === 4) return !NOT_PUBLIC.check(host, 'ipv4');
  if (version === 6) return PUBLIC_IPV6.check(host, 'ipv6') && !NOT_PUBLIC.check(host, 'ipv6');
  return host.includes('.') && !host.endsWith('.') && !LOCAL_NAME.test(host);
}
