import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  type OperationDefinitionNode,
} from 'graphql';
import { LRUCache } from 'lru-cache';
import type { Documents } from './documents.js';
import { type OperationPlan, planOperation } from './operation-plan.js';
import { type CoerceVariables, planVariables } from './planning/variables.js';

/** The parameters of a GraphQL request, of any form. */
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
}

export interface OperationWriterOptions<Context> {
  readonly schema: GraphQLSchema;
  readonly documents: Pick<Documents, 'accepted'>;
  /** Whether the operation may be executed, by its cost. */
  readonly admit: (context: Context, operation: PreparedOperation) => boolean;
}

/**
 * Writes the response body of operations, if nothing but a complete answer comes of them.
 *
 * @param context made anew for this operation, which is executed in part even if it is not answered
 * @returns undefined for an operation that has to be executed as usual, from the beginning: it may have errors, have
 *   to wait, or be of a kind that the writer does not know
 */
export type OperationWriter<Context> = (
  parameters: OperationParameters,
  context: () => Context,
) => Buffer | undefined;

const MEMBERS = new Set(['query', 'operationName', 'variables', 'extensions']);
/** Estimated size of all plans that are kept. */
const MAX_PLANS_BYTES = 16 * 2 ** 20;
const ENTRY_BYTES = 200;

interface KnownOperation {
  readonly operation: OperationDefinitionNode;
  /** Undefined for an operation of an unknown kind. */
  readonly plan: OperationPlan | undefined;
  readonly coerceVariables: CoerceVariables;
}

/** Makes a writer for operations on one schema. */
export function createOperationWriter<Context>(
  options: OperationWriterOptions<Context>,
): OperationWriter<Context> {
  const { schema, documents, admit } = options;
  /** The operations of a document, by the name that the client gives. */
  const operations = new LRUCache<DocumentNode, ReadonlyMap<string, KnownOperation>>({
    maxSize: MAX_PLANS_BYTES,
    sizeCalculation: (known) => {
      let bytes = 0;
      for (const { plan } of known.values()) bytes += ENTRY_BYTES + (plan?.size ?? 0);
      return bytes;
    },
  });

  function operationOf(document: DocumentNode, name: string, isLasting: boolean): KnownOperation | undefined {
    const ofDocument = operations.get(document);
    const known = ofDocument?.get(name);
    if (known) return known;
    const operation = getOperationAST(document, name || undefined);
    if (!operation) return undefined;
    const planned = {
      operation,
      plan: planOperation(schema, document, operation),
      coerceVariables: planVariables(schema, operation),
    };
    if (isLasting) operations.set(document, new Map([...(ofDocument ?? []), [name, planned]]));
    return planned;
  }

  return (parameters, context) => {
    const { query, operationName: name = null, variables = null } = parameters;
    // Whatever is unusual or wrong is left to GraphQL Yoga, with its checks and messages.
    if (typeof query !== 'string' || !(name === null || (typeof name === 'string' && name !== '')))
      return undefined;
    if (!isObjectOrNull(variables) || isPersisted(parameters)) return undefined;
    if (!Object.keys(parameters).every((member) => MEMBERS.has(member))) return undefined;
    const accepted = documents.accepted(query);
    if (!accepted) return undefined;
    const { document } = accepted;
    const known = operationOf(document, name ?? '', accepted.isLasting);
    if (!known?.plan) return undefined;
    const { operation, plan, coerceVariables } = known;
    const coerced = coerceVariables(variables ?? {});
    if (!coerced) return undefined;
    const itsContext = context();
    if (!admit(itsContext, { schema, document, operation, variables: coerced })) return undefined;
    return plan.write(itsContext, coerced);
  };
}

function isObjectOrNull(value: unknown): value is Readonly<Record<string, unknown>> | null {
  return typeof value === 'object' && !Array.isArray(value);
}

/** Whether the extensions are anything but facts about the client, such as its name. */
function isPersisted({ extensions = null }: OperationParameters): boolean {
  return !isObjectOrNull(extensions) || (extensions !== null && 'persistedQuery' in extensions);
}
