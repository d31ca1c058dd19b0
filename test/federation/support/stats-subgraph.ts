/** Graphs of another team: one of them has invented numbers about chains and tokens. */
import { buildSchema, type GraphQLSchema, graphql } from 'graphql';
import type { AtEnd } from '../../support/ends.js';
import { startAround } from '../../support/open-gateway.js';

type ChainKey = { readonly chainKey: string };
interface TokenKey extends ChainKey {
  readonly address: string;
}

export const tvlUsdOf = ({ chainKey }: ChainKey) => chainKey.length * 1_000_000.5;

/** An invented number about a token, equal for all letter cases of its address. */
export const holdersOf = ({ chainKey, address }: TokenKey) =>
  [...chainKey, ...address.toLowerCase()].reduce((sum, letter) => sum + (letter.codePointAt(0) ?? 0), 0);

// The first address is in another letter case than the gateway's, the second stands for a native asset.
const RICHEST: readonly TokenKey[] = [
  { chainKey: 'ethereum', address: '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48' },
  { chainKey: 'base', address: `0x${'0'.repeat(40)}` },
  { chainKey: 'solana', address: 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v' },
];
const BIGGEST: readonly ChainKey[] = ['ethereum', 'base', 'solana'].map((chainKey) => ({ chainKey }));
const UNHEARD: TokenKey = { chainKey: 'base', address: '0xunheard' };

const SUBGRAPH = `
  extend schema @link(url: "https://specs.apollo.dev/federation/v2.3", import: ["@key", "@shareable"])
  scalar DateTime
  type Chain @key(fields: "chainKey") { chainKey: String! tvlUsd: Float! topTokens: [Token!]! }
  type Token @key(fields: "chainKey address") { chainKey: String! address: String! holders: Int! }
  type NativeCurrency @shareable { chainKey: String! address: String! symbol: String! decimals: Int! name: String! }
  type Price @shareable { usd: Float! asOf: DateTime! }
  type PageInfo @shareable {
    hasNextPage: Boolean!
    hasPreviousPage: Boolean!
    startCursor: String
    endCursor: String
  }
  type Query { biggest: [Chain!]! richest: [Token!]! watched: [Token]! }
`;

const SUBSCHEMA = `
  directive @key(selectionSet: String!) on OBJECT
  directive @merge(keyField: String, keyArg: String, key: [String!]) on FIELD_DEFINITION
  type Chain @key(selectionSet: "{ chainKey }") { chainKey: String! tvlUsd: Float! topTokens: [Token!]! }
  type Token @key(selectionSet: "{ chainKey address }") { chainKey: String! address: String! holders: Int! }
  input StatsKey { chainKey: String! address: String! }
  type Query {
    biggest: [Chain!]!
    richest: [Token!]!
    watched: [Token]!
    statsOfChains(chainKeys: [String!]!): [Chain]! @merge(keyField: "chainKey")
    statsOfTokens(keys: [StatsKey!]!): [Token]! @merge(key: ["chainKey", "address"], keyArg: "keys")
  }
`;

const schema = buildSchema(`
  ${SUBSCHEMA}
  scalar _Any
  union _Entity = Chain | Token
  type _Service { sdl: String! }
  extend type Query { _service: _Service! _sdl: String! _entities(representations: [_Any!]!): [_Entity]! }
`);

type Representation = TokenKey & { readonly __typename: string };

const tokenOf = (key: TokenKey) => ({ ...key, __typename: 'Token', holders: holdersOf(key) });
const chainOf = ({ chainKey }: ChainKey) => ({
  chainKey,
  tvlUsd: tvlUsdOf({ chainKey }),
  topTokens: RICHEST.filter((token) => token.chainKey === chainKey).map(tokenOf),
});

const rootValue = {
  biggest: () => BIGGEST.map(chainOf),
  richest: () => RICHEST.map(tokenOf),
  watched: () => [...RICHEST.slice(0, 1), UNHEARD, ...RICHEST.slice(1)].map(tokenOf),
  statsOfChains: ({ chainKeys }: { chainKeys: string[] }) =>
    chainKeys.map((chainKey) => chainOf({ chainKey })),
  statsOfTokens: ({ keys }: { keys: TokenKey[] }) => keys.map(tokenOf),
  _service: () => ({ sdl: SUBGRAPH }),
  _sdl: () => SUBSCHEMA,
  _entities: ({ representations }: { representations: Representation[] }) =>
    representations.map((key) =>
      key.__typename === 'Token' ? tokenOf(key) : { __typename: 'Chain', ...chainOf(key) },
    ),
};

/** Starts another team's subgraph, which adds `tvlUsd` to chains and `holders` to tokens and refers to both. */
export function startStatsSubgraph(atEnd: AtEnd) {
  return serveGraph(schema, rootValue, atEnd);
}

export async function serveGraph(schema: GraphQLSchema, rootValue: unknown, atEnd: AtEnd) {
  const url = await startAround(async (request, response) => {
    const asked = new URL(request.url ?? '', 'http://graph').searchParams.get('query');
    const body = Buffer.concat(await request.toArray()).toString();
    const { query, variables } = asked === null ? JSON.parse(body) : { query: asked, variables: {} };
    const answer = await graphql({ schema, source: query, variableValues: variables, rootValue });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }, atEnd);
  return { url };
}
