import type { RawChain, RawToken } from '../../fixtures/demo.js';

type MaybePromise<Value> = Value | Promise<Value>;

/** Identifies a token, with its address in any letter case. */
export interface TokenKey {
  readonly chainKey: string;
  readonly address: string;
}

/** Reads rows, from memory (without a promise) or from the upstream (by a promise). */
export interface Reads {
  chains(): MaybePromise<readonly RawChain[]>;
  chain(chainKey: string): MaybePromise<RawChain | null>;
  tokens(srcChainKey: string | undefined): MaybePromise<readonly RawToken[]>;
}

/** Reads each time from the upstream at this address. */
export function createUpstreamReads(address: string): Reads {
  async function rowsOf<Row>(listing: string, path = listing): Promise<readonly Row[]> {
    const response = await fetch(`${address}/${path}`);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return ((await response.json()) as Record<string, readonly Row[]>)[listing] ?? [];
  }
  const chains = () => rowsOf<RawChain>('chains');
  const tokens = (srcChainKey?: string) =>
    rowsOf<RawToken>('tokens', srcChainKey === undefined ? 'tokens' : `tokens?srcChainKey=${srcChainKey}`);
  return {
    chains,
    chain: async (chainKey) => (await chains()).find((chain) => chain.chainKey === chainKey) ?? null,
    tokens,
  };
}

/** Fetches all rows from the upstream once, and then reads them from memory, without a promise. */
export async function createMemoryReads(address: string) {
  const upstream = createUpstreamReads(address);
  const [chains, tokens] = await Promise.all([upstream.chains(), upstream.tokens(undefined)]);
  const chainByKey = new Map(chains.map((chain) => [chain.chainKey, chain]));
  const tokenByKey = new Map(tokens.map((token) => [textOf(token), token]));
  const byChain = new Map(
    chains.map(({ chainKey }) => [chainKey, tokens.filter((token) => token.chainKey === chainKey)]),
  );
  return {
    chains: () => chains,
    chain: (chainKey: string) => chainByKey.get(chainKey) ?? null,
    tokens: (srcChainKey: string | undefined) =>
      srcChainKey === undefined ? tokens : (byChain.get(srcChainKey) ?? []),
    token: (key: TokenKey) => tokenByKey.get(textOf(key)) ?? null,
  };
}

function textOf({ chainKey, address }: TokenKey): string {
  return `${chainKey} ${address.toLowerCase()}`;
}
