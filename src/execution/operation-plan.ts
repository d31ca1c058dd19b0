import {
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
import { Planner } from './planning/planner.js';
import type { PlannedOperation } from './planning/resolve-info.js';
import { type Survey, surveyOperation } from './planning/survey.js';
import { type CoerceVariables, planVariables, type Variables } from './planning/variables.js';
import { PROMISE_MET } from './writing/abandon.js';
import type { ObjectPlan } from './writing/object-plan.js';
import { PROCESS_BUDGET, type RowJsonBudget } from './writing/row-json.js';
import { Run, setCurrentRun } from './writing/run.js';

/** Writes the answers of one operation of a document, with any variables. */
export interface OperationPlan {
  /**
   * Coerces the variables of a request, as getVariableValues does at several times the cost.
   *
   * @returns undefined if one is invalid; getVariableValues then gives the error
   */
  coerce(given: { readonly [name: string]: unknown }): { readonly [name: string]: unknown } | undefined;
  /**
   * Writes the whole response body `{"data":{…}}` as JSON in UTF-8, in parts that must not be changed. It calls the resolvers as
   * graphql-js does. Never throws for anything that a resolver or a value does.
   *
   * @param context is new for every call, since the operation may have been executed in part
   * @param variables from {@link coerce} or from graphql's getVariableValues
   * @returns undefined if the operation has to be executed by graphql-js, from the beginning
   */
  write(context: unknown, variables: { readonly [name: string]: unknown }): readonly Buffer[] | undefined;
  /** True if the last answer was left to graphql-js because of a promise. */
  readonly metPromise: boolean;
  /** Rough size in memory, in bytes. It grows with the object types and conditions that were met. */
  readonly size: number;
}

export interface PlanOptions {
  /** Limit on the fields of a plan with all fragments expanded. */
  readonly maxFields?: number;
  /** Bounds the kept JSON of rows; that of the process unless given. */
  readonly budget?: RowJsonBudget;
}

const MAX_FIELDS = 2_000;
/** Each combination of the variables of `@skip` and `@include` is planned on its own. */
const MAX_VARIANTS = 16;
const BYTES_OF_PLAN = 2_000;
const BYTES_OF_FIELD = 1_000;
/** A plan holds its parsed document, which takes about fifty times the memory of its text. */
const BYTES_OF_CHARACTER = 50;

/**
 * Plans a query that was validated.
 *
 * @returns undefined for an operation that the writer does not know how to answer as graphql-js does: mutations,
 *   subscriptions, introspection of the schema, directives other than `@skip` and `@include`, and too many fields
 */
export function planOperation(
  schema: GraphQLSchema,
  document: DocumentNode,
  operation: OperationDefinitionNode,
  { maxFields = MAX_FIELDS, budget = PROCESS_BUDGET }: PlanOptions = {},
): OperationPlan | undefined {
  const type = schema.getQueryType();
  if (operation.operation !== 'query' || !type) return undefined;
  const fragments: Record<string, FragmentDefinitionNode> = Object.create(null);
  for (const definition of document.definitions) {
    if (definition.kind === Kind.FRAGMENT_DEFINITION) fragments[definition.name.value] = definition;
  }
  try {
    const survey = surveyOperation(schema, fragments, operation, maxFields);
    if (!survey || 2 ** survey.conditions.length > MAX_VARIANTS) return undefined;
    const ownBytes = BYTES_OF_PLAN + (document.loc?.end ?? 0) * BYTES_OF_CHARACTER;
    const plan = new QueryPlan({ schema, fragments, operation }, type, survey, budget, ownBytes);
    // With conditions, the first variant is planned when their values are known.
    if (survey.conditions.length === 0) plan.variantFor({});
    return plan;
  } catch {
    // An invalid argument, or selections that are nested too deeply for this way of planning.
    return undefined;
  }
}

interface Variant {
  readonly planner: Planner;
  readonly root: ObjectPlan;
}

class QueryPlan implements OperationPlan {
  metPromise = false;
  private coercion: CoerceVariables | undefined;
  private readonly variants = new Map<number, Variant>();
  private written = 0;

  constructor(
    private readonly operation: PlannedOperation,
    private readonly type: GraphQLObjectType,
    private readonly survey: Survey,
    private readonly budget: RowJsonBudget,
    private readonly ownBytes: number,
  ) {}

  get size(): number {
    let bytes = this.ownBytes;
    for (const { planner } of this.variants.values()) bytes += planner.fields * BYTES_OF_FIELD;
    return bytes;
  }

  coerce(given: Variables): Variables | undefined {
    this.coercion ??= planVariables(this.operation.schema, this.operation.operation);
    return this.coercion(given);
  }

  write(context: unknown, variables: Variables): readonly Buffer[] | undefined {
    this.metPromise = false;
    const run = new Run(context, variables, this.written > 0);
    const before = setCurrentRun(run);
    try {
      const variant = this.variantFor(variables);
      if (!variant) return undefined;
      run.text = '{"data":';
      variant.root.write(undefined, run, undefined);
      run.text += '}';
      if (run.isAbandoned) return undefined;
      this.written++;
      return run.finish();
    } catch (error) {
      this.metPromise = error === PROMISE_MET;
      return undefined;
    } finally {
      setCurrentRun(before);
      run.release();
    }
  }

  /** Undefined where a condition is not a boolean: executors do not agree on the place of the error. */
  variantFor(variables: Variables): Variant | undefined {
    let key = 0;
    const conditions: Record<string, boolean> = Object.create(null);
    for (const name of this.survey.conditions) {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      if (typeof value !== 'boolean') return undefined;
      conditions[name] = value;
      key = key * 2 + (value ? 1 : 0);
    }
    const known = this.variants.get(key);
    if (known) return known;
    const planner = new Planner(this.operation, conditions, this.budget);
    const variant = { planner, root: planner.planObject(this.type, [this.operation.operation]) };
    this.variants.set(key, variant);
    return variant;
  }
}
