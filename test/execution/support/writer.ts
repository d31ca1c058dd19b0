import { type DocumentNode, type GraphQLSchema, getOperationAST, parse } from 'graphql';
import { Execution } from '../../../src/execution/execution.js';
import { Plans } from '../../../src/execution/operation-writer.js';
import { coerceVariables, type Variables } from '../../../src/execution/variables.js';

/** Writes one operation of a document repeatedly, with kept JSON. */
export interface TestWriter {
  /** The variables coerced; undefined if they are invalid. */
  coerce(variables: Variables): Variables | undefined;
  /** The response body; undefined if the operation is left to graphql-js. */
  write(context: object, variables?: Variables): readonly Buffer[] | undefined;
}

/** @param maxBytes limit on the JSON that is kept */
export function createWriter(
  schema: GraphQLSchema,
  given: DocumentNode | string,
  { operationName = null, maxBytes = 1e7 }: { operationName?: string | null; maxBytes?: number } = {},
): TestWriter {
  const document = typeof given === 'string' ? parse(given) : given;
  const operation = getOperationAST(document, operationName);
  if (!operation) throw new Error('Expected an operation');
  const plans = new Plans(schema, maxBytes);
  return {
    coerce: (variables) => coerceVariables(schema, operation, variables),
    write: (context, variables = {}) =>
      plans.planFor(document, operation, variables).write(new Execution(context, variables, true)),
  };
}
