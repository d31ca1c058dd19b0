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

/** The cost of an operation, or of a part of it. */
export interface Cost {
  units: number;
  /** Rows of all lists of objects. */
  rows: number;
}

/** The sizes of the two listings. */
export type ListingSizes = Pick<CostInput, 'chains' | 'tokens'>;

/** The parts of an operation, beside its selections, that its cost depends on. */
export interface OperationContext {
  readonly schema: GraphQLSchema;
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** For `__schema` and `__type`, whatever is selected: the schema is small. */
const INTROSPECTION_UNITS = 5_000;
const ONE_ROW: RowsByChain = new Map([['', 1]]);

/**
 * The cost of an operation as far as it is known before execution: without the rows of searches and routes.
 *
 * This is a count and no estimate: selections are merged as execution merges them, and a list of tokens within a
 * list of chains counts the tokens that each chain really has.
 */
export function costOfOperation(
  operation: OperationDefinitionNode,
  context: OperationContext,
  sizes: ListingSizes,
): Cost {
  const cost = { units: 0, rows: 0 };
  const query = context.schema.getQueryType();
  if (query) new CostCounter(context, sizes, cost).addSelections(query, [operation], ONE_ROW);
  return cost;
}

/** The cost of rows that a resolver has just found, with everything selected on them. */
export function costOfRows(rows: RowsByChain, info: GraphQLResolveInfo, sizes: ListingSizes): Cost {
  const { schema, fragments, variableValues: variables } = info;
  const cost = { units: 0, rows: 0 };
  const counter = new CostCounter({ schema, fragments, variables }, sizes, cost);
  counter.addRows(getNamedType(info.returnType), true, info.fieldNodes, rows);
  return cost;
}

/** The fragments of a document by name. */
export function fragmentsOf(document: DocumentNode): Readonly<Record<string, FragmentDefinitionNode>> {
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
  constructor(
    private readonly context: OperationContext,
    private readonly sizes: ListingSizes,
    private readonly cost: Cost,
  ) {}

  /** Adds everything selected on these objects of one type. */
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

  /** Adds the rows of one field. @param nodes all nodes of the field, which execution merges */
  addRows(
    type: GraphQLNamedType,
    isList: boolean,
    nodes: readonly FieldNode[],
    rows: RowsByChain,
    rowsByType?: Readonly<Record<string, RowsByChain>>,
  ): void {
    const parts: [GraphQLObjectType, RowsByChain][] = isAbstractType(type)
      ? this.context.schema
          .getPossibleTypes(type)
          .map((possible) => [possible, rowsByType?.[possible.name] ?? rows])
      : isObjectType(type)
        ? [[type, rows]]
        : [];
    for (const [objectType, ofType] of parts) {
      const count = totalRows(ofType);
      // Selections on no object are not executed.
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
    // Without `rows` each parent has one value, such as the chain of a token.
    const ofField = input && rows ? rows(input) : parents;
    this.addRows(type, isList, nodes, input && rowsByType ? NO_ROWS : ofField, input && rowsByType?.(input));
  }

  private inputOf(field: GraphQLField<unknown, unknown>, node: FieldNode, parents: RowsByChain): CostInput {
    const { chains, tokens } = this.sizes;
    return { args: this.argumentsOf(field, node), parents, chains, tokens };
  }

  private argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode) {
    try {
      return getArgumentValues(field, node, this.context.variables);
    } catch {
      // Execution fails with the same error before it calls the resolver.
      return {};
    }
  }

  /** Collects fields by response key, as the CollectFields algorithm of the GraphQL specification does. */
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
        const spread = this.context.fragments[selection.name.value];
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
    const conditional = this.context.schema.getType(condition);
    return isAbstractType(conditional) && this.context.schema.isSubType(conditional, type);
  }

  private isIncluded(selection: SelectionNode): boolean {
    if (!selection.directives?.length) return true;
    const { variables } = this.context;
    try {
      const skip = getDirectiveValues(GraphQLSkipDirective, selection, variables);
      const include = getDirectiveValues(GraphQLIncludeDirective, selection, variables);
      return skip?.if !== true && include?.if !== false;
    } catch {
      return true;
    }
  }
}
