import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNamedType,
  getNullableType,
  isCompositeType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type Source,
} from 'graphql';
// Not in graphql's index, but the function of its executor: selections are merged here as they are executed.
import { collectSubfields } from 'graphql/execution/collectFields.js';
import {
  type Cost,
  type CostInput,
  type FieldCost,
  type ListingSizes,
  RARE_ROWS,
  type RowsByChain,
  totalRows,
} from './cost.js';

/** An operation and the parts of its document that its cost depends on. */
export interface MeteredOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** False for a document that may not come again: nothing is kept of it. */
  readonly isLasting?: boolean;
  /** In place of `getArgumentValues`, which costs more. */
  readonly argumentsOf?: ArgumentsOf | undefined;
}

type ArgumentsOf = (
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
) => Readonly<Record<string, unknown>>;

/** The parts of an operation, beside its selections, that its cost depends on. */
interface OperationContext {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
  readonly isLasting?: boolean | undefined;
  readonly argumentsOf?: ArgumentsOf | undefined;
}

/** For `__schema` and `__type`, whatever is selected: the schema is small. */
const INTROSPECTION_UNITS = 5_000;
const ONE_ROW: RowsByChain = new Map([['', 1]]);

/**
 * The cost of an operation as far as it is known before execution: without the rows of searches and routes.
 *
 * This is a count, not an estimate: a list of tokens within a list of chains counts the tokens that each chain
 * really has.
 */
export function costOfOperation(metered: MeteredOperation, sizes: ListingSizes): Cost {
  const cost = { units: 0, rows: 0, bytes: 0 };
  const query = metered.schema.getQueryType();
  if (!query) return cost;
  const context = new MeteredContext(metered);
  addSelections(cost, selectionsOn(query, [metered.operation], context), ONE_ROW, context, sizes);
  return cost;
}

class MeteredContext implements OperationContext {
  private readonly document: DocumentNode;
  readonly schema: GraphQLSchema;
  readonly variables: MeteredOperation['variables'];
  readonly isLasting: boolean | undefined;
  readonly argumentsOf: ArgumentsOf | undefined;
  private madeFragments: OperationContext['fragments'] | undefined;

  constructor({ document, schema, variables, isLasting, argumentsOf }: MeteredOperation) {
    this.document = document;
    this.schema = schema;
    this.variables = variables;
    this.isLasting = isLasting;
    this.argumentsOf = argumentsOf;
  }

  get fragments(): OperationContext['fragments'] {
    this.madeFragments ??= fragmentsOf(this.document);
    return this.madeFragments;
  }
}

/** The cost of rows that a resolver has just found, with everything selected on them. */
export function costOfRows(rows: RowsByChain, info: GraphQLResolveInfo, sizes: ListingSizes): Cost {
  const { schema, fragments, variableValues: variables } = info;
  const cost = { units: 0, rows: 0, bytes: 0 };
  addRows(
    cost,
    getNamedType(info.returnType),
    true,
    info.fieldNodes,
    rows,
    { schema, fragments, variables },
    sizes,
  );
  return cost;
}

/** The fragments of a document by name. */
function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
}

/** Units for one object of the type with every field, including single objects below it, and lists only if empty. */
export function unitsOfWholeObject(type: GraphQLObjectType): number {
  let units = 0;
  for (const field of Object.values(type.getFields())) {
    const below = getNamedType(field.type);
    if (!isObjectType(below) || field.extensions.cost === RARE_ROWS) units += 1;
    else if (!isListType(getNullableType(field.type))) units += 1 + unitsOfWholeObject(below);
  }
  return units;
}

/** The selections on objects of one type, merged as execution merges them. */
interface Selections {
  /** Units for each object, beside those of `fields`. */
  readonly units: number;
  /** Bytes of its names in the response. */
  readonly bytes: number;
  /** The fields of object types, and those that do more than give a value. */
  readonly fields: readonly CountedField[];
}

interface CountedField {
  readonly field: GraphQLField<unknown, unknown>;
  readonly cost: FieldCost;
  readonly type: GraphQLNamedType;
  readonly isList: boolean;
  readonly nodes: readonly FieldNode[];
}

type SelectingNodes = readonly (FieldNode | OperationDefinitionNode)[];

/**
 * Selections that do not depend on variables, by the nodes that make them. Kept as long as these nodes: for a plan of
 * an operation they are always the same.
 */
const known = new WeakMap<FieldNode | OperationDefinitionNode, Map<GraphQLObjectType, Selections>>();

