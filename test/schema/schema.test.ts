import {
  type GraphQLNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from '../../src/schema/index.js';

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
  it('describes every type, field, argument and value, by more than its name', () => {
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
      if (!isObjectType(type)) throw new Error(`Expected an object type ${name}`);
      return Object.values(type.getFields()).map((field) => {
        const args = field.args.map((arg) => `${arg.name}: ${arg.type}`).join(', ');
        return `${field.name}${args && `(${args})`}: ${field.type}`;
      });
    };
    expect(fieldsOf('Query').sort()).toEqual(
      [
        'chain(chainKey: String!): Chain',
        'chains(chainTypes: [String!], search: String): [Chain!]',
        'listings: [ListingStatus!]!',
        'token(address: String!, chainKey: String!): Token',
        'tokens(srcChainKey: String, srcToken: String): [Token!]',
      ].map((field) => expect.stringMatching(sameArguments(field))),
    );
    expect(fieldsOf('Chain').sort()).toEqual([
      'caip2: String',
      'chainId: Float!',
      'chainKey: String!',
      'chainType: String!',
      'id: ID!',
      'name: String!',
      'nativeCurrency: NativeCurrency!',
      'shortName: String!',
      'tokenCount: Int',
      'tokens: [Token!]',
    ]);
    expect(fieldsOf('NativeCurrency').sort()).toEqual([
      'address: String!',
      'chainKey: String!',
      'decimals: Int!',
      'name: String!',
      'symbol: String!',
    ]);
    expect(fieldsOf('Token').sort()).toEqual([
      'address: String!',
      'chain: Chain',
      'chainKey: String!',
      'decimals: Int!',
      'id: ID!',
      'isBridgeable: Boolean!',
      'isNative: Boolean!',
      'logoUrl: String',
      'name: String!',
      'price: Price',
      'symbol: String!',
    ]);
    expect(fieldsOf('Price').sort()).toEqual(['asOf: DateTime!', 'usd: Float!']);
    expect(fieldsOf('ListingStatus').sort()).toEqual([
      'ageSeconds: Int',
      'lastFailure: ListingFailure',
      'name: String!',
      'rejectedRows: Int!',
      'rows: Int!',
      'source: String!',
      'state: ListingState!',
      'takenAt: DateTime',
      'version: String',
    ]);
    expect(fieldsOf('ListingFailure').sort()).toEqual(['at: DateTime!', 'code: String!', 'message: String!']);
  });
});

/** The field with its arguments in either order. */
function sameArguments(field: string): RegExp {
  const escaped = (text: string) => text.replace(/[[\]().]/g, '\\$&');
  const [, name = '', first = '', second = '', type = ''] =
    /^(\w+)\(([^,]+), ([^)]+)\)(.*)$/.exec(field) ?? [];
  if (!name) return new RegExp(`^${escaped(field)}$`);
  const [one, two] = [escaped(first), escaped(second)];
  return new RegExp(`^${name}\\((${one}, ${two}|${two}, ${one})\\)${escaped(type)}$`);
}
