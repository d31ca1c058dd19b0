import {
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
});
