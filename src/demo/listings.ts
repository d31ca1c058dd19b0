import { readFileSync } from 'node:fs';
import { foldAddress } from '../domain/addresses.js';

interface DemoToken {
  readonly isBridgeable: boolean;
  readonly chainKey: string;
  readonly address: string;
  readonly symbol: string;
  readonly price: { readonly usd: number };
}

/** Largest change of a price from the one in the file, as a fraction of it. */
const DRIFT = 0.004;

/** Gives the body of a response of the v1 service with the demo listings; undefined for other paths. */
export type DemoListings = (path: string, query: DemoQuery) => object | undefined;

export interface DemoQuery {
  readonly srcChainKey?: string | undefined;
  readonly srcToken?: string | undefined;
}

/**
 * Reads the two demo listings.
 *
 * The first listing has the prices of the file; later ones drift a little. Routes follow a plausible rule: to
 * bridgeable tokens of the same symbol on other chains.
 */
export function readDemoListings(): DemoListings {
  const { chains } = readListing<{ chains: readonly unknown[] }>('chains.json');
  const { tokens } = readListing<{ tokens: readonly DemoToken[] }>('tokens.json');
  let listingsServed = 0;

  function bodyOf(path: string, { srcChainKey, srcToken }: DemoQuery): object | undefined {
    if (path === 'chains') return { chains };
    if (path !== 'tokens') return undefined;
    if (srcToken !== undefined) return { tokens: routesFrom(srcToken, srcChainKey).map(atCurrentPrice) };
    const listed =
      srcChainKey === undefined ? tokens : tokens.filter((token) => token.chainKey === srcChainKey);
    const served = listed.map(atCurrentPrice);
    listingsServed++;
    return { tokens: served };
  }

  function routesFrom(srcToken: string, srcChainKey: string | undefined): readonly DemoToken[] {
    const sources = tokens.filter(
      ({ isBridgeable, address, chainKey }) =>
        isBridgeable &&
        foldAddress(address) === foldAddress(srcToken) &&
        (srcChainKey === undefined || chainKey === srcChainKey),
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

  return bodyOf;
}

/** Answers requests as the client of an upstream does, from the demo listings and without a connection. */
export function createDemoHttp() {
  const bodyOf = readDemoListings();
  return {
    async getJson({ path, query = {} }: { readonly path: string; readonly query?: DemoQuery }) {
      const sentAt = Date.now();
      const text = JSON.stringify(bodyOf(path, query));
      // A copy, since the rows become those of a snapshot.
      return { json: JSON.parse(text) as unknown, bytes: text.length, sentAt, ageMs: 0 };
    },
    delay: () => undefined,
    async close() {},
  };
}

/** The listings are not copied to dist, so the compiled code also reads them from src. */
export function readListing<Listing>(file: string): Listing {
  return JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as Listing;
}
