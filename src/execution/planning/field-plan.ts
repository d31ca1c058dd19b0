import {
  defaultFieldResolver,
  type GraphQLField,
  type GraphQLObjectType,
  type GraphQLResolveInfo,
} from 'graphql';
import { isFromListings, isFromRowOnly } from '../../domain/row-fields.js';
import { ABANDONED } from '../writing/abandon.js';
import type { Run } from '../writing/run.js';
import { planArguments } from './arguments.js';
import type { FieldNodes } from './collect-fields.js';
import { createResolveInfo, type PlannedOperation } from './resolve-info.js';

/** Gives what the resolver of a field returns for an object. */
export type Read = (source: unknown, run: Run) => unknown;

/** How a field gets its value. */
export interface FieldRead {
  readonly read: Read;
  /** The property that is read; undefined if the field has a resolver or arguments. */
  readonly property: string | undefined;
  /** Whether the value depends on nothing but the source, if that is a row. */
  readonly isFromRowOnly: boolean;
  /** Whether it has a resolver, and that says that the value comes from the listings alone. */
  readonly isFromListings: boolean;
  /** The same object at each call. */
  readonly info: () => GraphQLResolveInfo;
}

/** @throws GraphQLError for constant arguments that are invalid */
export function planRead(
  operation: PlannedOperation,
  parentType: GraphQLObjectType,
  field: GraphQLField<unknown, unknown>,
  nodes: FieldNodes,
  nextSlot: () => number,
): FieldRead {
  let made: GraphQLResolveInfo | undefined;
  const info = () => {
    made ??= createResolveInfo(operation, parentType, field, nodes);
    return made;
  };
  const { name } = field;
  const resolve = field.resolve ?? defaultFieldResolver;
  if (resolve === defaultFieldResolver && field.args.length === 0) {
    const read: Read = (source) => propertyOf(source, name);
    return { read, property: name, isFromRowOnly: true, isFromListings: false, info };
  }
  const { args, extensions } = field;
  const argumentsOf = planArguments(field, nodes[0], nextSlot);
  return {
    read: (source, run) => resolve(source, argumentsOf(run), run.context, info()),
    property: undefined,
    isFromRowOnly: args.length === 0 && isFromRowOnly(extensions),
    isFromListings: args.length === 0 && isFromListings(extensions),
    info,
  };
}

/** What graphql-js's default resolver returns. */
function propertyOf(source: unknown, name: string): unknown {
  if (typeof source !== 'object') {
    if (typeof source === 'function') throw ABANDONED;
    return undefined;
  }
  const value = (source as Record<string, unknown> | null)?.[name];
  // The default resolver would call it.
  if (typeof value === 'function') throw ABANDONED;
  return value;
}
