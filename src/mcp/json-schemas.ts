/** Makes JSON Schemas from the types of the graph. */
import {
  type FieldNode,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isListType,
  isNonNullType,
  isObjectType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

/** A JSON Schema (draft 2020-12). */
type JsonSchema = Readonly<Record<string, unknown>>;

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

/** Null is not allowed for an optional variable: to omit it means the same. */
export function variablesSchema(schema: GraphQLSchema, operation: OperationDefinitionNode): ObjectSchema {
  const fields = schema.getQueryType()?.getFields() ?? {};
  const args = operation.selectionSet.selections.flatMap((selection) =>
    selection.kind === Kind.FIELD ? (fields[selection.name.value]?.args ?? []) : [],
  );
  const names = (operation.variableDefinitions ?? []).map(({ variable }) => variable.name.value);
  return inputFields(names.flatMap((variable) => args.filter(({ name }) => name === variable)));
}

/** The schema of a tool's result. @throws TypeError for a fragment */
export function dataSchema(schema: GraphQLSchema, operation: OperationDefinitionNode): ObjectSchema {
  return selectionSchema(schema.getQueryType() as GraphQLObjectType, operation.selectionSet);
}

function inputFields(fields: readonly GraphQLInputField[]): ObjectSchema {
  const required = fields.filter(isRequiredInputField);
  const properties = fields.map(({ name, type, description, defaultValue }): [string, JsonSchema] => {
    const withDescription = description ? { description: withValues(description, type) } : {};
    return [
      name,
      {
        ...inputSchema(type),
        ...withDescription,
        ...(defaultValue === undefined ? {} : { default: defaultValue }),
      },
    ];
  });
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required: required.map(({ name }) => name) } : {}),
    additionalProperties: false,
  };
}

function inputSchema(type: GraphQLInputType): JsonSchema {
  if (isNonNullType(type)) return inputSchema(type.ofType);
  if (isListType(type)) return { type: 'array', items: inputSchema(type.ofType) };
  if (isInputObjectType(type)) return inputFields(Object.values(type.getFields()));
  return leafSchema(type);
}

/** Appends the descriptions of enum values, for which a JSON Schema has no place. */
function withValues(description: string, type: GraphQLInputType): string {
  const named = getNamedType(type);
  const values = isEnumType(named) ? named.getValues() : [];
  return [description, ...values.map((value) => `${value.name}: ${value.description}`)].join('\n');
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
  return leafSchema(getNamedType(type));
}

function leafSchema(type: GraphQLNamedType): JsonSchema {
  if (isEnumType(type)) return { type: 'string', enum: type.getValues().map(({ name }) => name) };
  return { type: SCALARS.get(type.name) ?? 'string' };
}
