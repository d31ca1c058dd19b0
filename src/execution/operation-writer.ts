import {
  type DocumentNode,
  type FieldNode,
  type GraphQLField,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql';
import type { Documents } from './documents.js';
import { planOperation } from './operation-plan.js';
import { createPlanCache } from './plan-cache.js';
import { FieldArguments } from './planning/arguments.js';

/** The parameters of a GraphQL request, of any form. Other members are ignored. */
export interface OperationParameters {
  readonly query?: unknown;
  readonly operationName?: unknown;
  readonly variables?: unknown;
  readonly extensions?: unknown;
}

/** An operation of an accepted document, with its coerced variables. */
export interface PreparedOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly variables: Readonly<Record<string, unknown>>;
  /** Whether the document has come before. Results for a document that may never come again are not kept. */
  readonly isLasting: boolean;
  /** The arguments of a field, for a document that comes again. It throws as `getArgumentValues`. */
  readonly argumentsOf:
    | ((field: GraphQLField<unknown, unknown>, node: FieldNode) => Readonly<Record<string, unknown>>)
    | undefined;
}

/**
 * Writes the response body of operations, if nothing but a complete answer comes of them.
 *
 * @param prepare makes the context of the operation, which is executed in part even if it is not answered; undefined if
 *   the operation may not be executed, or not yet
 * @returns undefined for an operation that has to be executed as usual, from the beginning: it may have errors, have
 *   to wait, or be of a kind that the writer does not know
 */
export type OperationWriter = (
  parameters: OperationParameters,
  prepare: (operation: PreparedOperation) => object | undefined,
) => readonly Buffer[] | undefined;

/** Makes a writer for operations on one schema. */
export function createOperationWriter(
  schema: GraphQLSchema,
  documents: Pick<Documents, 'accepted'>,
): OperationWriter {
  const plans = createPlanCache(schema);
  const fieldArguments = new FieldArguments();

  return (parameters, prepare) => {
    const { query, operationName: name = null, variables = null } = parameters;
    // Whatever is unusual or wrong is left to GraphQL Yoga, with its checks and messages.
    if (typeof query !== 'string' || !(name === null || (typeof name === 'string' && name !== '')))
      return undefined;
    if (!isObjectOrNull(variables) || isPersisted(parameters)) return undefined;
    const accepted = documents.accepted(query);
    if (!accepted) return undefined;
    const { document, isLasting } = accepted;
    const operation = getOperationAST(document, name);
    if (!operation) return undefined;
    const plan = isLasting ? plans.planFor(document, operation) : planOperation(schema, document, operation);
    const coerced = plan?.coerce(variables ?? {});
    if (!plan || !coerced) return undefined;
    const argumentsOf: PreparedOperation['argumentsOf'] = isLasting
      ? (field, node) => fieldArguments.of(field, node, coerced)
      : undefined;
    const context = prepare({ schema, document, operation, variables: coerced, isLasting, argumentsOf });
    return context && plan.write(context, coerced);
  };
}

function isObjectOrNull(value: unknown): value is Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Whether the extensions are anything but facts about the client, such as its name. */
function isPersisted({ extensions = null }: OperationParameters): boolean {
  return !isObjectOrNull(extensions) || (extensions !== null && 'persistedQuery' in extensions);
}
