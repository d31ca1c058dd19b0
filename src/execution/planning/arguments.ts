import {
  type FieldNode,
  type GraphQLField,
  getArgumentValues,
  isNonNullType,
  Kind,
  type ValueNode,
} from 'graphql';
import type { Run } from '../writing/run.js';

export type Arguments = Readonly<Record<string, unknown>>;

/** Gives the arguments of a field in one run. It throws where graphql-js would report an error. */
export type ArgumentsOf = (run: Pick<Run, 'args' | 'variables'>) => Arguments;

const NONE: Arguments = Object.freeze({});
const noArguments = () => NONE;

/**
 * Plans the arguments of a field. Those without variables are coerced now, the others once in each run, and not again
 * for each row. Both are shared between calls of the resolver, so they are frozen; values that cannot be frozen are
 * coerced for each call, as graphql-js does it.
 *
 * @param nextSlot gives the number under which a run keeps the arguments of this field
 * @throws GraphQLError for constant arguments that are invalid
 */
export function planArguments(
  field: GraphQLField<unknown, unknown>,
  node: FieldNode,
  nextSlot: () => number,
): ArgumentsOf {
  if (field.args.length === 0) return noArguments;
  const { arguments: given = [] } = node;
  if (given.length === 0 || !given.some(({ value }) => hasVariable(value))) {
    const coerced = getArgumentValues(field, node);
    if (freeze(coerced, node)) return () => coerced;
    return () => getArgumentValues(field, node);
  }
  const slot = nextSlot();
  const direct = given.every(({ value }) => value.kind === Kind.VARIABLE) ? directOf(field, node) : undefined;
  return ({ args, variables }) => {
    const known = args[slot];
    if (known) return known;
    const coerced = (direct && valuesOf(direct, variables)) ?? getArgumentValues(field, node, variables);
    if (freeze(coerced, node)) args[slot] = coerced;
    return coerced;
  };
}

/**
 * Gives the arguments of fields outside of a run, without planning them anew each time. For documents that come again:
 * the plans are kept for as long as the nodes of their fields.
 */
export class FieldArguments {
  private readonly plans = new WeakMap<
    FieldNode,
    { readonly field: GraphQLField<unknown, unknown>; readonly argumentsOf: ArgumentsOf }
  >();

  /** @throws GraphQLError where graphql-js would report an error */
  of(field: GraphQLField<unknown, unknown>, node: FieldNode, variables: Run['variables']): Arguments {
    let plan = this.plans.get(node);
    // Within fragments on interfaces, a node stands for fields of several types.
    if (plan?.field !== field) {
      plan = { field, argumentsOf: planArguments(field, node, () => 0) };
      this.plans.set(node, plan);
    }
    return plan.argumentsOf({ args: [], variables });
  }
}

/** An argument that is a variable, or not given. */
interface DirectArgument {
  readonly name: string;
  readonly variable: string | undefined;
  readonly defaultValue: unknown;
  readonly isNonNull: boolean;
}

function directOf(field: GraphQLField<unknown, unknown>, node: FieldNode): readonly DirectArgument[] {
  const variables = new Map<string, string>();
  for (const { name, value } of node.arguments ?? []) {
    if (value.kind === Kind.VARIABLE) variables.set(name.value, value.name.value);
  }
  return field.args.map(({ name, type, defaultValue }) => ({
    name,
    variable: variables.get(name),
    defaultValue,
    isNonNull: isNonNullType(type),
  }));
}

/** The same as getArgumentValues, which costs more; undefined where that may find an error. */
function valuesOf(args: readonly DirectArgument[], variables: Run['variables']): Arguments | undefined {
  const values: Record<string, unknown> = {};
  for (const { name, variable, defaultValue, isNonNull } of args) {
    const isGiven = variable !== undefined && Object.hasOwn(variables, variable);
    const value = isGiven ? variables[variable] : defaultValue;
    if (value === undefined && !isGiven && !isNonNull) continue;
    if (value === undefined || (value === null && isNonNull)) return undefined;
    values[name] = value;
  }
  return values;
}

function hasVariable(node: ValueNode): boolean {
  switch (node.kind) {
    case Kind.VARIABLE:
      return true;
    case Kind.LIST:
      return node.values.some(hasVariable);
    case Kind.OBJECT:
      return node.fields.some(({ value }) => hasVariable(value));
    default:
      return false;
  }
}

/**
 * Freezes values that were made from literals. Values of variables and defaults stay as they are: graphql-js shares them between
 * calls, too, and is given them itself if the operation is abandoned.
 *
 * @returns false if a value is not made of plain objects and lists
 */
function freeze(coerced: Arguments, node: FieldNode): boolean {
  Object.freeze(coerced);
  for (const { name, value } of node.arguments ?? []) {
    if (!freezeLiteral(coerced[name.value], value)) return false;
  }
  return true;
}

function isListOfPrimitives(value: readonly unknown[]): boolean {
  return value.every((item) => typeof item !== 'object' || item === null);
}

function freezeLiteral(value: unknown, node: ValueNode | undefined): boolean {
  if (typeof value !== 'object' || value === null) return true;
  switch (node?.kind) {
    case Kind.VARIABLE:
      return true;
    case Kind.LIST:
      if (!Array.isArray(value)) return false;
      return Object.freeze(value).every((item, index) => freezeLiteral(item, node.values[index]));
    case Kind.OBJECT: {
      // One object given for a list of them.
      if (Array.isArray(value)) return Object.freeze(value).every((item) => freezeLiteral(item, node));
      if (Object.getPrototypeOf(value) !== null) return false;
      Object.freeze(value);
      return node.fields.every((field) =>
        freezeLiteral((value as Record<string, unknown>)[field.name.value], field.value),
      );
    }
    default:
      // One leaf given for a list of them; or an object that a scalar has made.
      return Array.isArray(value) && isListOfPrimitives(Object.freeze(value));
  }
}
