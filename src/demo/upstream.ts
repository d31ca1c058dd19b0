import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { foldAddress } from '../domain/addresses.js';

interface DemoToken {
  readonly isBridgeable: boolean;
  readonly chainKey: string;
  readonly address: string;
  readonly symbol: string;
  readonly price: { readonly usd: number };
}

export interface DemoUpstream {
  /** Base URL with the version segment. */
  readonly url: string;
  close(): Promise<void>;
}

/** Largest change of a price from the one in the file, as a fraction of it. */
const DRIFT = 0.004;

/**
 * Starts a small REST service with the two demo listings, on a free loopback port. It has the interface of the v1
 * service, so the gateway uses it like a real one.
 *
 * The first listing has the prices of the file; later ones drift a little. Routes follow a plausible rule: to
 * bridgeable tokens of the same symbol on other chains.
 */
export async function startDemoUpstream(): Promise<DemoUpstream> {
  const { chains } = readListing<{ chains: readonly unknown[] }>('chains.json');
  const { tokens } = readListing<{ tokens: readonly DemoToken[] }>('tokens.json');
  let listingsServed = 0;

  function bodyOf({ pathname, searchParams }: URL): object | undefined {
    if (pathname === '/v1/chains') return { chains };
    if (pathname !== '/v1/tokens') return undefined;
    const srcChainKey = searchParams.get('srcChainKey');
    const srcToken = searchParams.get('srcToken');
    if (srcToken !== null) return { tokens: routesFrom(srcToken, srcChainKey).map(atCurrentPrice) };
    const listed = srcChainKey === null ? tokens : tokens.filter((token) => token.chainKey === srcChainKey);
    const served = listed.map(atCurrentPrice);
    listingsServed++;
    return { tokens: served };
  }

  function routesFrom(srcToken: string, srcChainKey: string | null): readonly DemoToken[] {
    const sources = tokens.filter(
      ({ isBridgeable, address, chainKey }) =>
        isBridgeable &&
        foldAddress(address) === foldAddress(srcToken) &&
        (srcChainKey === null || chainKey === srcChainKey),
    );
    return tokens.filter(
      (token) =>
        token.isBridgeable &&
        sources.some(({ symbol, chainKey }) => symbol === token.symbol && chainKey !== token.chainKey),
    );
  }

  // The same drift for all tokens of a symbol, since the real service prices symbols, too.
  function atCurrentPrice<Row extends DemoToken>(token: Row): Row {
    const phase = [...token.symbol].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
    const drift = DRIFT * (Math.sin(phase + listingsServed) - Math.sin(phase));
    const usd =
      listingsServed === 0 ? token.price.usd : Number((token.price.usd * (1 + drift)).toPrecision(7));
    return { ...token, price: { ...token.price, usd } };
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

/** The listings are not copied to dist, so the compiled code also reads them from src. */
function readListing<Listing>(file: string): Listing {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Listing;
}
