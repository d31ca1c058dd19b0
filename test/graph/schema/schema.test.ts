import {
  type GraphQLInterfaceType,
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from '../../../src/graph/schema/index.js';

function* described(type: GraphQLNamedType): Generator<[string, string | null | undefined]> {
  yield [type.name, type.description];
  if (isEnumType(type)) {
    for (const value of type.getValues()) yield [`${type.name}.${value.name}`, value.description];
  }
  if (isInputObjectType(type)) {
    for (const field of Object.values(type.getFields()))
      yield [`${type.name}.${field.name}`, field.description];
  }
  if (!isObjectType(type) && !isInterfaceType(type)) return;
  for (const field of Object.values(type.getFields())) {
    yield [`${type.name}.${field.name}`, field.description];
    for (const arg of field.args) yield [`${type.name}.${field.name}(${arg.name}:)`, arg.description];
  }
}

describe('the schema', () => {
  it('describes every type, field, argument and value in more than two words', () => {
    const types = Object.values(schema.getTypeMap()).filter(
      (type) => !type.name.startsWith('__') && !isSpecifiedScalarType(type),
    );
    const all = types.flatMap((type) => [...described(type)]);
    expect(all.length).toBeGreaterThan(60);
    expect(all.filter(([, description]) => (description ?? '').trim().split(/\s+/).length < 3)).toEqual([]);
  });

  it('has the types and nullability that clients rely on', () => {
    const fieldsOf = (name: string) => {
      const type = schema.getType(name);
      if (isInputObjectType(type)) {
        return Object.values(type.getFields()).map((field) => `${field.name}: ${field.type}`);
      }
      if (!isObjectType(type) && !isInterfaceType(type)) throw new Error(`Expected fields of ${name}`);
      return Object.values(type.getFields()).map((field) => {
        const args = field.args
          .map(
            (arg) =>
              `${arg.name}: ${arg.type}${arg.defaultValue === undefined ? '' : ` = ${arg.defaultValue}`}`,
          )
          .join(', ');
        return `${field.name}${args && `(${args})`}: ${field.type}`;
      });
    };
    expect(fieldsOf('Query')).toEqual([
      'chain(chainKey: String!): Chain',
      'chainChanges(since: String): ChainChanges',
      'chains(chainTypes: [String!], search: String): [Chain!]',
      'chainsByCaip2(caip2s: [String!]!): [Chain]!',
      'chainsByKey(chainKeys: [String!]!): [Chain]!',
      'destinations(includeSourceChain: Boolean = false, srcChainKey: String!, srcToken: String!): [ChainDestinations!]',
      'listings: [ListingStatus!]!',
      'node(id: ID!): Node',
      'nodes(ids: [ID!]!): [Node]!',
      'sources(dstChainKey: String!, dstToken: String!): TokenSources',
      'token(address: String!, chainKey: String!): Token',
      'tokenChanges(since: String): TokenChanges',
      'tokenSearch(after: String, filter: TokenFilter, first: Int = 20, orderBy: TokenOrder, query: String): TokenConnection',
      'tokens(srcChainKey: String, srcToken: String): [Token!]',
      'tokensByCaip19(caip19s: [String!]!): [Token]!',
      'tokensByKey(keys: [TokenKey!]!): [Token]!',
    ]);
    for (const [type, row] of [
      ['ChainChanges', 'Chain'],
      ['TokenChanges', 'Token'],
    ] as const) {
      expect(fieldsOf(type)).toEqual([
        `changed: [${row}!]!`,
        'cursor: String!',
        'isReset: Boolean!',
        'removedIds: [ID!]!',
      ]);
    }
    expect(fieldsOf('TokenConnection')).toEqual([
      'didYouMean: [String!]!',
      'edges: [TokenEdge!]!',
      'nodes: [Token!]!',
      'pageInfo: PageInfo!',
      'totalCount: Int!',
    ]);
    expect(fieldsOf('TokenEdge')).toEqual(['cursor: String!', 'node: Token!']);
    expect(fieldsOf('PageInfo')).toEqual([
      'endCursor: String',
      'hasNextPage: Boolean!',
      'hasPreviousPage: Boolean!',
      'startCursor: String',
    ]);
    expect(fieldsOf('ChainDestinations')).toEqual([
      'asOf: DateTime',
      'chain: Chain',
      'chainKey: String!',
      'tokens: [Token!]!',
    ]);
    expect(fieldsOf('TokenKey')).toEqual(['address: String!', 'chainKey: String!']);
    expect(fieldsOf('TokenFilter')).toEqual([
      'chainKeys: [String!]',
      'chainTypes: [String!]',
      'hasPrice: Boolean',
      'isBridgeable: Boolean',
      'isNative: Boolean',
      'maxPriceUsd: Float',
      'minPriceUsd: Float',
      'reachableFrom: TokenKey',
      'symbols: [String!]',
    ]);
    expect(fieldsOf('Node')).toEqual(['id: ID!']);
    const implementing = schema.getImplementations(schema.getType('Node') as GraphQLInterfaceType).objects;
    expect(implementing.map(({ name }) => name)).toEqual(['Chain', 'Token']);
    expect(fieldsOf('Chain')).toEqual([
      'caip2: String',
      'chainId: Float!',
      'chainKey: String!',
      'chainType: String!',
      'heldBack: [HeldBackFact!]!',
      'id: ID!',
      'name: String!',
      'nativeCurrency: NativeCurrency!',
      'shortName: String!',
      'tokenCount: Int',
      'tokens: [Token!]',
    ]);
    expect(fieldsOf('NativeCurrency')).toEqual([
      'address: String!',
      'chainKey: String!',
      'decimals: Int!',
      'name: String!',
      'symbol: String!',
    ]);
    expect(fieldsOf('Token')).toEqual([
      'address: String!',
      'caip19: String',
      'chain: Chain',
      'chainKey: String!',
      'decimals: Int!',
      'destinations: [ChainDestinations!]',
      'heldBack: [HeldBackFact!]!',
      'id: ID!',
      'isBridgeable: Boolean!',
      'isNative: Boolean!',
      'logoUrl: String',
      'name: String!',
      'price: Price',
      'symbol: String!',
    ]);
    expect(fieldsOf('HeldBackFact')).toEqual([
      'fact: String!',
      'served: String!',
      'since: DateTime!',
      'upstream: String!',
    ]);
    expect(fieldsOf('Price')).toEqual(['asOf: DateTime!', 'usd: Float!']);
    expect(fieldsOf('ListingStatus')).toEqual([
      'ageSeconds: Int',
      'heldBackRows: Int!',
      'lastFailure: ListingFailure',
      'name: String!',
      'rejectedRows: Int!',
      'rows: Int!',
      'source: String!',
      'state: ListingState!',
      'takenAt: DateTime',
      'version: String',
    ]);
    expect(fieldsOf('ListingFailure')).toEqual(['at: DateTime!', 'code: String!', 'message: String!']);
  });
});
