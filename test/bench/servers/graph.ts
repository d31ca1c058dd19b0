import type { RawChain, RawToken } from '../../fixtures/demo.js';

/** The part of the gateway's schema that the requests to the other servers use. */
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

/** The same time for all prices, because the true times would cost these servers more. */
const startedAt = new Date().toISOString();

/** The id of a token. */
function idOfToken(token: RawToken): string {
  return idOf(token, 'Token', token.chainKey, token.address.toLowerCase());
}

/** The id of a chain. */
function idOfChain(chain: RawChain): string {
  return idOf(chain, 'Chain', chain.chainKey);
}

/** Whether a token is its chain's native asset, as far as the bench's rows need it. */
function isNative({ address }: RawToken): boolean {
  return NATIVE.has(address.toLowerCase());
}

/** The resolvers of fields that are not simply a value of the row. Fields that read other rows are not here. */
export const rowResolvers = {
  Chain: { id: idOfChain },
  Token: { id: idOfToken, isNative },
  Price: { asOf: () => startedAt },
};
