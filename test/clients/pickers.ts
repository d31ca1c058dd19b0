import { expect } from 'vitest';
import { demoChains, demoTokens, type RawToken } from '../fixtures/demo.js';

/** The chain picker: the typed text, and the chains found. */
export const CHAIN_PICKER = `query ChainPicker($search: String) {
  chains(search: $search) { id chainKey name tokenCount nativeCurrency { symbol } }
}`;

export interface ChainPicker {
  readonly chains: readonly {
    readonly id: string;
    readonly chainKey: string;
    readonly name: string;
    readonly tokenCount: number;
    readonly nativeCurrency: { readonly symbol: string };
  }[];
}

/** The token picker: the typed text, and the tokens found, page by page. */
export const TOKEN_PICKER = `query TokenPicker($query: String, $filter: TokenFilter, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, first: $first, after: $after) {
    totalCount
    edges { cursor node { id symbol name decimals address price { usd asOf } chain { id name } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

interface Named {
  readonly id: string;
  readonly name: string;
}

interface Reachable {
  readonly id: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly address: string;
}

export interface PickedToken extends Named, Reachable {
  readonly price: { readonly usd: number; readonly asOf: string } | null;
  readonly chain: Named | null;
}

export interface TokenPicker {
  readonly tokenSearch: {
    readonly totalCount: number;
    readonly edges: readonly { readonly cursor: string; readonly node: PickedToken }[];
    readonly pageInfo: {
      readonly hasNextPage: boolean;
      readonly hasPreviousPage: boolean;
      readonly startCursor: string | null;
      readonly endCursor: string | null;
    };
  };
}

/** The destination picker: the tokens that a chosen token can be moved to, by chain. */
export const DESTINATION_PICKER = `query DestinationPicker($srcChainKey: String!, $srcToken: String!) {
  destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) {
    chainKey chain { id name } tokens { id symbol decimals address }
  }
}`;

export interface DestinationPicker {
  readonly destinations: readonly {
    readonly chainKey: string;
    readonly chain: Named | null;
    readonly tokens: readonly Reachable[];
  }[];
}

/** USDC on Ethereum. */
export const USDC = { srcChainKey: 'ethereum', srcToken: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' };

/** Finds 65 tokens: four pages of at most 20. */
export const SEARCHED = 'usdt';

const nameOf = (key: string) => demoChains.find(({ chainKey }) => chainKey === key)?.name;

/** Whether the folded symbol or name contains `search`. */
const isFoundBy = (search: string, { symbol, name }: RawToken) =>
  `${symbol} ${name}`.replaceAll('₮', 'T').toLowerCase().includes(search);

const identityOf = ({ chain, address }: Pick<PickedToken, 'chain' | 'address'>) =>
  `${chain?.name} ${address}`;

/** Sorts tokens by chain name and address, to compare lists. */
export function sorted<Picked extends Pick<PickedToken, 'chain' | 'address'>>(
  tokens: readonly Picked[],
): readonly Picked[] {
  return [...tokens].sort((one, other) => (identityOf(one) < identityOf(other) ? -1 : 1));
}

/** The tokens that the token picker should show for {@link SEARCHED} on all pages, from the demo rows, {@link sorted}. */
export const searchedTokens = sorted(
  demoTokens
    .filter((token) => isFoundBy(SEARCHED, token))
    .map(({ chainKey, address, symbol, name, decimals, price: { usd } }) => ({
      symbol,
      name,
      decimals,
      address,
      price: { usd: expect.closeTo(usd, 1), asOf: expect.stringMatching(/^20.*Z$/) },
      chain: { id: expect.any(String), name: nameOf(chainKey) ?? '' },
    })),
);

/** The chains that the chain picker should show for "eth", from the demo rows. */
export const ethChains = demoChains
  .filter(({ chainKey, shortName, name }) => /eth/i.test(`${chainKey} ${shortName} ${name}`))
  .map(({ chainKey, name, nativeCurrency }) => ({
    chainKey,
    name,
    tokenCount: demoTokens.filter((token) => token.chainKey === chainKey).length,
    nativeCurrency: { symbol: nativeCurrency.symbol },
  }));

const reachable = demoTokens.filter(
  ({ symbol, isBridgeable, chainKey }) => symbol === 'USDC' && isBridgeable && chainKey !== USDC.srcChainKey,
);

/** The tokens that the destination picker should show for {@link USDC}, from the demo rows and the demo's rule for routes. */
export const usdcDestinations = [...new Set(reachable.map(({ chainKey }) => chainKey))].map((key) => ({
  chainKey: key,
  chain: { name: nameOf(key) },
  tokens: reachable
    .filter(({ chainKey }) => chainKey === key)
    .map(({ symbol, decimals, address }) => ({ symbol, decimals, address })),
}));

/** Fills the three pickers, one after another, and compares what they show. */
export async function expectPickers(
  ask: <Data>(query: string, variables: Record<string, unknown>) => Promise<Data | undefined>,
): Promise<void> {
  const chains = await ask<ChainPicker>(CHAIN_PICKER, { search: 'eth' });
  expect(chains?.chains).toMatchObject(ethChains);
  const variables = { query: SEARCHED, filter: { hasPrice: true }, first: 100 };
  const { edges = [], totalCount } = (await ask<TokenPicker>(TOKEN_PICKER, variables))?.tokenSearch ?? {};
  expect(sorted(edges.map(({ node }) => node))).toMatchObject(searchedTokens);
  expect(totalCount).toBe(searchedTokens.length);
  const destinations = await ask<DestinationPicker>(DESTINATION_PICKER, USDC);
  expect(destinations?.destinations).toMatchObject(usdcDestinations);
}

/** The input of programs that fill the pickers in separate processes. */
export const QUESTIONS = { chains: 'eth', tokens: SEARCHED, source: USDC };
