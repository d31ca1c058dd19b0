/** The queries of the three pickers, which each client sends, and the answers according to the demo rows. */
import { expect, onTestFinished, vi } from 'vitest';
import { demoChains, demoTokens, type RawToken } from '../fixtures/demo.js';

export const CHAIN_PICKER = `query ChainPicker($search: String) {
  chains(search: $search) { id chainKey name tokenCount nativeCurrency { symbol } }
}`;

export const TOKEN_PICKER = `query TokenPicker($query: String, $filter: TokenFilter, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, first: $first, after: $after) {
    totalCount
    edges { cursor node { id symbol name decimals address price { usd asOf } chain { id name } } }
    pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
  }
}`;

export const DESTINATION_PICKER = `query DestinationPicker($srcChainKey: String!, $srcToken: String!) {
  destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) {
    chainKey chain { id name } tokens { id symbol decimals address }
  }
}`;

export interface PickedToken {
  readonly id: string;
  readonly address: string;
  readonly chain: { readonly name: string } | null;
}

export interface TokenPicker {
  readonly tokenSearch: {
    readonly totalCount: number;
    readonly edges: readonly { readonly node: PickedToken }[];
    readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
  };
}

export interface PricedToken {
  readonly id: string;
  readonly symbol: string;
  readonly price: { readonly usd: number; readonly asOf: string };
}

export const USDC = { srcChainKey: 'ethereum', srcToken: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48' };

/** Finds 65 tokens: four pages of at most 20. */
export const SEARCHED = 'usdt';

export const QUESTIONS = { chains: 'eth', tokens: SEARCHED, source: USDC };

const nameOf = (key: string) => demoChains.find(({ chainKey }) => chainKey === key)?.name ?? '';

const isFoundBy = (search: string, { symbol, name }: RawToken) =>
  `${symbol} ${name}`.replaceAll('₮', 'T').toLowerCase().includes(search);

/** Sorts tokens by chain name and address, to compare lists. */
export function sorted<Picked extends Pick<PickedToken, 'chain' | 'address'>>(
  tokens: readonly Picked[],
): readonly Picked[] {
  const identityOf = ({ chain, address }: Picked) => `${chain?.name} ${address}`;
  return tokens.toSorted((one, other) => (identityOf(one) < identityOf(other) ? -1 : 1));
}

export const searchedTokens = sorted(
  demoTokens
    .filter((token) => isFoundBy(SEARCHED, token))
    .map(({ chainKey, address, symbol, name, decimals, price: { usd } }) => ({
      symbol,
      name,
      decimals,
      address,
      price: { usd: expect.closeTo(usd, 1), asOf: expect.stringMatching(/^20.*Z$/) },
      chain: { id: expect.any(String), name: nameOf(chainKey) },
    })),
);

export const ethChains = demoChains
  .filter(({ chainKey, shortName, name }) => /eth/i.test(`${chainKey} ${shortName} ${name}`))
  .map(({ chainKey, name, nativeCurrency: { symbol } }) => ({
    chainKey,
    name,
    tokenCount: demoTokens.filter((token) => token.chainKey === chainKey).length,
    nativeCurrency: { symbol },
  }));

const reachable = demoTokens.filter(
  ({ symbol, isBridgeable, chainKey }) => symbol === 'USDC' && isBridgeable && chainKey !== USDC.srcChainKey,
);

export const usdcDestinations = [...new Set(reachable.map(({ chainKey }) => chainKey))].map((key) => ({
  chainKey: key,
  chain: { name: nameOf(key) },
  tokens: reachable
    .filter(({ chainKey }) => chainKey === key)
    .map(({ symbol, decimals, address }) => ({ symbol, decimals, address })),
}));

export async function expectPickers(
  ask: (query: string, variables: Record<string, unknown>) => Promise<unknown>,
): Promise<void> {
  expect(await ask(CHAIN_PICKER, { search: 'eth' })).toMatchObject({ chains: ethChains });
  const variables = { query: SEARCHED, filter: { hasPrice: true }, first: 100 };
  const { tokenSearch } = (await ask(TOKEN_PICKER, variables)) as TokenPicker;
  expectAllFound(tokenSearch);
  expect(await ask(DESTINATION_PICKER, USDC)).toMatchObject({ destinations: usdcDestinations });
}

export function expectAllFound({ totalCount, edges }: Omit<TokenPicker['tokenSearch'], 'pageInfo'>): void {
  expect(sorted(edges.map(({ node }) => node))).toMatchObject(searchedTokens);
  expect(totalCount).toBe(searchedTokens.length);
}

/** Records the requests of `fetch` until the end of the test. @returns a function that returns the requests so far */
export function watchRequests(): () => readonly Request[] {
  const spy = vi.spyOn(globalThis, 'fetch');
  onTestFinished(() => spy.mockRestore());
  return () => spy.mock.calls.map(([input, init]) => new Request(input, init));
}
