/** Makes JSON Schemas from the types of the graph. */
import {
  type FieldNode,
  type GraphQLArgument,
  type GraphQLEnumType,
  type GraphQLInputType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredArgument,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
  TypeInfo,
  typeFromAST,
  visit,
  visitWithTypeInfo,
} from 'graphql';

/** A JSON Schema (draft 2020-12). */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** The schema of an object, such as the arguments or the result of a tool. */
export interface ObjectSchema extends JsonSchema {
  readonly type: 'object';
  readonly properties: Readonly<Record<string, JsonSchema>>;
}

/** The JSON types of scalars that are not strings. */
const SCALARS: ReadonlyMap<string, string> = new Map([
  ['Int', 'integer'],
  ['Float', 'number'],
  ['Boolean', 'boolean'],
]);

/**
 * The schema of an operation's variables, with the descriptions and defaults of the arguments that use them. The schema
 * does not allow null for an optional variable: to omit the variable means the same.
 *
 * @throws TypeError for a variable that is not the whole value of an argument
 */
export function variablesSchema(schema: GraphQLSchema, operation: OperationDefinitionNode): ObjectSchema {
  const argumentOf = argumentsByVariable(schema, operation);
  const variables = (operation.variableDefinitions ?? []).map(({ variable, type: node }) => {
    const name = variable.name.value;
    const type = typeFromAST(schema, node);
    const argument = argumentOf.get(name);
    if (!isInputType(type) || !argument) throw new TypeError(`$${name} is not given to an argument`);
    return { name, type, description: argument.description, defaultValue: argument.defaultValue };
  });
  return inputFields(variables);
}

/** The schema of the data of a query, which has no fragments. @throws TypeError for a fragment */
export function dataSchema(schema: GraphQLSchema, operation: OperationDefinitionNode): ObjectSchema {
  return selectionSchema(schema.getQueryType() as GraphQLObjectType, operation.selectionSet);
}

/** The arguments that have a variable as their whole value, by the name of the variable. */
function argumentsByVariable(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
): ReadonlyMap<string, GraphQLArgument> {
  const found = new Map<string, GraphQLArgument>();
  const types = new TypeInfo(schema);
  visit(
    operation,
    visitWithTypeInfo(types, {
      Argument({ value }) {
        const argument = types.getArgument();
        if (argument && value.kind === Kind.VARIABLE) found.set(value.name.value, argument);
      },
    }),
  );
  return found;
}

type InputField = Pick<GraphQLArgument, 'name' | 'type' | 'description' | 'defaultValue'>;

function inputFields(fields: readonly InputField[]): ObjectSchema {
  const required = fields.filter((field) => isRequiredArgument(field as GraphQLArgument));
  return {
    type: 'object',
    properties: Object.fromEntries(fields.map((field) => [field.name, inputField(field)])),
    ...(required.length > 0 ? { required: required.map(({ name }) => name) } : {}),
    additionalProperties: false,
  };
}

function inputField({ type, description, defaultValue }: InputField): JsonSchema {
  return {
    ...inputSchema(type),
    ...(description ? { description: withValues(description, type) } : {}),
    ...(defaultValue === undefined ? {} : { default: defaultValue }),
  };
}

function inputSchema(type: GraphQLInputType): JsonSchema {
  if (isNonNullType(type)) return inputSchema(type.ofType);
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType) };
  if (isInputObjectType(type)) return inputFields(Object.values(type.getFields()));
  return isEnumType(type) ? { type: 'string', enum: namesOf(type) } : { type: scalarType(type.name) };
}

/** Appends the descriptions of enum values, for which a JSON Schema has no place. */
function withValues(description: string, type: GraphQLInputType): string {
  const named = getNamedType(type);
  if (!isEnumType(named)) return description;
  const values = named.getValues().map((value) => `${value.name}: ${value.description}`);
  return [description, ...values].join('\n');
}

function selectionSchema(type: GraphQLObjectType, { selections }: SelectionSetNode): ObjectSchema {
  const fields = type.getFields();
  const properties = selections.map((selection): [string, JsonSchema] => {
    const field = selection.kind === Kind.FIELD ? fields[selection.name.value] : undefined;
    if (!field || selection.kind !== Kind.FIELD) throw new TypeError('Expected fields only');
    const name = selection.alias?.value ?? field.name;
    return [name, { ...outputSchema(field.type, selection), description: field.description ?? '' }];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: properties.map(([name]) => name),
    additionalProperties: false,
  };
}

function outputSchema(type: GraphQLOutputType, field: FieldNode): JsonSchema {
  if (isNonNullType(type)) return nonNullSchema(type.ofType, field);
  const schema = nonNullSchema(type, field);
  return schema.enum ? { anyOf: [schema, { type: 'null' }] } : { ...schema, type: [schema.type, 'null'] };
}

function nonNullSchema(type: GraphQLOutputType, field: FieldNode): JsonSchema {
  if (isListType(type)) return { type: 'array', items: outputSchema(type.ofType, field) };
  const { selectionSet } = field;
  if (isObjectType(type) && selectionSet) return selectionSchema(type, selectionSet);
  const named = getNamedType(type);
  return isEnumType(named) ? { type: 'string', enum: namesOf(named) } : { type: scalarType(named.name) };
}

function scalarType(name: string): string {
  return SCALARS.get(name) ?? 'string';
}

function namesOf(type: GraphQLEnumType): readonly string[] {
  return type.getValues().map(({ name }) => name);
}
