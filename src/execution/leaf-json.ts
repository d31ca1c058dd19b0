import { GraphQLID, type GraphQLLeafType, GraphQLString } from 'graphql';
import { fallBack } from './execution.js';

/** What JSON.stringify may escape: controls, quotes, backslashes, and surrogates without a partner. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what it looks for.
const ESCAPED = /[\u0000-\u001f"\\\ud800-\udfff]/;

/** The same as JSON.stringify of a string, which costs more. */
export function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** Gives the JSON of values of a scalar or enum that are not null. Only texts, numbers and booleans are known. */
export function leafJsonOf(type: GraphQLLeafType): (value: unknown) => string {
  const isText = type === GraphQLString || type === GraphQLID;
  return (value) => {
    if (isText && typeof value === 'string') return quote(value);
    if (typeof value === 'object' || typeof value === 'function') fallBack(value);
    const result: unknown = type.serialize(value);
    if (typeof result === 'string') return quote(result);
    if (typeof result === 'boolean' || Number.isFinite(result)) return `${result}`;
    return fallBack(result);
  };
}
