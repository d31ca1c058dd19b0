import type { RawChain, RawToken } from '../../fixtures/demo.js';

type MaybePromise<Value> = Value | Promise<Value>;

/** Identifies a token, with its address in any letter case. */
export interface TokenKey {
  readonly chainKey: string;
  readonly address: string;
}

/** Where rows are read: at once, or from the upstream. */
export interface Reads {
  chains(): MaybePromise<readonly RawChain[]>;
  chain(chainKey: string): MaybePromise<RawChain | null>;
  tokens(srcChainKey: string | undefined): MaybePromise<readonly RawToken[]>;
  token(key: TokenKey): MaybePromise<RawToken | null>;
  /** In the order of the keys. */
  tokensByKey(keys: readonly TokenKey[]): MaybePromise<readonly (RawToken | null)[]>;
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
    async token(key) {
      const wanted = textOf(key);
      return (await tokens(key.chainKey)).find((token) => textOf(token) === wanted) ?? null;
    },
    async tokensByKey(keys) {
      const byKey = new Map((await tokens()).map((token) => [textOf(token), token]));
      return keys.map((key) => byKey.get(textOf(key)) ?? null);
    },
  };
}

/** Asks the upstream once, and reads from memory, at once. */
export async function createMemoryReads(address: string) {
  const upstream = createUpstreamReads(address);
  const [chains, tokens] = await Promise.all([upstream.chains(), upstream.tokens(undefined)]);
  const chainByKey = new Map(chains.map((chain) => [chain.chainKey, chain]));
  const tokenByKey = new Map(tokens.map((token) => [textOf(token), token]));
  const byChain = new Map(
    chains.map(({ chainKey }) => [chainKey, tokens.filter((token) => token.chainKey === chainKey)]),
  );
  const token = (key: TokenKey) => tokenByKey.get(textOf(key)) ?? null;
  return {
    chains: () => chains,
    chain: (chainKey: string) => chainByKey.get(chainKey) ?? null,
    tokens: (srcChainKey: string | undefined) =>
      srcChainKey === undefined ? tokens : (byChain.get(srcChainKey) ?? []),
    token,
    tokensByKey: (keys: readonly TokenKey[]) => keys.map(token),
  } satisfies Reads;
}

function textOf({ chainKey, address }: TokenKey): string {
  return `${chainKey} ${address.toLowerCase()}`;
}

/** The tokens of these representations; no other entity is asked for. */
export function keysOfRepresentations(representations: readonly unknown[]): readonly TokenKey[] {
  return representations.map((representation) => {
    const { __typename, chainKey, address } = representation as TokenKey & { readonly __typename: string };
    if (__typename !== 'Token') throw new Error(`Expected a Token, got ${__typename}`);
    return { chainKey, address };
  });
}
