import {
  defaultTypeResolver,
  type GraphQLAbstractType,
  GraphQLFloat,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  type SelectionSetNode,
} from 'graphql';
import {
  ABANDONED,
  assertPlain,
  ignorePromise,
  ignorePromisesFrom,
  isPromise,
  PROMISE_MET,
} from '../writing/abandon.js';
import { type MemberPlan, ObjectPlan, type ShortMemberPlan } from '../writing/object-plan.js';
import type { RowJsonBudget } from '../writing/row-json.js';
import type { Run } from '../writing/run.js';
import { append, isNull, leafPlanOf, orNull, type ValuePlan } from '../writing/value-plan.js';
import { type Conditions, collectFields, type FieldNodes } from './collect-fields.js';
import { type FieldRead, planRead } from './field-plan.js';
import type { PlannedOperation } from './resolve-info.js';

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
    nodes: Iterable<{ readonly selectionSet?: SelectionSetNode | undefined }>,
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
  private planMember(parent: GraphQLObjectType, start: string, nodes: FieldNodes): MemberPlan | undefined {
    const name = nodes[0].name.value;
    if (name === '__typename') return constant(`${start}"${parent.name}"`);
    const field = parent.getFields()[name];
    if (!field) return undefined;
    const type = getNullableType(field.type);
    const source = planRead(this.operation, parent, field, nodes, this.nextSlot);
    const { read, info } = source;
    const plan = this.planValue(field.type, { nodes, info });
    if (plan.write) {
      const { write } = plan;
      return {
        write(object, run) {
          run.text += start;
          write(read(object, run), run);
        },
      };
    }
    const { text, isOfRow } = plan;
    const isLeaf = isLeafType(type);
    const rowCheck = isOfRow && ofRow(source, isOfRow, isLeaf);
    const isBelow = isLeaf || plan.object?.isFromListings === true;
    return {
      text: (object, run) => start + text(read(object, run), run),
      isOfRow: rowCheck,
      isFromListings: rowCheck !== undefined || (source.isFromListings && isBelow),
      worth: isLeaf && source.property !== undefined && type !== GraphQLFloat ? 1 : 2,
    };
  }

  private planValue(type: GraphQLOutputType, place: Place): ValuePlan {
    const isNonNull = isNonNullType(type);
    const nullable = isNonNull ? type.ofType : type;
    if (isLeafType(nullable)) return leafPlanOf(nullable, isNonNull);
    if (isListType(nullable)) return orNull(this.planList(nullable.ofType, place), isNonNull);
    if (isObjectType(nullable)) return orNull(this.planSingle(nullable, place), isNonNull);
    return orNull(this.planAbstract(nullable as GraphQLAbstractType, place), isNonNull);
  }

  /** For lists that are not null. */
  private planList(itemType: GraphQLOutputType, place: Place): ValuePlan {
    const item = this.planValue(itemType, place);
    let nested = 0;
    for (let type = itemType; 'ofType' in type; type = type.ofType) if (isListType(type)) nested++;
    return {
      write(value, run) {
        assertPlain(value);
        // graphql-js iterates.
        if (!Array.isArray(value) || value[Symbol.iterator] !== Array.prototype[Symbol.iterator])
          throw ABANDONED;
        const list: readonly unknown[] = value;
        if (!item.object?.writeKeptList(list, run, () => writeItems(item, list, run, nested)))
          writeItems(item, list, run, nested);
      },
    };
  }

  private planSingle(type: GraphQLObjectType, { nodes, info }: Place): ValuePlan {
    const plan = this.planObject(type, nodes);
    const check = type.isTypeOf
      ? (value: unknown, run: Run) => assertIsTypeOf(type, value, run, info())
      : undefined;
    const keptOrPlain = (value: unknown, run: Run) => {
      const kept = plan.keptTexts(value);
      if (kept === undefined) assertPlain(value);
      check?.(value, run);
      return kept;
    };
    if (!plan.isShort) {
      return { write: (value, run) => plan.write(value, run, keptOrPlain(value, run)) };
    }
    const isOfRow = !check && plan.isOfRow;
    return {
      // An object that was checked once need not be checked again if nothing else can be found out.
      object: check ? undefined : plan,
      text: check
        ? (value, run) => plan.text(value, run, keptOrPlain(value, run))
        : (value, run) => plan.keptText(value, run) ?? plan.text(value, run, keptOrPlain(value, run)),
      isOfRow: isOfRow
        ? (value) => isNull(value) || (typeof value === 'object' && isOfRow(value as object))
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
      write(value, run) {
        assertPlain(value);
        const name: unknown = resolveType(value, run.context, info(), type);
        if (isPromise(name)) {
          ignorePromise(name);
          throw PROMISE_MET;
        }
        append(plans.get(name as string) ?? planOf(name), value, run);
      },
    };
  }
}

/** @param nested how many levels of lists are within it, by its type */
function writeItems(item: ValuePlan, list: readonly unknown[], run: Run, nested: number): void {
  let index = 0;
  try {
    run.text += '[';
    for (; index < list.length; index++) {
      if (index > 0) run.text += ',';
      append(item, list[index], run);
      run.flushIfLong();
    }
    run.text += ']';
  } catch (error) {
    ignorePromisesFrom(list, index, nested);
    throw error;
  }
}

/** Whether the JSON of a field can be kept for its source. */
function ofRow(
  { property, isFromRowOnly }: FieldRead,
  isValueOfRow: (value: unknown) => boolean,
  isLeaf: boolean,
): ShortMemberPlan['isOfRow'] {
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

function constant(json: string): MemberPlan {
  return { text: () => json, isOfRow: () => true, isFromListings: true, worth: 0 };
}
