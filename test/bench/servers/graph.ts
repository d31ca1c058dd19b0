import type { RawChain, RawToken } from '../../fixtures/demo.js';

/** As much of the gateway's schema as is asked of the others. */
export const SDL = `
  scalar DateTime
  type Query {
    chains: [Chain!]
    chain(chainKey: String!): Chain
    tokens(srcChainKey: String): [Token!]
  }
  type Chain {
    id: ID!
    chainKey: String!
    chainId: Float!
    chainType: String!
    name: String!
    shortName: String!
    nativeCurrency: NativeCurrency!
  }
  type NativeCurrency {
    symbol: String!
  }
  type Token {
    id: ID!
    address: String!
    chainKey: String!
    decimals: Int!
    isBridgeable: Boolean!
    isNative: Boolean!
    name: String!
    symbol: String!
    price: Price
    chain: Chain
  }
  type Price {
    usd: Float!
    asOf: DateTime!
  }`;

/** Where rows are read. */
export interface Reads {
  chains(): Promise<readonly RawChain[]>;
  tokens(srcChainKey: string | undefined): Promise<readonly RawToken[]>;
}

/** Reads each time from the upstream at this address. */
export function createUpstreamReads(address: string): Reads {
  async function rowsOf<Row>(listing: string, path = listing): Promise<readonly Row[]> {
    const response = await fetch(`${address}/${path}`);
    if (!response.ok) throw new Error(`${path} was answered with ${response.status}`);
    return ((await response.json()) as Record<string, readonly Row[]>)[listing] ?? [];
  }
  return {
    chains: () => rowsOf('chains'),
    tokens: (srcChainKey) =>
      rowsOf('tokens', srcChainKey === undefined ? 'tokens' : `tokens?srcChainKey=${srcChainKey}`),
  };
}

/** Asks the upstream once, and reads from memory. */
export async function createMemoryReads(address: string): Promise<Reads> {
  const upstream = createUpstreamReads(address);
  const [chains, tokens] = await Promise.all([upstream.chains(), upstream.tokens(undefined)]);
  const byChain = new Map(
    chains.map(({ chainKey }) => [chainKey, tokens.filter((token) => token.chainKey === chainKey)]),
  );
  return {
    chains: async () => chains,
    tokens: async (srcChainKey) => (srcChainKey === undefined ? tokens : (byChain.get(srcChainKey) ?? [])),
  };
}

const ids = new WeakMap<RawChain | RawToken, string>();

function idOf(row: RawChain | RawToken, ...identity: readonly string[]): string {
  const known = ids.get(row);
  if (known !== undefined) return known;
  const id = Buffer.from(JSON.stringify(identity)).toString('base64url');
  ids.set(row, id);
  return id;
}

const NATIVE = new Set([
  '0xeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee',
  '0x0000000000000000000000000000000000000000',
]);
const startedAt = new Date().toISOString();

/** The fields that do not show a value of the row as it is, but for those that read further rows. */
export const rowResolvers = {
  Chain: { id: (chain: RawChain) => idOf(chain, 'Chain', chain.chainKey) },
  Token: {
    id: (token: RawToken) => idOf(token, 'Token', token.chainKey, token.address.toLowerCase()),
    isNative: ({ address }: RawToken) => NATIVE.has(address.toLowerCase()),
  },
  // Some time, which costs them less than the true one.
  Price: { asOf: () => startedAt },
};
