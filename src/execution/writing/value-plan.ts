import type { GraphQLLeafType } from 'graphql';
import { ABANDONED } from './abandon.js';
import { isPure, leafTextOf } from './leaves.js';
import type { ObjectPlan, Text, Write } from './object-plan.js';
import type { Run } from './run.js';

/** How values of one type are written: as a text if they have no lists, otherwise appended. */
export type ValuePlan = ShortPlan | LongPlan;

export interface ShortPlan {
  readonly text: Text;
  readonly write?: undefined;
  /** Present if the JSON depends on nothing but the value: whether it can be kept for this value. */
  readonly isOfRow: ((value: unknown) => boolean) | undefined;
  /** Present for objects of a single type. */
  readonly object?: ObjectPlan | undefined;
}

export interface LongPlan {
  readonly text?: undefined;
  readonly object?: undefined;
  readonly write: Write;
}

/** Plans of leaves have no state, so that all operations share them. */
const leafPlans = new WeakMap<
  GraphQLLeafType,
  { readonly nullable: ShortPlan; readonly nonNull: ShortPlan }
>();

/** How leaves of a type are written. */
export function leafPlanOf(type: GraphQLLeafType, isNonNull: boolean): ShortPlan {
  let plans = leafPlans.get(type);
  if (!plans) {
    const plan: ShortPlan = { text: leafTextOf(type), isOfRow: isPure(type) ? isPrimitive : undefined };
    plans = { nullable: orNull(plan, false) as ShortPlan, nonNull: orNull(plan, true) as ShortPlan };
    leafPlans.set(type, plans);
  }
  return isNonNull ? plans.nonNull : plans.nullable;
}

/** Lets a plan write null, too, or abandon the operation there. */
export function orNull(plan: ValuePlan, isNonNull: boolean): ValuePlan {
  if (plan.write) {
    const { write } = plan;
    return {
      write(value, run) {
        if (!isNull(value)) write(value, run);
        else if (isNonNull) throw ABANDONED;
        else run.text += 'null';
      },
    };
  }
  const { text, isOfRow, object } = plan;
  return {
    isOfRow,
    object,
    text(value, run) {
      if (!isNull(value)) return text(value, run);
      if (isNonNull) throw ABANDONED;
      return 'null';
    },
  };
}

export function isNull(value: unknown): value is null | undefined {
  return value === null || value === undefined;
}

/** Appends a value to the answer. */
export function append({ text, write }: ValuePlan, value: unknown, run: Run): void {
  if (write) write(value, run);
  else run.text += text(value, run);
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== 'object' && typeof value !== 'function') || value === null;
}