function selectionsOn(type: GraphQLObjectType, nodes: SelectingNodes, context: OperationContext): Selections {
  const only = nodes[0];
  // Of merged nodes only the first is at hand as a key, and it can be merged with others in another operation.
  if (nodes.length !== 1 || !only) return collected(type, nodes, context);
  const kept = known.get(only)?.get(type);
  if (kept) return kept;
  const selections = collected(type, nodes, context);
  if (context.isLasting === false || hasDirectives(only)) return selections;
  const byType = known.get(only) ?? new Map<GraphQLObjectType, Selections>();
  known.set(only, byType.set(type, selections));
  return selections;
}

const directives = new WeakMap<Source, boolean>();

/** Whether the document of a node may have directives, such as `@skip`. */
function hasDirectives({ loc }: FieldNode | OperationDefinitionNode): boolean {
  if (!loc) return true;
  const has = directives.get(loc.source) ?? loc.source.body.includes('@');
  directives.set(loc.source, has);
  return has;
}

function collected(type: GraphQLObjectType, nodes: SelectingNodes, context: OperationContext): Selections {
  const { schema, fragments, variables } = context;
  const fields: CountedField[] = [];
  let units = 0;
  let bytes = 0;
  for (const [key, nodesOfField] of collect()) {
    const name = nodesOfField[0]?.name.value ?? '';
    // In quotes, with a colon and a comma or brace.
    bytes += key.length + 4;
    const field = type.getFields()[name];
    units += field || name === '__typename' ? 1 : 1 + INTROSPECTION_UNITS;
    const below = getNamedType(field?.type);
    const cost = field?.extensions.cost as FieldCost | undefined;
    if (!field || !below || !(cost || isCompositeType(below))) continue;
    const isList = isListType(getNullableType(field.type));
    fields.push({ field, cost: cost ?? {}, type: below, isList, nodes: nodesOfField });
  }
  return { units, bytes, fields };

  function collect(): Iterable<readonly [key: string, nodes: readonly FieldNode[]]> {
    try {
      // It reads nothing of a node but the selection set.
      return collectSubfields(schema, fragments, variables, type, nodes as readonly FieldNode[]);
    } catch {
      // A variable of @skip or @include is null: execution fails with the same error.
      return [];
    }
  }
}

/** Adds everything selected on these objects of one type. */
function addSelections(
  total: Cost,
  { units, bytes, fields }: Selections,
  parents: RowsByChain,
  context: OperationContext,
  sizes: ListingSizes,
): void {
  const count = totalRows(parents);
  total.units += units * count;
  total.bytes += bytes * count;
  for (const { field, cost, type, isList, nodes } of fields) {
    const { rows, rowsByType, units: ownUnits } = cost;
    let input: CostInput | undefined;
    if (rows || rowsByType || ownUnits) {
      input = { args: valuesOf(field, nodes[0], context), parents, sizes };
      total.units += ownUnits?.(input) ?? 0;
    }
    // Before the rows are counted: for that, each key of a list is read.
    if (sizes.isTooMuch(total)) return;
    if (input && rowsByType) {
      for (const [name, ofType] of Object.entries(rowsByType(input)))
        addRows(total, context.schema.getType(name), isList, nodes, ofType, context, sizes);
    } else {
      // Without `rows` each parent has one value, such as the chain of a token.
      addRows(total, type, isList, nodes, (input && rows?.(input)) ?? parents, context, sizes);
    }
  }
}

/** Adds the rows of one field. @param nodes all nodes of the field, which execution merges */
function addRows(
  total: Cost,
  type: GraphQLNamedType | undefined,
  isList: boolean,
  nodes: readonly FieldNode[],
  rows: RowsByChain,
  context: OperationContext,
  sizes: ListingSizes,
): void {
  const count = totalRows(rows);
  // Selections on no object are not executed.
  if (!isObjectType(type) || count === 0) return;
  if (isList) {
    total.rows += count;
    total.units += count;
  }
  addSelections(total, selectionsOn(type, nodes, context), rows, context, sizes);
}

function valuesOf(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode | undefined,
  { variables, argumentsOf }: OperationContext,
): Readonly<Record<string, unknown>> {
  try {
    if (!node) return {};
    return argumentsOf ? argumentsOf(field, node) : getArgumentValues(field, node, variables);
  } catch {
    // Execution fails with the same error before it calls the resolver.
    return {};
  }
}
