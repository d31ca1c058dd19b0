/** The demo listings as a REST service on a local port. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readDemoListings } from './listings.js';

export interface DemoUpstream {
  /** Base URL with the version segment. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Starts a small REST service with the two demo listings on a free loopback port. It has the interface of the v1
 * service, so that the gateway uses it like a real one.
 */
export async function startDemoUpstream(): Promise<DemoUpstream> {
  const listings = readDemoListings();

  function bodyOf({ pathname, searchParams }: URL): object | undefined {
    return listings(pathname.replace(/^\/v1\//, ''), Object.fromEntries(searchParams));
  }

  const server = createServer((request, response) => {
    const address = `http://127.0.0.1${request.url}`;
    const found = URL.canParse(address) ? bodyOf(new URL(address)) : undefined;
    response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? { error: 'Not found' }));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
