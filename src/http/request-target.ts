/** Reads the target and the Host header of a request. */
import type { IncomingMessage } from 'node:http';

/** How many characters of a target the log shows. */
const MAX_SHOWN = 500;

/**
 * The URL of a request, with a fixed host. Undefined if its target is neither a path nor an http URL.
 *
 * Two targets become a path that does not exist: a URL whose host is not that of the Host header, and a path that
 * normalisation would change, such as `/x/../metrics`, since a proxy in front may block `/metrics` by comparing paths.
 */
export function urlOf(target: string, host = ''): URL | undefined {
  if (target.startsWith('/')) return urlOfPath(target, target);
  const [origin, authority] = /^https?:\/\/([^/?#]*)/i.exec(target) ?? [];
  if (origin === undefined) return undefined;
  if (authority?.toLowerCase() !== host.toLowerCase()) return nowhere(target);
  return urlOfPath(target.slice(origin.length) || '/', target);
}

function urlOfPath(path: string, target: string): URL {
  const address = `http://gateway${path}`;
  if (!path.startsWith('/') || !URL.canParse(address)) return nowhere(target);
  const url = new URL(address);
  const end = path.indexOf('?');
  return url.pathname === (end < 0 ? path : path.slice(0, end)) ? url : nowhere(target);
}

/** A path that does not exist: the target as one segment, cut if it is long, for the log. */
function nowhere(target: string): URL {
  return new URL(`http://gateway/${encodeURIComponent(target.slice(0, MAX_SHOWN))}`);
}

/** Whether a request has exactly one Host header; HTTP/1.0 needs none. */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let nth = 0; nth < rawHeaders.length; nth += 2) {
    const name = rawHeaders[nth];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}
