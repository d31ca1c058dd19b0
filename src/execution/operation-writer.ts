/** Writes response bodies without graphql-js. */
import {
  type DocumentNode,
  type GraphQLSchema,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql';
import { type Documents, type Fragments, fragmentsOf } from './documents.js';
import { Execution, type ExecutionContext } from './execution.js';
import { type Memory, Plan } from './plan.js';
import { createCoercion, type Variables } from './variables.js';

/** The parameters of a GraphQL request, also unknown ones. Their values are not checked yet. */
export type RequestParameters = Readonly<Record<string, unknown>>;

/** An operation of a validated document, with its coerced variables. */
interface PreparedOperation {
  readonly schema: GraphQLSchema;
  readonly fragments: Fragments;
  readonly operation: OperationDefinitionNode;
  readonly variables: Variables;
  readonly tokenCount: number | undefined;
}

export function createOperationWriter(schema: GraphQLSchema, documents: Pick<Documents, 'accepted'>) {
  const plans = new Plans(schema);
  const coerceVariables = createCoercion(schema);

  /**
   * Writes the response body; undefined if the operation has errors, has to wait, must not be executed now, or is of a
   * kind that the writer does not know.
   *
   * @param prepare makes the context of the operation; undefined if the operation must not be executed now
   */
  return (
    parameters: RequestParameters,
    prepare: (operation: PreparedOperation) => ExecutionContext | undefined,
  ): readonly Buffer[] | undefined => {
    const { query, operationName: name = null, variables: given = null } = parameters;
    // Invalid parameters are left to GraphQL Yoga, which has the error messages.
    if (typeof query !== 'string' || !(name === null || typeof name === 'string')) return undefined;
    if (!isObjectOrNull(given) || isPersisted(parameters)) return undefined;
    const accepted = documents.accepted(query);
    if (!accepted) return undefined;
    const { document, isLasting } = accepted;
    const operation = getOperationAST(document, name || null);
    if (operation?.operation !== OperationTypeNode.QUERY) return undefined;
    const variables = coerceVariables(operation, given ?? {});
    if (!variables) return undefined;
    const { tokenCount } = document;
    const context = prepare({ schema, fragments: fragmentsOf(document), operation, variables, tokenCount });
    if (!context) return undefined;
    const plan = isLasting
      ? plans.planFor(document, operation, variables)
      : new Plan(schema, document, operation, { bytes: 0, maxBytes: 0 });
    return plan.write(new Execution(context, variables, isLasting));
  };
}

const isObjectOrNull = (value: unknown): value is Variables | null =>
  typeof value === 'object' && !Array.isArray(value);

/** Whether the extensions can change the operation. Most only describe the client, such as its name. */
function isPersisted({ extensions = null }: RequestParameters): boolean {
  return !isObjectOrNull(extensions) || (extensions !== null && 'persistedQuery' in extensions);
}

/** Limit on all plans with their kept JSON. */
const MAX_BYTES = 40 * 2 ** 20;

/** Caches the plans of repeated operations while their documents exist. Beyond the limit all plans are dropped. */
export class Plans {
  /** The plans by operation, and by the values of the variables on which `@skip` and `@include` can depend. */
  private plans = new WeakMap<OperationDefinitionNode, Map<string, Plan>>();
  private memory: Memory;

  constructor(
    private readonly schema: GraphQLSchema,
    maxBytes = MAX_BYTES,
  ) {
    this.memory = { bytes: 0, maxBytes };
  }

  /** @param variables the coerced variables */
  planFor(document: DocumentNode, operation: OperationDefinitionNode, variables: Variables): Plan {
    if (this.memory.bytes > this.memory.maxBytes) {
      this.plans = new WeakMap();
      this.memory = { ...this.memory, bytes: 0 };
    }
    const plans = this.plans.get(operation) ?? new Map<string, Plan>();
    this.plans.set(operation, plans);
    const conditions = conditionsOf(operation, variables);
    const plan = plans.get(conditions) ?? new Plan(this.schema, document, operation, this.memory);
    plans.set(conditions, plan);
    return plan;
  }
}

function conditionsOf({ variableDefinitions = [] }: OperationDefinitionNode, variables: Variables): string {
  let values = '';
  for (const { variable, type } of variableDefinitions) {
    const named = type.kind === Kind.NON_NULL_TYPE ? type.type : type;
    if (named.kind !== Kind.NAMED_TYPE || named.name.value !== 'Boolean') continue;
    const { value: name } = variable.name;
    values += `${Object.hasOwn(variables, name) ? variables[name] : ''},`;
  }
  return values;
}
