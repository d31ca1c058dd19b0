/**
 * Cost: how much CPU time an operation takes, in units of about a third of a microsecond. Each field of each object
 * costs 1 unit, and each row of a list 1 more. The fields of the root are charged before execution, and the rows of a
 * list when its resolver has found them. More expensive work, such as a search, is charged by its resolver.
 */
import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getNamedType,
  getNullableType,
  isIntrospectionType,
  isListType,
  isObjectType,
  type OperationDefinitionNode,
  SchemaMetaFieldDef,
  TypeMetaFieldDef,
} from 'graphql';
// Not exported by graphql's index. The executor uses this function, too, so the cost counts the fields that are executed.
import { collectSubfields } from 'graphql/execution/collectFields.js';
import type { Config } from '../config/config.js';
import { OperationLimitError } from '../domain/errors.js';
import { foldText } from '../domain/fold-text.js';
import { memoized } from '../domain/memoized.js';
import { MAX_LENGTHS } from '../domain/text-limits.js';
import { PUNCTUATION } from '../search/text.js';

export interface Cost {
  units: number;
  /** Rows of all lists of objects. */
  rows: number;
}

interface Selections {
  readonly schema: GraphQLSchema;
  readonly fragments: Record<string, FragmentDefinitionNode>;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

interface ChargedOperation extends Selections {
  readonly operation: OperationDefinitionNode;
  /** The number of lexical tokens in the document. */
  readonly tokenCount: number | undefined;
}

/** Units for the uncached routes of one token, which cost the upstream a request. */
export const ROUTE_UNITS = 1_000;
/** Units for decoding an `id` and looking it up, which takes about two microseconds. */
export const ID_UNITS = 6;
/** Each list of the introspection counts as this many rows: fewer than there are types, more than most types have fields. */
const INTROSPECTION_ROWS = 8;
const INTROSPECTION = new Map([SchemaMetaFieldDef, TypeMetaFieldDef].map((field) => [field.name, field]));
/** Units for an error in place of an object: to make and to send an error takes 100 µs, and each row can have one. */
const ERROR_UNITS = 500;
/** An error takes as much memory as this many units of fields: 2.5 kB, with its stack. */
const ERROR_FIELD_UNITS = 25;
/** A lexical token of the document takes as much: 500 bytes when it is parsed, so 2,000 tokens take a megabyte. */
const TOKEN_FIELD_UNITS = 5;
/** Units for `tokenChanges` and its four fields, one of which is the list of all tokens. */
const UNITS_AROUND_LIST = 5;

/** Adds up the cost of one operation. A class, since each operation needs one, and an object of closures costs more. */
export class CostMeter {
  readonly spent: Cost = { units: 0, rows: 0 };
  /** The units of fields, errors and the document, without other work: they stay in memory until the operation ends. */
  keptUnits = 0;
  private charged: ChargedOperation | undefined;
  /** The error of an operation that is over a limit. The response then has this error and no data. */
  refusal: OperationLimitError | undefined;

  constructor(
    private readonly limits: Pick<Config, 'maxCost' | 'maxRows'>,
    private readonly listedTokens: () => number,
  ) {}

  /** Adds the cost of the root fields and of the objects below them that are not in lists. @returns `refusal` */
  chargeOperation(operation: ChargedOperation): OperationLimitError | undefined {
    this.charged = operation;
    const type = operation.schema.getQueryType();
    // The cast is safe: only the selections of the node are read.
    const node = operation.operation as unknown as FieldNode;
    const units =
      type && known(node, type, hasDirectives(node), () => unitsOfObject(type, [node], operation));
    this.count({ units: units ?? 0, rows: 0 });
    this.keptUnits += (units ?? 0) + TOKEN_FIELD_UNITS * (operation.tokenCount ?? 0);
    return this.refusal;
  }

  /**
   * Adds the cost of a field's objects: their selected fields, and the objects within them that are not in lists.
   * Look-ups pass keys in place of objects: with too many keys, the operation fails before any object is read.
   *
   * @returns the rows; an empty list if the operation was already over a limit
   * @throws OperationLimitError if these rows exceed a limit
   */
  chargeRows<Row>(rows: readonly Row[], info: GraphQLResolveInfo, typeOf?: (row: Row) => string) {
    if (this.refusal) return [];
    const perRow = isListType(getNullableType(info.returnType)) ? 1 : 0;
    // Counts, not lists of rows: V8 can treat such a list as long-lived, and then its rows stay in memory, too.
    const counts = new Map<string, number>();
    if (!typeOf) counts.set(getNamedType(info.returnType).name, rows.length);
    else for (const name of rows.map(typeOf)) counts.set(name, (counts.get(name) ?? 0) + 1);
    for (const [typeName, count] of counts) {
      const units = count * (perRow + unitsOfType(typeName, info));
      this.add({ units, rows: count * perRow });
      this.keptUnits += units;
    }
    return rows;
  }

  /** Adds units that do not belong to rows. Call it before the work that the units stand for. */
  spend(units: number): void {
    this.add({ units, rows: 0 });
  }

  spendOnError(): void {
    this.keptUnits += ERROR_FIELD_UNITS;
    this.spend(ERROR_UNITS);
  }

  /** @throws OperationLimitError if the operation is over a limit, even if it already was before the call */
  add(cost: Readonly<Cost>): void {
    this.count(cost);
    if (this.refusal) throw this.refusal;
  }

