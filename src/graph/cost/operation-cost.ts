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
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
// Not in graphql's index, but the function of its executor: selections are merged here as they are executed.
import { collectSubfields } from 'graphql/execution/collectFields.js';
import { type CostInput, type FieldCost, type RowsByChain, totalRows } from './cost.js';

/** The cost of an operation, or of a part of it. */
export interface Cost {
  units: number;
  /** Rows of all lists of objects. */
  rows: number;
}

/** The sizes of the two listings. */
export type ListingSizes = Pick<CostInput, 'chains' | 'tokens'>;

/** An operation and the parts of its document that its cost depends on. */
export interface MeteredOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** For `__schema` and `__type`, whatever is selected: the schema is small. */
const INTROSPECTION_UNITS = 5_000;
type Fragments = Readonly<Record<string, FragmentDefinitionNode>>;

const ONE_ROW: RowsByChain = new Map([['', 1]]);

/**
 * The cost of an operation as far as it is known before execution: without the rows of searches and routes.
 *
 * This is a count, not an estimate: a list of tokens within a list of chains counts the tokens that each chain
 * really has.
 */
export function costOfOperation(
  { schema, document, operation, variables }: MeteredOperation,
  sizes: ListingSizes,
): Cost {
  const counter = new CostCounter(schema, fragmentsOf(document), variables, sizes);
  const query = schema.getQueryType();
  if (query) counter.addSelections(query, [operation], ONE_ROW);
  return counter.cost;
}

/** The cost of rows that a resolver has just found, with everything selected on them. */
export function costOfRows(rows: RowsByChain, info: GraphQLResolveInfo, sizes: ListingSizes): Cost {
  const counter = new CostCounter(info.schema, info.fragments, info.variableValues, sizes);
  counter.addRows(getNamedType(info.returnType), true, info.fieldNodes, rows);
  return counter.cost;
}

/** The fragments of a document by name. */
function fragmentsOf(document: DocumentNode): Fragments {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
}

/** Units for one object of the type with every field, including single objects below it but no lists. */
export function unitsOfWholeObject(type: GraphQLObjectType): number {
  let units = 0;
  for (const field of Object.values(type.getFields())) {
    const below = getNamedType(field.type);
    if (!isObjectType(below)) units += 1;
    else if (!isListType(getNullableType(field.type))) units += 1 + unitsOfWholeObject(below);
  }
  return units;
}

/** Walks the selections of an operation as execution does, and adds up their cost. */
class CostCounter {
  readonly cost: Cost = { units: 0, rows: 0 };

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly fragments: Fragments,
    private readonly variables: Readonly<Record<string, unknown>>,
    private readonly sizes: ListingSizes,
  ) {}

  /** Adds everything selected on these objects of one type. */
  addSelections(
    type: GraphQLObjectType,
    nodes: readonly (FieldNode | OperationDefinitionNode)[],
    parents: RowsByChain,
  ): void {
    const count = totalRows(parents);
    for (const nodesOfField of this.collect(type, nodes)) {
      const name = nodesOfField[0]?.name.value ?? '';
      const field = type.getFields()[name];
      this.cost.units += count;
      if (field) this.addField(field, nodesOfField, parents);
      else if (name !== '__typename') this.cost.units += INTROSPECTION_UNITS;
    }
  }

  /** Adds the rows of one field. @param nodes all nodes of the field, which execution merges */
  addRows(
    type: GraphQLNamedType | undefined,
    isList: boolean,
    nodes: readonly FieldNode[],
    rows: RowsByChain,
  ): void {
    const count = totalRows(rows);
    // Selections on no object are not executed.
    if (!isObjectType(type) || count === 0) return;
    if (isList) {
      this.cost.rows += count;
      this.cost.units += count;
    }
    this.addSelections(type, nodes, rows);
  }

  private addField(
    field: GraphQLField<unknown, unknown>,
    nodes: readonly FieldNode[],
    parents: RowsByChain,
  ): void {
    const { rows, rowsByType, units } = (field.extensions.cost ?? {}) as FieldCost;
    const input: CostInput = { args: this.argumentsOf(field, nodes[0]), parents, ...this.sizes };
    this.cost.units += units?.(input) ?? 0;
    const isList = isListType(getNullableType(field.type));
    if (rowsByType) {
      for (const [name, ofType] of Object.entries(rowsByType(input)))
        this.addRows(this.schema.getType(name), isList, nodes, ofType);
      return;
    }
    // Without `rows` each parent has one value, such as the chain of a token.
    this.addRows(getNamedType(field.type), isList, nodes, rows?.(input) ?? parents);
  }

  /** The nodes of each field to execute on an object of this type, by response key. */
  private collect(type: GraphQLObjectType, nodes: readonly (FieldNode | OperationDefinitionNode)[]) {
    const { schema, fragments, variables } = this;
    try {
      // It reads nothing of a node but the selection set.
      const fields = collectSubfields(schema, fragments, variables, type, nodes as readonly FieldNode[]);
      return fields.values();
    } catch {
      // A variable of @skip or @include is null: execution fails with the same error.
      return [];
    }
  }

  private argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode | undefined) {
    try {
      return node ? getArgumentValues(field, node, this.variables) : {};
    } catch {
      // Execution fails with the same error before it calls the resolver.
      return {};
    }
  }
}
