import type { IncomingMessage } from 'node:http';

/** Longer targets are of no use in the log. */
const MAX_SHOWN = 500;

/**
 * The address that a request asks for, on a host of no meaning; undefined where its target is neither a path nor
 * an http address.
 *
 * A path that would be another one after normalising, such as `/x/../metrics`, becomes a path where nothing is: a
 * proxy that keeps some paths from the public compares them as they came. So does an address with another host
 * than that of the Host header. That header has no further part in it.
 */
export function urlOf({ url: target = '/', headers: { host = '' } }: IncomingMessage): URL | undefined {
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

/** The whole target as one segment of a path, which the log then shows. */
function nowhere(target: string): URL {
  return new URL(`http://gateway/${encodeURIComponent(target.slice(0, MAX_SHOWN))}`);
}

/** Whether a request says once which host it means; HTTP/1.0 need not. */
export function hasOneHost({ rawHeaders, httpVersion }: IncomingMessage): boolean {
  let hosts = 0;
  for (let nth = 0; nth < rawHeaders.length; nth += 2) {
    const name = rawHeaders[nth];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts === 1 || (hosts === 0 && httpVersion === '1.0');
}
