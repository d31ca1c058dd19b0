/** Decides which pictures are safe for pages to load. */
import { BlockList, isIP } from 'node:net';

/** The longest address of a picture, in UTF-16 code units: a common limit on URLs. */
const MAX_LENGTH = 2048;
/** Characters that end an attribute, a tag or an address in a style sheet, and invisible ones. */
const MARKUP = /[\s<>"'`\\^{|}\p{Cc}\p{Cf}]/u;
/** Names of this machine and of hosts in local networks. */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|lan|home|home\.arpa)$/;

/** Loopback, private, link-local, reserved and documentation addresses, and IPv6 ones that embed an IPv4 address. */
const NOT_PUBLIC = new BlockList();
const NETWORKS =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 2001::/32 2001:db8::/32 2002::/16';
for (const [network = '', prefix] of NETWORKS.split(' ').map((each) => each.split('/'))) {
  NOT_PUBLIC.addSubnet(network, Number(prefix), network.includes(':') ? 'ipv6' : 'ipv4');
}
const PUBLIC_IPV6 = new BlockList();
PUBLIC_IPV6.addSubnet('2000::', 3, 'ipv6');

/**
 * The address of a picture if it is safe for pages to load, and null otherwise. It must be `https:` or `http:`, at a
 * public host, without a user name and password, and without characters that have a meaning in markup.
 */
export function logoUrlOf(sent: unknown): string | null {
  if (typeof sent !== 'string' || sent.length > MAX_LENGTH || MARKUP.test(sent)) return null;
  if (!URL.canParse(sent)) return null;
  const { protocol, username, password, hostname, href } = new URL(sent);
  if (protocol !== 'https:' && protocol !== 'http:') return null;
  if (username !== '' || password !== '' || !isPublic(hostname)) return null;
  return href.length <= MAX_LENGTH && !MARKUP.test(href) ? href : null;
}

function isPublic(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  const family = isIP(host);
  if (family === 4) return !NOT_PUBLIC.check(host, 'ipv4');
  if (family === 6) return PUBLIC_IPV6.check(host, 'ipv6') && !NOT_PUBLIC.check(host, 'ipv6');
  return host.includes('.') && !host.endsWith('.') && !LOCAL_NAME.test(host);
}
