/** The demo listings: a client that answers with them, and the public facts in them. */
import { readFileSync } from 'node:fs';
import { foldAddress, tokenKey } from '../domain/addresses.js';
import type { DemoFacts } from '../domain/guarded-facts.js';
import type { Price, RouteRequest, Token } from '../domain/listing.js';
import { chainFrom } from '../domain/rows.js';

type DemoToken = Pick<Token, 'isBridgeable' | 'chainKey' | 'address' | 'decimals' | 'symbol'> & {
  readonly price: Pick<Price, 'usd'>;
};

/** The label of demo data wherever it is shown: on the pages, for agents and in the log. */
export const DEMO_LABEL = 'Demo: prices, routes and some flags are made up';

/** Prices drift by at most twice this fraction from the price in the file. */
const DRIFT = 0.004;
/**
 * The prices of stablecoins do not drift, because a drift would look like a lost peg. FRAX is not a stablecoin: since
 * 2025 it is the native asset of Fraxtal, and was called FXS before. The stablecoin is frxUSD.
 */
const STABLE = /USD|EUR|DAI$|DOLA/i;

/**
 * Creates a client that answers from the demo listings in place of an upstream, as the v1 service would. After the first
 * token listing, prices drift a little. Routes lead to bridgeable tokens of the same symbol on other chains.
 */
export function createDemoHttp() {
  const tokens = readTokens();
  let listingsServed = 0;

  function bodyOf(path: string, { srcChainKey, srcToken }: Partial<RouteRequest>): unknown {
    if (path !== 'tokens') return read(`${path}.json`);
    if (srcToken !== undefined) return { tokens: routesFrom(srcToken, srcChainKey).map(atCurrentPrice) };
    const served = tokens.map(atCurrentPrice);
    listingsServed++;
    return { tokens: served };
  }

  function routesFrom(srcToken: string, srcChainKey: string | undefined): readonly DemoToken[] {
    const bridgeable = tokens.filter(({ isBridgeable }) => isBridgeable);
    const sources = bridgeable.filter(
      ({ address, chainKey }) =>
        foldAddress(address) === foldAddress(srcToken) && chainKey === (srcChainKey ?? chainKey),
    );
    return bridgeable.filter((token) =>
      sources.some(({ symbol, chainKey }) => symbol === token.symbol && chainKey !== token.chainKey),
    );
  }

  // All tokens of a symbol drift together, because the real service also prices by symbol.
  function atCurrentPrice(token: DemoToken): DemoToken {
    const { symbol, price } = token;
    if (listingsServed === 0 || STABLE.test(symbol)) return token;
    const phase = [...symbol].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);
    const drift = DRIFT * (Math.sin(phase + listingsServed) - Math.sin(phase));
    return { ...token, price: { ...price, usd: Number((price.usd * (1 + drift)).toPrecision(7)) } };
  }

  return {
    async getJson({ path, query = {} }: { readonly path: string; readonly query?: Partial<RouteRequest> }) {
      const sentAt = Date.now();
      const text = JSON.stringify(bodyOf(path, query));
      // A copy, because a snapshot freezes its rows.
      return { json: JSON.parse(text) as unknown, bytes: text.length, sentAt, ageMs: 0 };
    },
    forgetGone() {},
    async close() {},
  };
}

/**
 * Reads the chains, and the publicly known facts of EVM chains and their tokens, with which new rows of an upstream are
 * compared. Other chains can have made-up ids and native addresses.
 */
export function readDemoFacts(): DemoFacts {
  const chains = readChains().map(chainFrom);
  const evm = chains.filter(({ chainType }) => chainType === 'evm');
  const evmKeys = new Set(evm.map(({ chainKey }) => chainKey));
  const tokens = readTokens().filter(({ chainKey }) => evmKeys.has(chainKey));
  return {
    chains,
    chainKeys: new Map(evm.map(({ caip2, chainKey }) => [caip2 ?? '', chainKey])),
    decimals: new Map(
      tokens.map(({ chainKey, address, decimals }) => [tokenKey(chainKey, address), decimals]),
    ),
  };
}

/** Reads a demo listing. The build copies the files to the same place beside the compiled code. */
const read = (file: string): unknown => JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8'));
const readChains = () => (read('chains.json') as { chains: Parameters<typeof chainFrom>[0][] }).chains;
const readTokens = () => (read('tokens.json') as { tokens: DemoToken[] }).tokens;
