/** Plans of queries: functions that write their JSON. */
import {
  type DocumentNode,
  defaultFieldResolver,
  defaultTypeResolver,
  type FieldNode,
  type GraphQLAbstractType,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLOutputType,
  type GraphQLResolveInfo,
  type GraphQLSchema,
  getArgumentValues,
  getNullableType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql';
// Not exported by graphql's index. graphql's executor merges selections with this function, so plans use it, too.
import { collectSubfields } from 'graphql/execution/collectFields.js';
import { type Fragments, fragmentsOf } from './documents.js';
import { assertSynchronous, type Execution, fallBack, type Write } from './execution.js';
import { leafJsonOf } from './json.js';
import type { Variables } from './variables.js';

/** One field in a document: its selections, and how to make its `info`. */
interface FieldPlace {
  readonly nodes: readonly FieldNode[];
  readonly infoOf: (execution: Execution) => GraphQLResolveInfo;
}

const NO_ARGUMENTS: Variables = Object.freeze({});
/** Estimated bytes of a plan in memory, and of each of its fields. */
const BYTES_OF_PLAN = 2_000;
const BYTES_OF_FIELD = 1_000;

/** Calls resolvers as graphql-js does, and falls back where it cannot simply write a value. */
export class Plan {
  private readonly fragments: Fragments;
  private readonly root: Write;

  constructor(
    private readonly schema: GraphQLSchema,
    document: DocumentNode,
    private readonly operation: OperationDefinitionNode,
    private readonly memory: Memory,
  ) {
    memory.bytes += BYTES_OF_PLAN;
    this.fragments = fragmentsOf(document);
    // The cast is safe: only the selections of the node are read.
    this.root = this.fields(schema.getQueryType() as GraphQLObjectType, [operation as unknown as FieldNode]);
  }

  /**
   * Writes the whole response body, in parts that must not be changed; undefined if graphql-js has to execute the
   * operation. All executions of a plan must have the same values of the variables of `@skip` and `@include`.
   */
  write(execution: Execution): readonly Buffer[] | undefined {
    try {
      execution.text = '{"data":';
      this.root(undefined, execution);
      execution.text += '}';
      return execution.finish();
    } catch {
      return undefined;
    }
  }

  /** Plans the fields of a type when its first object is written, since there may be no object. */
  private fields(type: GraphQLObjectType, nodes: readonly FieldNode[]): Write {
    let writes: readonly Write[] | undefined;
    const plan = (variables: Variables) => {
      const collected = collectSubfields(this.schema, this.fragments, variables, type, nodes);
      const planned = [...collected].map(([key, ofKey], nth) =>
        this.field(type, `${nth === 0 ? '{' : ','}"${key}":`, ofKey),
      );
      this.memory.bytes += planned.length * BYTES_OF_FIELD;
      return planned;
    };
    return (source, execution) => {
      // All executions have the same variables of `@skip` and `@include`: see `write`.
      writes ??= plan(execution.variables);
      for (const write of writes) write(source, execution);
      execution.text += writes.length > 0 ? '}' : '{}';
    };
  }

  /** @param start text that is written before the value */
  private field(parent: GraphQLObjectType, start: string, nodes: readonly FieldNode[]): Write {
    const [node] = nodes as readonly [FieldNode, ...FieldNode[]];
    const name = node.name.value;
    if (name === '__typename') {
      return (_source, execution) => {
        execution.text += `${start}"${parent.name}"`;
      };
    }
    const field = parent.getFields()[name];
    // Only the introspection fields `__schema` and `__type` are not among the fields of a type.
    if (!field) return fallBack();
    const { args, type, resolve = defaultFieldResolver } = field;
    const { schema, fragments, operation } = this;
    const infoOf = (execution: Execution) =>
      new Info(execution, schema, fragments, operation, parent, name, type, nodes);
    const write = this.value(type, { nodes, infoOf });
    if (resolve === defaultFieldResolver && args.length === 0) {
      // Not the default resolver, which calls functions: here they fall back.
      return (source, execution) => {
        execution.text += start;
        write(typeof source === 'object' ? (source as Variables | null)?.[name] : undefined, execution);
      };
    }
    const argumentsIn = argumentsOf(field, node);
    return (source, execution) => {
      execution.text += start;
      const info = infoOf(execution);
      write(resolve(source, argumentsIn(execution), execution.context, info), execution);
    };
  }

  private value(type: GraphQLOutputType, place: FieldPlace): Write {
    const isNonNull = isNonNullType(type);
    const write = this.valueNotNull(getNullableType(type), place);
    return (value, execution) => {
      if (value !== null && value !== undefined) write(value, execution);
      else if (isNonNull) fallBack();
      else execution.text += 'null';
    };
  }

  private valueNotNull(type: GraphQLOutputType, place: FieldPlace): Write {
    if (isListType(type)) return withKeptJson(this.list(type.ofType, place), this.memory);
    if (isObjectType(type)) return withKeptJson(this.object(type, place), this.memory);
    if (!isLeafType(type)) return this.abstract(type as GraphQLAbstractType, place);
    const jsonOf = leafJsonOf(type);
    return (value, execution) => {
      execution.text += jsonOf(value);
    };
  }

  private list(itemType: GraphQLOutputType, place: FieldPlace): Write {
    const writeItem = this.value(itemType, place);
    return (value, execution) => {
      // Anything but a plain array, such as a promise, is left to graphql-js.
      if (!Array.isArray(value) || value[Symbol.iterator] !== Array.prototype[Symbol.iterator])
        return fallBack(value);
      const list: readonly unknown[] = value;
      try {
        execution.text += '[';
        for (let index = 0; index < list.length; index++) {
          if (index > 0) execution.text += ',';
          writeItem(list[index], execution);
          execution.flushIfLong();
        }
        execution.text += ']';
      } catch {
        fallBack(list);
      }
    };
  }

  private object(type: GraphQLObjectType, { nodes }: FieldPlace): Write {
    // No type of the graph has `isTypeOf`.
    if (type.isTypeOf) return fallBack;
    const write = this.fields(type, nodes);
    return (value, execution) => {
      assertSynchronous(value);
      write(value, execution);
    };
  }

  private abstract(type: GraphQLAbstractType, place: FieldPlace): Write {
    const resolveType = type.resolveType ?? defaultTypeResolver;
    const writes = new Map<unknown, Write>();
    return (value, execution) => {
      assertSynchronous(value);
      const name: unknown = resolveType(value, execution.context, place.infoOf(execution), type);
      let write = writes.get(name);
      if (!write) {
        const named = typeof name === 'string' ? this.schema.getType(name) : undefined;
        if (!isObjectType(named) || !this.schema.isSubType(type, named)) return fallBack(name);
        write = this.valueNotNull(named, place);
        writes.set(name, write);
      }
      write(value, execution);
    };
  }
}

/** Reads the arguments of a field as getArgumentValues does; faster if all arguments are variables. */
function argumentsOf(field: GraphQLField<unknown, unknown>, node: FieldNode) {
  if (field.args.length === 0) return () => NO_ARGUMENTS;
  const withDefault = field.args.filter(({ defaultValue }) => defaultValue !== undefined);
  const defaults = Object.fromEntries(withDefault.map(({ name, defaultValue }) => [name, defaultValue]));
  const given = (node.arguments ?? []).map(
    ({ name, value }) => [name.value, value.kind === Kind.VARIABLE ? value.name.value : undefined] as const,
  );
  return (execution: Execution): Variables => {
    execution.usesVariables = true;
    const { variables } = execution;
    const values: Record<string, unknown> = { ...defaults };
    for (const [name, variable] of given) {
      const isSet = variable !== undefined && Object.hasOwn(variables, variable);
      const value = isSet ? variables[variable] : undefined;
      if (value === undefined || value === null) return getArgumentValues(field, node, variables);
      values[name] = value;
    }
    return values;
  };
}

/** The fourth argument of a resolver. A class, since an object literal with getters takes ten times as long to make. */
class Info implements GraphQLResolveInfo {
  readonly rootValue = undefined;

  constructor(
    private readonly execution: Execution,
    readonly schema: GraphQLSchema,
    readonly fragments: Fragments,
    readonly operation: OperationDefinitionNode,
    readonly parentType: GraphQLObjectType,
    readonly fieldName: string,
    readonly returnType: GraphQLOutputType,
    readonly fieldNodes: readonly FieldNode[],
  ) {}

  get path(): never {
    return fallBack();
  }

  get variableValues() {
    this.execution.usesVariables = true;
    return this.execution.variables as Record<string, unknown>;
  }
}

/** The memory of plans and of their kept JSON. Beyond `maxBytes` all plans are dropped. */
export interface Memory {
  /** Includes kept JSON of rows that no longer exist. */
  bytes: number;
  readonly maxBytes: number;
}

/** Estimated bytes that are kept for a value besides its JSON. */
const BYTES_OF_ENTRY = 150;
/** A value whose JSON takes more than this share of `maxBytes` is not kept as a whole. */
const MAX_SHARE = 1 / 4;

/**
 * Keeps the JSON of rows and lists of snapshots, which are frozen and never change, with everything else that was read to
 * write it. A later operation with the same selections uses the JSON if it would read equal data. This is correct by two
 * rules: a frozen value is frozen with everything in it, and resolvers read everything else through the context, which
 * tracks it.
 */
function withKeptJson(write: Write, memory: Memory): Write {
  /** The kept JSON of rows and lists, freed with them. The map is made when needed: most plans are used only once. */
  let known: WeakMap<object, { readonly json: string | Buffer; readonly reads: object }> | undefined;
  /** True once JSON of this field could not be kept, or was too large. Then only values inside are kept. */
  let isGivenUp = false;

  return (value, execution) => {
    const { tracker } = execution;
    const before = tracker && known?.get(value as object);
    if (before && tracker.repeat(before.reads)) {
      execution.append(before.json);
    } else if (!tracker || isGivenUp || memory.bytes > memory.maxBytes || !isFrozen(value)) {
      write(value, execution);
    } else {
      const { json, bytes, reads } = execution.track(tracker, write, value);
      execution.append(json);
      isGivenUp = !reads || bytes > memory.maxBytes * MAX_SHARE;
      if (!reads || isGivenUp) return;
      known ??= new WeakMap();
      known.set(value, { json, reads });
      memory.bytes += bytes + BYTES_OF_ENTRY;
    }
  };
}

function isFrozen(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.isFrozen(value);
}
