import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLField,
  GraphQLIncludeDirective,
  type GraphQLNamedType,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  GraphQLSkipDirective,
  getArgumentValues,
  getDirectiveValues,
  getNamedType,
  getNullableType,
  isAbstractType,
  isListType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
  type SelectionNode,
} from 'graphql';
import { type CostInput, type FieldCost, NO_ROWS, type RowsByChain, totalRows } from './cost.js';

/** What an operation, or a part of it, comes to. */
export interface Cost {
  units: number;
  /** Rows of lists of objects. */
  rows: number;
}

/** How many rows the listings have. */
export type ListingSizes = Pick<CostInput, 'chains' | 'tokens'>;

/** The parts of an operation that its cost is told from. */
export interface CostedOperation {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** `__schema` and `__type` walk the schema and no listing. */
const INTROSPECTION_UNITS = 5_000;
const ONE_ROW: RowsByChain = new Map([['', 1]]);

/**
 * What of an operation can be told before it is executed: all but the rows of searches and routes.
 *
 * Exact for what it counts: selections are merged as execution merges them, and lists within lists are counted
 * for each chain, by the number of tokens that it really has.
 */
export function costOfOperation(
  operation: OperationDefinitionNode,
  costed: CostedOperation,
  sizes: ListingSizes,
): Cost {
  const cost = { units: 0, rows: 0 };
  const query = costed.schema.getQueryType();
  if (query) new Counter(costed, sizes, cost).addSelections(query, [operation], ONE_ROW);
  return cost;
}

/** What a field comes to whose resolver has just got these rows. */
export function costOfRows(rows: RowsByChain, info: GraphQLResolveInfo, sizes: ListingSizes): Cost {
  const { schema, fragments, variableValues: variables } = info;
  const cost = { units: 0, rows: 0 };
  const counter = new Counter({ schema, fragments, variables }, sizes, cost);
  counter.addRows(getNamedType(info.returnType), true, info.fieldNodes, rows);
  return cost;
}

/** The fragments of a document by their names. */
export function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  return fragments;
}

/** Units for one object of the type with every field, and every object that it has one of. */
export function unitsOfWholeObject(type: GraphQLObjectType): number {
  let units = 0;
  for (const field of Object.values(type.getFields())) {
    const below = getNamedType(field.type);
    if (!isObjectType(below)) units += 1;
    else if (!isListType(getNullableType(field.type))) units += 1 + unitsOfWholeObject(below);
  }
  return units;
}

class Counter {
  constructor(
    private readonly operation: CostedOperation,
    private readonly sizes: ListingSizes,
    private readonly cost: Cost,
  ) {}

  /** Adds what is selected of so many objects of this type. */
  addSelections(
    type: GraphQLObjectType,
    nodes: readonly (FieldNode | OperationDefinitionNode)[],
    parents: RowsByChain,
  ): void {
    const count = totalRows(parents);
    const fields = new Map<string, FieldNode[]>();
    const visited = new Set<string>();
    for (const { selectionSet } of nodes) {
      if (selectionSet) this.collect(type, selectionSet.selections, fields, visited);
    }
    for (const [first, ...others] of fields.values()) {
      if (!first) continue;
      this.cost.units += count;
      const name = first.name.value;
      const field = type.getFields()[name];
      if (field) this.addField(field, [first, ...others], parents);
      else if (name !== '__typename') this.cost.units += INTROSPECTION_UNITS;
    }
  }

  /** Adds the rows of one field, which execution selects from as all of these nodes say. */
  addRows(
    type: GraphQLNamedType,
    isList: boolean,
    nodes: readonly FieldNode[],
    rows: RowsByChain,
    rowsByType?: Readonly<Record<string, RowsByChain>>,
  ): void {
    const parts: [GraphQLObjectType, RowsByChain][] = isAbstractType(type)
      ? this.operation.schema
          .getPossibleTypes(type)
          .map((possible) => [possible, rowsByType?.[possible.name] ?? rows])
      : isObjectType(type)
        ? [[type, rows]]
        : [];
    for (const [objectType, ofType] of parts) {
      const count = totalRows(ofType);
      // What no object is asked of is not executed.
      if (count === 0) continue;
      if (isList) {
        this.cost.rows += count;
        this.cost.units += count;
      }
      this.addSelections(objectType, nodes, ofType);
    }
  }

  private addField(
    field: GraphQLField<unknown, unknown>,
    nodes: readonly [FieldNode, ...FieldNode[]],
    parents: RowsByChain,
  ): void {
    const type = getNamedType(field.type);
    const { rows, rowsByType, units } = (field.extensions.cost ?? {}) as FieldCost;
    const input = rows || rowsByType || units ? this.inputOf(field, nodes[0], parents) : undefined;
    if (input && units) this.cost.units += units(input);
    const isList = isListType(getNullableType(field.type));
    // Without a rule each parent has one, as the chain of a token.
    const ofField = input && rows ? rows(input) : parents;
    this.addRows(type, isList, nodes, input && rowsByType ? NO_ROWS : ofField, input && rowsByType?.(input));
  }

  private inputOf(field: GraphQLField<unknown, unknown>, node: FieldNode, parents: RowsByChain): CostInput {
    const { chains, tokens } = this.sizes;
    return { args: this.argumentsOf(field, node), parents, chains, tokens };
  }

  private argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode) {
    try {
      return getArgumentValues(field, node, this.operation.variables);
    } catch {
      // Execution meets the same error, and calls no resolver.
      return {};
    }
  }

  private collect(
    type: GraphQLObjectType,
    selections: readonly SelectionNode[],
    fields: Map<string, FieldNode[]>,
    visited: Set<string>,
  ): void {
    for (const selection of selections) {
      if (!this.isIncluded(selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = selection.alias?.value ?? selection.name.value;
        const known = fields.get(key);
        if (known) known.push(selection);
        else fields.set(key, [selection]);
        continue;
      }
      let fragment: Pick<FragmentDefinitionNode, 'selectionSet'> | undefined;
      let condition: string | undefined;
      if (selection.kind === Kind.INLINE_FRAGMENT) {
        fragment = selection;
        condition = selection.typeCondition?.name.value;
      } else if (!visited.has(selection.name.value)) {
        visited.add(selection.name.value);
        const spread = this.operation.fragments[selection.name.value];
        fragment = spread;
        condition = spread?.typeCondition.name.value;
      }
      if (fragment && this.applies(condition, type)) {
        this.collect(type, fragment.selectionSet.selections, fields, visited);
      }
    }
  }

  private applies(condition: string | undefined, type: GraphQLObjectType): boolean {
    if (condition === undefined || condition === type.name) return true;
    const conditional = this.operation.schema.getType(condition);
    return isAbstractType(conditional) && this.operation.schema.isSubType(conditional, type);
  }

  private isIncluded(selection: SelectionNode): boolean {
    if (!selection.directives?.length) return true;
    const { variables } = this.operation;
    try {
      const skip = getDirectiveValues(GraphQLSkipDirective, selection, variables);
      const include = getDirectiveValues(GraphQLIncludeDirective, selection, variables);
      return skip?.if !== true && include?.if !== false;
    } catch {
      return true;
    }
  }
}