  private count({ units, rows }: Readonly<Cost>): void {
    const { spent } = this;
    const { maxCost, maxRows } = this.limits;
    spent.units += units;
    spent.rows += rows;
    if (this.refusal || (spent.units <= maxCost && spent.rows <= maxRows)) return;
    const unitLimit = this.unitLimit();
    if (spent.rows > maxRows) {
      const message = `The lists of an operation may have at most ${maxRows} rows in all; these have ${spent.rows}. Nest fewer lists in each other, or ask for fewer rows at a time.`;
      this.refusal = new OperationLimitError('LIMIT_EXCEEDED', message);
    } else if (spent.units > unitLimit) {
      const message = `An operation may cost at most ${unitLimit} units (MAX_COST); this one costs ${spent.units}. Ask for fewer rows or fields at a time: each row is a unit, and so is each field of each row; a search costs a unit for each listed token, and another for each token and word; an error can cost ${ERROR_UNITS}.`;
      this.refusal = new OperationLimitError('LIMIT_EXCEEDED', message);
    }
  }

  /** The limit on units: `maxCost`, or the cost of the whole token listing if that is higher. */
  private unitLimit(): number {
    const ofToken = this.charged ? 1 + unitsOfWholeToken(this.charged.schema) : 0;
    return Math.max(this.limits.maxCost, UNITS_AROUND_LIST + this.listedTokens() * ofToken);
  }
}

/** A cache: the units for one object, by the node or list of nodes with its selections, then by its type. */
const unitsByNodes = new WeakMap<object, Map<GraphQLObjectType, number>>();

function known(nodes: object, type: GraphQLObjectType, isVariable: boolean, make: () => number): number {
  const byType = unitsByNodes.get(nodes) ?? new Map<GraphQLObjectType, number>();
  const before = byType.get(type);
  if (before !== undefined) return before;
  const units = make();
  if (!isVariable) unitsByNodes.set(nodes, byType.set(type, units));
  return units;
}

/** Whether the document of a node may have directives, such as `@skip`. */
function hasDirectives({ loc }: FieldNode): boolean {
  return !loc || loc.source.body.includes('@');
}

function unitsOfType(typeName: string, info: GraphQLResolveInfo): number {
  const { schema, fragments, fieldNodes } = info;
  const type = schema.getType(typeName);
  if (!isObjectType(type)) return 0;
  // Cached by the list of nodes: graphql-js and the operation writer make another list if `@skip` has another value.
  return known(fieldNodes, type, false, () => {
    // Reads the variables only if there are directives, because JSON that was made from variables is not kept.
    const variables = fieldNodes.some(hasDirectives) ? info.variableValues : {};
    return unitsOfObject(type, fieldNodes, { schema, fragments, variables });
  });
}

/** The units for one object with its selections, but without lists and abstract types: resolvers charge these. */
function unitsOfObject(type: GraphQLObjectType, nodes: readonly FieldNode[], selections: Selections): number {
  const { schema, fragments, variables } = selections;
  let collected: ReadonlyMap<string, readonly FieldNode[]>;
  try {
    collected = collectSubfields(schema, fragments, variables, type, nodes);
  } catch {
    // A variable of @skip or @include is null: execution fails with the same error.
    return ERROR_UNITS;
  }
  let sum = 0;
  for (const nodesOfField of collected.values()) {
    const name = nodesOfField[0]?.name.value ?? '';
    const field = type.getFields()[name] ?? INTROSPECTION.get(name);
    const nullable = field && getNullableType(field.type);
    const isIntrospected = field !== undefined && isIntrospectionType(getNamedType(field.type));
    const below = isIntrospected ? getNamedType(field.type) : nullable;
    const units = isObjectType(below) ? unitsOfObject(below, nodesOfField, selections) : 0;
    sum += 1 + units * (isIntrospected && isListType(nullable) ? INTROSPECTION_ROWS : 1);
  }
  return sum;
}

/** Units for one token with its chain and all fields except lists. */
const unitsOfWholeToken = memoized((schema: GraphQLSchema) =>
  unitsOfWholeObject(schema.getType('Token') as GraphQLObjectType),
);

function unitsOfWholeObject(type: GraphQLObjectType): number {
  // `__typename`, which caching clients add to each object.
  let units = 1;
  for (const field of Object.values(type.getFields())) {
    const below = getNullableType(field.type);
    if (isObjectType(below)) units += 1 + unitsOfWholeObject(below);
    // `heldBack` is a list, but empty for nearly all rows.
    else if (!isListType(below) || field.name === 'heldBack') units += 1;
  }
  return units;
}

/** Units for a search: one for each row, and one more for each row and word. Measured with 10,000 tokens. */
export function searchUnits(rows: number, query: string): number {
  // Folded first, as the search does: folding can make several words of one character.
  return rows * (1 + foldText(query).split(PUNCTUATION).filter(Boolean).length);
}

/** An address of at most this length costs no units of its own. Hex addresses have up to 66 characters. */
const MAX_USUAL_ADDRESS = 100;
/** A unit is for this many further characters: a type of Move can have a hundred addresses, and all of them are folded. */
const CHARACTERS_OF_UNIT = 4;

/** Units for looking up an address. A text that is too long for an address is not read. */
export function addressUnits({ length }: string): number {
  const further = Math.min(length, MAX_LENGTHS.address) - MAX_USUAL_ADDRESS;
  return Math.max(0, Math.ceil(further / CHARACTERS_OF_UNIT));
}
