/** Writes one operation again and again by the operation writer, without a gateway. */
import { type GraphQLSchema, getOperationAST, parse } from 'graphql';
import { Execution } from '../../../src/execution/execution.js';
import { Plans } from '../../../src/execution/operation-writer.js';
import type { Variables } from '../../../src/execution/variables.js';

/** The returned function returns the parts of the body; undefined if the operation is left to graphql-js. */
export function createWriter(schema: GraphQLSchema, text: string, maxBytes = 1e7) {
  const document = parse(text);
  const operation = getOperationAST(document);
  if (!operation) throw new Error('Expected an operation');
  const plans = new Plans(schema, maxBytes);
  return (context: object, variables: Variables = {}) =>
    plans.planFor(document, operation, variables).write(new Execution(context, variables, true));
}
