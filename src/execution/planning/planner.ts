import {
  defaultTypeResolver,
  type GraphQLAbstractType,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import {
  ABANDONED,
  assertPlain,
  ignorePromise,
  ignorePromisesFrom,
  isPromise,
  PROMISE_MET,
} from '../writing/abandon.js';
import { isPure, leafTextOf } from '../writing/leaves.js';
import { type MemberPlan, ObjectPlan, type Text, type Write } from '../writing/object-plan.js';
import type { RowJsonBudget } from '../writing/row-json.js';
import type { Run } from '../writing/run.js';
import { type Conditions, collectFields, type FieldNodes } from './collect-fields.js';
import { type FieldRead, planRead } from './field-plan.js';
import type { PlannedOperation } from './resolve-info.js';

/** How values of one type are written. */
interface ValuePlan {
  /** Present if values have no lists. */
  readonly text: Text | undefined;
  readonly write: Write;
  /** Present if the JSON depends on nothing but the value: whether it can be kept for this value. */
  readonly isOfRow: ((value: unknown) => boolean) | undefined;
}

/** The field that a value comes from. */
interface Place {
  readonly nodes: FieldNodes;
  readonly info: () => GraphQLResolveInfo;
}

/** Turns the selections of an operation into functions that write them, for one combination of conditions. */
export class Planner {
  private slots = 0;
  readonly nextSlot = () => this.slots++;
  /** How many fields have been planned so far; object types of interfaces are planned when they are met. */
  fields = 0;

  constructor(
    private readonly operation: PlannedOperation,
    private readonly conditions: Conditions,
    private readonly budget: RowJsonBudget,
  ) {}

  /**
   * Plans the selections on objects of one type.
   *
   * @throws GraphQLError for constant arguments that are invalid
   */
  planObject(
    type: GraphQLObjectType,
    nodes: Iterable<Parameters<typeof collectFields>[2] extends Iterable<infer Node> ? Node : never>,
  ): ObjectPlan {
    const { schema, fragments } = this.operation;
    const selections = { schema, fragments, conditions: this.conditions };
    const members: MemberPlan[] = [];
    for (const [key, fieldNodes] of collectFields(selections, type, nodes)) {
      const member = this.planMember(type, `${members.length === 0 ? '{' : ','}"${key}":`, fieldNodes);
      if (member) members.push(member);
    }
    this.fields += members.length;
    return new ObjectPlan(members, this.budget);
  }

  /** Undefined for a field that the type does not have, which graphql-js leaves out. */
  private planMember(type: GraphQLObjectType, start: string, nodes: FieldNodes): MemberPlan | undefined {
    const name = nodes[0].name.value;
    if (name === '__typename') return constant(`${start}"${type.name}"`);
    const field = type.getFields()[name];
    if (!field) return undefined;
    const source = planRead(this.operation, type, field, nodes, this.nextSlot);
    const { read, info } = source;
    const { text, write, isOfRow } = this.planValue(field.type, { nodes, info }, 0);
    return {
      text: text && ((object, run) => start + text(read(object, run), run)),
      write(object, run) {
        run.text += start;
        write(read(object, run), run);
      },
      isOfRow: isOfRow && ofRow(source, isOfRow, isLeafType(field.type)),
    };
  }

  private planValue(type: GraphQLOutputType, place: Place, lists: number): ValuePlan {
    if (isNonNullType(type)) return orNull(this.planNonNull(type.ofType, place, lists), abandon);
    return orNull(this.planNonNull(type, place, lists), () => 'null');
  }

  /** For values that are not null. */
  private planNonNull(type: GraphQLOutputType, place: Place, lists: number): ValuePlan {
    if (isLeafType(type)) {
      const text = leafTextOf(type);
      return { ...written(text), isOfRow: isPure(type) ? isPrimitive : undefined };
    }
    if (isListType(type)) return this.planList(type.ofType, place, lists);
    if (isObjectType(type)) return this.planSingle(type, place);
    return this.planAbstract(type as GraphQLAbstractType, place);
  }

  private planList(itemType: GraphQLOutputType, place: Place, lists: number): ValuePlan {
    const { text, write } = this.planValue(itemType, place, lists + 1);
    let nested = 0;
    for (let type = itemType; 'ofType' in type; type = type.ofType) if (isListType(type)) nested++;
    return {
      text: undefined,
      isOfRow: undefined,
      write(value, run) {
        assertPlain(value);
        // graphql-js iterates.
        if (!Array.isArray(value) || value[Symbol.iterator] !== Array.prototype[Symbol.iterator])
          throw ABANDONED;
        const list: readonly unknown[] = value;
        let index = 0;
        try {
          run.text += '[';
          for (; index < list.length; index++) {
            if (index > 0) run.text += ',';
            if (text) run.text += text(list[index], run);
            else write(list[index], run);
            run.flushIfLong();
          }
          run.text += ']';
        } catch (error) {
          ignorePromisesFrom(list, index, nested);
          throw error;
        }
      },
    };
  }

  private planSingle(type: GraphQLObjectType, { nodes, info }: Place): ValuePlan {
    const plan = this.planObject(type, nodes);
    const check = type.isTypeOf
      ? (value: unknown, run: Run) => assertIsTypeOf(type, value, run, info())
      : undefined;
    const { isOfRow } = plan;
    const keptOrPlain = (value: unknown, run: Run) => {
      const kept = plan.keptTexts(value);
      if (kept === undefined) assertPlain(value);
      check?.(value, run);
      return kept;
    };
    return {
      text: plan.isShort ? (value, run) => plan.text(value, run, keptOrPlain(value, run)) : undefined,
      write(value, run) {
        plan.write(value, run, keptOrPlain(value, run));
      },
      isOfRow:
        isOfRow && !check
          ? (value) => value == null || (typeof value === 'object' && isOfRow(value))
          : undefined,
    };
  }

  private planAbstract(type: GraphQLAbstractType, { nodes, info }: Place): ValuePlan {
    const { schema } = this.operation;
    const plans = new Map<string, ValuePlan>();
    const planOf = (name: unknown): ValuePlan => {
      const possible = typeof name === 'string' ? schema.getType(name) : undefined;
      if (!isObjectType(possible) || !schema.isSubType(type, possible)) throw ABANDONED;
      const plan = this.planSingle(possible, { nodes, info });
      plans.set(possible.name, plan);
      return plan;
    };
    const resolveType = type.resolveType ?? defaultTypeResolver;
    return {
      text: undefined,
      isOfRow: undefined,
      write(value, run) {
        assertPlain(value);
        const name: unknown = resolveType(value, run.context, info(), type);
        if (isPromise(name)) {
          ignorePromise(name);
          throw PROMISE_MET;
        }
        const plan = plans.get(name as string) ?? planOf(name);
        if (plan.text) run.text += plan.text(value, run);
        else plan.write(value, run);
      },
    };
  }
}

function abandon(): never {
  throw ABANDONED;
}

function isPrimitive(value: unknown): boolean {
  return (typeof value !== 'object' && typeof value !== 'function') || value === null;
}

function constant(json: string): MemberPlan {
  return {
    text: () => json,
    write(_source, run) {
      run.text += json;
    },
    isOfRow: () => true,
    isConstant: true,
  };
}

function written(text: Text): { readonly text: Text; readonly write: Write } {
  return {
    text,
    write(value, run) {
      run.text += text(value, run);
    },
  };
}

/** @param onNull gives the JSON of null, or throws where null is an error */
function orNull({ text, write, isOfRow }: ValuePlan, onNull: () => string): ValuePlan {
  return {
    text: text && ((value, run) => (value === null || value === undefined ? onNull() : text(value, run))),
    write(value, run) {
      if (value === null || value === undefined) run.text += onNull();
      else write(value, run);
    },
    isOfRow,
  };
}

/** Whether the JSON of a field can be kept for its source. */
function ofRow(
  { property, isFromRowOnly }: FieldRead,
  isValueOfRow: (value: unknown) => boolean,
  isLeaf: boolean,
): MemberPlan['isOfRow'] {
  if (!isFromRowOnly) return undefined;
  // A resolver of its own may make an object that is not frozen.
  if (property === undefined) return isLeaf ? () => true : undefined;
  return (source) => {
    // Not a getter, which may give another value each time.
    const own = Object.getOwnPropertyDescriptor(source, property);
    return own !== undefined && 'value' in own && isValueOfRow(own.value);
  };
}

function assertIsTypeOf(type: GraphQLObjectType, value: unknown, run: Run, info: GraphQLResolveInfo): void {
  const answer: unknown = type.isTypeOf?.(value, run.context, info);
  if (isPromise(answer)) {
    ignorePromise(answer);
    throw PROMISE_MET;
  }
  if (!answer) throw ABANDONED;
}
