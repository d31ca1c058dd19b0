import type {
  FieldNode,
  GraphQLField,
  GraphQLObjectType,
  GraphQLResolveInfo,
  GraphQLSchema,
  OperationDefinitionNode,
} from 'graphql';
import { ABANDONED } from '../writing/abandon.js';
import { currentRun } from '../writing/run.js';
import type { Fragments } from './survey.js';

export interface PlannedOperation {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  readonly operation: OperationDefinitionNode;
}

/**
 * The fourth argument of resolvers, made once for a field of a plan. `variableValues` are those of the current run.
 * There is no `path`: the operation is abandoned where a resolver reads it.
 */
export function createResolveInfo(
  { schema, fragments, operation }: PlannedOperation,
  parentType: GraphQLObjectType,
  field: GraphQLField<unknown, unknown>,
  fieldNodes: readonly FieldNode[],
): GraphQLResolveInfo {
  return {
    fieldName: field.name,
    fieldNodes,
    returnType: field.type,
    parentType,
    get path(): never {
      throw abandoned();
    },
    schema,
    fragments,
    rootValue: undefined,
    operation,
    get variableValues() {
      const run = currentRun();
      // A resolver that goes on after its operation was abandoned.
      if (!run) throw ABANDONED;
      return run.variables as { [variable: string]: unknown };
    },
  };
}

function abandoned(): Error {
  const run = currentRun();
  if (run) run.isAbandoned = true;
  return ABANDONED;
}
