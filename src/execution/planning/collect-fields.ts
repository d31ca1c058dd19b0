import {
  type FieldNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  isAbstractType,
  Kind,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';
import type { Fragments } from './survey.js';

/** The values of the variables that `@skip` and `@include` depend on. */
export type Conditions = Readonly<Record<string, boolean>>;

/** The nodes that execution merges into one field. */
export type FieldNodes = [FieldNode, ...FieldNode[]];

export interface Selections {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  readonly conditions: Conditions;
}

/**
 * Collects the fields that are selected on an object type by their response key, in the order of their first
 * appearance, as graphql-js does: each fragment counts once in all of these selection sets.
 */
export function collectFields(
  selections: Selections,
  type: GraphQLObjectType,
  nodes: Iterable<{ readonly selectionSet?: SelectionSetNode | undefined }>,
): ReadonlyMap<string, FieldNodes> {
  const fields = new Map<string, FieldNodes>();
  const visited = new Set<string>();
  for (const { selectionSet } of nodes) {
    if (selectionSet) collect(selections, type, selectionSet, fields, visited);
  }
  return fields;
}

function collect(
  selections: Selections,
  type: GraphQLObjectType,
  selectionSet: SelectionSetNode,
  fields: Map<string, FieldNodes>,
  visited: Set<string>,
): void {
  for (const selection of selectionSet.selections) {
    if (selection.directives?.length && !isIncluded(selection, selections.conditions)) continue;
    if (selection.kind === Kind.FIELD) {
      const key = selection.alias?.value ?? selection.name.value;
      const known = fields.get(key);
      if (known) known.push(selection);
      else fields.set(key, [selection]);
    } else if (selection.kind === Kind.INLINE_FRAGMENT) {
      const condition = selection.typeCondition?.name.value;
      if (condition === undefined || applies(selections.schema, condition, type)) {
        collect(selections, type, selection.selectionSet, fields, visited);
      }
    } else {
      const name = selection.name.value;
      if (visited.has(name)) continue;
      visited.add(name);
      const fragment = selections.fragments[name];
      if (fragment && applies(selections.schema, fragment.typeCondition.name.value, type)) {
        collect(selections, type, fragment.selectionSet, fields, visited);
      }
    }
  }
}

function applies(schema: GraphQLSchema, condition: string, type: GraphQLObjectType): boolean {
  if (condition === type.name) return true;
  const conditional = schema.getType(condition);
  return isAbstractType(conditional) && schema.isSubType(conditional, type);
}

function isIncluded({ directives }: SelectionNode, conditions: Conditions): boolean {
  return (
    conditionOf('skip', directives, conditions) !== true &&
    conditionOf('include', directives, conditions) !== false
  );
}

/** The condition of the first directive of this name; undefined without one. */
function conditionOf(
  name: string,
  directives: SelectionNode['directives'],
  conditions: Conditions,
): boolean | undefined {
  const condition = directives?.find((directive) => directive.name.value === name)?.arguments?.[0]?.value;
  if (condition?.kind === Kind.BOOLEAN) return condition.value;
  return condition?.kind === Kind.VARIABLE ? conditions[condition.name.value] : undefined;
}
