import {
  GraphQLBoolean,
  GraphQLFloat,
  GraphQLID,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  GraphQLInt,
  type GraphQLLeafType,
  type GraphQLSchema,
  GraphQLString,
  isInputObjectType,
  isInputType,
  isLeafType,
  isListType,
  isNonNullType,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromAST,
} from 'graphql';

export type Variables = Readonly<Record<string, unknown>>;

/** Coerces the variables of a request; undefined if one is invalid: getVariableValues of graphql then gives the error. */
export type CoerceVariables = (given: Variables) => Variables | undefined;

/** Gives a coerced value, or {@link INVALID}. It may throw for an invalid value, too. */
type Coerce = (value: unknown) => unknown;

const INVALID = Symbol('invalid');

interface PlannedVariable {
  readonly name: string;
  readonly coerce: Coerce;
  /** Undefined without a default. Made anew each time, since resolvers get it. */
  readonly byDefault: (() => unknown) | undefined;
  readonly isRequired: boolean;
}

/**
 * Plans the coercion of an operation's variables. Valid ones become the same values as by getVariableValues, which
 * costs several times as much because it notes the path of each value.
 */
export function planVariables(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
): CoerceVariables {
  const variables: PlannedVariable[] = [];
  for (const { variable, type: typeNode, defaultValue } of variableDefinitions) {
    const type = typeFromAST(schema, typeNode);
    if (!isInputType(type) || variable.name.value === '__proto__') return () => undefined;
    variables.push({
      name: variable.name.value,
      coerce: coercionOf(type),
      byDefault: defaultValue && (() => valueFromAST(defaultValue, type)),
      isRequired: isNonNullType(type),
    });
  }
  return (given) => {
    try {
      return coerceAll(variables, given);
    } catch {
      return undefined;
    }
  };
}

function coerceAll(variables: readonly PlannedVariable[], given: Variables): Variables | undefined {
  const coerced: Record<string, unknown> = {};
  for (const { name, coerce, byDefault, isRequired } of variables) {
    if (!Object.hasOwn(given, name)) {
      if (byDefault) coerced[name] = byDefault();
      else if (isRequired) return undefined;
      continue;
    }
    const value = coerce(given[name]);
    if (value === INVALID) return undefined;
    coerced[name] = value;
  }
  return coerced;
}

function coercionOf(type: GraphQLInputType): Coerce {
  if (isNonNullType(type)) {
    const coerce = coercionOf(type.ofType);
    return (value) => (value === null || value === undefined ? INVALID : coerce(value));
  }
  const coerce = nonNullCoercionOf(type);
  return (value) => (value === null || value === undefined ? null : coerce(value));
}

/** Each type is planned once: input types can have fields of themselves. */
const coercions = new WeakMap<GraphQLLeafType | GraphQLInputObjectType, Coerce>();

function nonNullCoercionOf(type: GraphQLInputType): Coerce {
  if (isListType(type)) return listCoercionOf(coercionOf(type.ofType));
  if (!isLeafType(type) && !isInputObjectType(type)) return () => INVALID;
  let known = coercions.get(type);
  if (!known) {
    known = isLeafType(type) ? leafCoercionOf(type) : objectCoercionOf(type);
    coercions.set(type, known);
  }
  return known;
}

function listCoercionOf(coerce: Coerce): Coerce {
  return (value) => {
    if (!Array.isArray(value)) {
      if (typeof value === 'object' && value !== null && Symbol.iterator in value) return INVALID;
      // A value stands for a list of itself.
      const only = coerce(value);
      return only === INVALID ? INVALID : [only];
    }
    const items: unknown[] = [];
    for (let index = 0; index < value.length; index++) {
      const item = coerce(value[index]);
      if (item === INVALID) return INVALID;
      items.push(item);
    }
    return items;
  };
}

function leafCoercionOf(type: GraphQLLeafType): Coerce {
  const parse: Coerce = (value) => {
    const parsed: unknown = type.parseValue(value);
    return parsed === undefined ? INVALID : parsed;
  };
  switch (type) {
    case GraphQLString:
    case GraphQLID:
      return (value) => (typeof value === 'string' ? value : parse(value));
    case GraphQLInt:
      return (value) => (typeof value === 'number' && (value | 0) === value ? value : parse(value));
    case GraphQLFloat:
      return (value) => (typeof value === 'number' && Number.isFinite(value) ? value : parse(value));
    case GraphQLBoolean:
      return (value) => (typeof value === 'boolean' ? value : parse(value));
    default:
      return parse;
  }
}

function objectCoercionOf(type: GraphQLInputObjectType): Coerce {
  if (type.isOneOf) return () => INVALID;
  const definitions = type.getFields();
  let fields: ReturnType<typeof plan> | undefined;
  const plan = () =>
    Object.values(definitions).map(({ name, type: fieldType, defaultValue }) => ({
      name,
      coerce: coercionOf(fieldType),
      defaultValue,
      isRequired: isNonNullType(fieldType),
    }));
  return (value) => {
    if (typeof value !== 'object' || Array.isArray(value)) return INVALID;
    const given = value as Variables;
    for (const name of Object.keys(given)) if (!Object.hasOwn(definitions, name)) return INVALID;
    fields ??= plan();
    const coerced: Record<string, unknown> = {};
    for (const { name, coerce, defaultValue, isRequired } of fields) {
      const field = given[name];
      if (field === undefined) {
        if (defaultValue !== undefined) coerced[name] = defaultValue;
        else if (isRequired) return INVALID;
        continue;
      }
      const inner = coerce(field);
      if (inner === INVALID) return INVALID;
      coerced[name] = inner;
    }
    return coerced;
  };
}
