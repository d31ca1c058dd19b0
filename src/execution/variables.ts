/** Coerces variables. */
import {
  GraphQLID,
  type GraphQLInputField,
  GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLSchema,
  GraphQLString,
  isInputType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromAST,
} from 'graphql';
import { fallBack } from './execution.js';

export type Variables = Readonly<Record<string, unknown>>;

/**
 * Coerces variables as getVariableValues of graphql-js does, several times as fast, because it does not record the path
 * of each value for errors. Undefined if a variable is invalid or unusual.
 */
export function coerceVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  given: Variables,
): Variables | undefined {
  const coerced: Record<string, unknown> = {};
  try {
    for (const { variable, type: node, defaultValue } of variableDefinitions) {
      const name = variable.name.value;
      const type = typeFromAST(schema, node);
      if (!isInputType(type) || name === '__proto__') return undefined;
      if (Object.hasOwn(given, name)) coerced[name] = coerce(type, given[name]);
      else if (defaultValue) coerced[name] = valueFromAST(defaultValue, type);
      else if (isNonNullType(type)) return undefined;
    }
    return coerced;
  } catch {
    return undefined;
  }
}

/** Throws for an invalid value. Uses `instanceof`: functions such as isNonNullType take several times as long. */
function coerce(given: GraphQLInputType, value: unknown): unknown {
  const isNonNull = given instanceof GraphQLNonNull;
  if (value === null || value === undefined) return isNonNull ? fallBack() : null;
  const type = isNonNull ? given.ofType : given;
  if (type instanceof GraphQLList) {
    // A single value means a list of one item.
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    return items.map((item) => coerce(type.ofType, item));
  }
  if (type instanceof GraphQLInputObjectType) return coerceObject(type, value as Variables);
  if (typeof value === 'string' && (type === GraphQLString || type === GraphQLID)) return value;
  const parsed: unknown = type.parseValue(value);
  return parsed === undefined ? fallBack() : parsed;
}

/** The fields of each type as a list: making it from the object of getFields() takes long. */
const fieldsOfTypes = new WeakMap<GraphQLInputObjectType, readonly GraphQLInputField[]>();

function fieldsOf(type: GraphQLInputObjectType): readonly GraphQLInputField[] {
  const known = fieldsOfTypes.get(type);
  if (known) return known;
  const fields = Object.values(type.getFields());
  fieldsOfTypes.set(type, fields);
  return fields;
}

function coerceObject(type: GraphQLInputObjectType, given: Variables): Variables {
  if (typeof given !== 'object' || Array.isArray(given) || type.isOneOf) fallBack();
  const coerced: Record<string, unknown> = {};
  let known = 0;
  for (const { name, type: fieldType, defaultValue } of fieldsOf(type)) {
    if (Object.hasOwn(given, name)) known++;
    const value = given[name];
    if (value === undefined && defaultValue !== undefined) coerced[name] = defaultValue;
    else if (value !== undefined || fieldType instanceof GraphQLNonNull)
      coerced[name] = coerce(fieldType, value);
  }
  if (known < Object.keys(given).length) fallBack();
  return coerced;
}
