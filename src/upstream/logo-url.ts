/** Decides which pictures are safe for pages to load. */

/** The longest address of a picture, in UTF-16 code units: a common limit on URLs. */
const MAX_LENGTH = 2048;
/** Characters that end an attribute, a tag or an address in a style sheet, and invisible ones. */
const MARKUP = /[\s<>"'`\\^{|}\p{Cc}\p{Cf}]/u;
/** A host name with a dot. IP addresses are refused: no picture needs one, and many lead into local networks. */
const NAME = /\.[a-z][a-z0-9-]*$/;
/** Names of this machine and of hosts in local networks. */
const LOCAL_NAME =
  /(?:^|\.)(?:localhost|localdomain|local|internal|intranet|private|corp|lan|home|home\.arpa)$/;

/**
 * The address of a picture if it is safe for pages to load, and null otherwise. It must be `https:` or `http:`, at a
 * host with a public name, without a user name and password, and without characters that have a meaning in markup.
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
  const host = hostname.replace(/\.$/, '');
  return NAME.test(host) && !LOCAL_NAME.test(host);
}
