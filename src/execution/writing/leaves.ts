import {
  GraphQLBoolean,
  type GraphQLEnumType,
  GraphQLFloat,
  GraphQLID,
  GraphQLInt,
  type GraphQLLeafType,
  GraphQLString,
  isEnumType,
} from 'graphql';
import { ABANDONED, assertPlain } from './abandon.js';

/** JSON of a value that is not null. It throws where graphql-js would report an error. */
export type LeafText = (value: unknown) => string;

/** What JSON.stringify may escape: controls, quotes, backslashes, and surrogates without a partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what it looks for.
const ESCAPED = /[\u0000-\u001f"\\\ud800-\udfff]/;

/** The same as JSON.stringify of a string, which costs more. */
export function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** The JSON of leaf values. Usual values of the built-in types and of enums are written directly. */
export function leafTextOf(type: GraphQLLeafType): LeafText {
  switch (type) {
    case GraphQLString:
      return (value) => (typeof value === 'string' ? quote(value) : serialized(GraphQLString, value));
    case GraphQLID:
      return (value) => (typeof value === 'string' ? quote(value) : serialized(GraphQLID, value));
    case GraphQLInt:
      return (value) =>
        typeof value === 'number' && (value | 0) === value ? `${value}` : serialized(GraphQLInt, value);
    case GraphQLFloat:
      return (value) => (Number.isFinite(value) ? `${value}` : serialized(GraphQLFloat, value));
    case GraphQLBoolean:
      return (value) => (typeof value === 'boolean' ? `${value}` : serialized(GraphQLBoolean, value));
    default:
      return isEnumType(type) ? enumTextOf(type) : (value) => serialized(type, value);
  }
}

/** Whether equal values of the type always have equal JSON. Other scalars may look at a clock. */
export function isPure(type: GraphQLLeafType): boolean {
  return (
    isEnumType(type) ||
    type === GraphQLString ||
    type === GraphQLID ||
    type === GraphQLInt ||
    type === GraphQLFloat ||
    type === GraphQLBoolean
  );
}

const enumTexts = new WeakMap<GraphQLEnumType, LeafText>();

function enumTextOf(type: GraphQLEnumType): LeafText {
  const known = enumTexts.get(type);
  if (known) return known;
  const names = new Map<unknown, string>();
  for (const { name, value } of type.getValues())
    if (typeof value === 'string') names.set(value, `"${name}"`);
  const text = (value: unknown) => names.get(value) ?? serialized(type, value);
  enumTexts.set(type, text);
  return text;
}

function serialized(type: GraphQLLeafType, value: unknown): string {
  // A custom scalar may serialise a function.
  if (typeof value === 'object' || (value as { then?: unknown }).then !== undefined) assertPlain(value);
  return jsonOf(type.serialize(value));
}

/** JSON of the result of `serialize`, as JSON.stringify would write it as a member of an object. */
function jsonOf(result: unknown): string {
  switch (typeof result) {
    case 'string':
      return quote(result);
    case 'boolean':
      return `${result}`;
    case 'number':
      return Number.isFinite(result) ? `${result}` : 'null';
    case 'object': {
      assertPlain(result);
      // `toJSON` would be told the name of the member.
      if (result === null || 'toJSON' in result) throw ABANDONED;
      const json: string | undefined = JSON.stringify(result);
      if (json === undefined) throw ABANDONED;
      return json;
    }
    default:
      // Undefined and bigints are errors; functions and symbols would be left out of the answer.
      throw ABANDONED;
  }
}
