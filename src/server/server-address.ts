import type { AddressInfo } from 'node:net';

/** The address to open of a server that listens on this host, such as `http://127.0.0.1:4000`. */
export function addressOf(host: string, { port }: AddressInfo): string {
  return `http://${hostInUrl(host)}:${port}`;
}

function hostInUrl(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}
