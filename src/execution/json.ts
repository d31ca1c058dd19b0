/** Writes and measures JSON. */
import { GraphQLID, type GraphQLLeafType, GraphQLString } from 'graphql';
import { fallBack } from './execution.js';

/** Characters that JSON.stringify may escape: controls, quotes, backslashes, and surrogates. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: it looks for control characters.
const ESCAPED = /[\u0000-\u001f"\\\ud800-\udfff]/;

/** Gives the same as JSON.stringify of a string, at less cost. */
export function quote(text: string): string {
  return ESCAPED.test(text) ? JSON.stringify(text) : `"${text}"`;
}

/** For non-null values. Falls back for objects and functions, and if serializing gives no text, boolean or finite number. */
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

/** Whether the JSON of an execution result would have more than `max` bytes, without making that JSON. */
export function exceedsBytes(result: unknown, max: number): boolean {
  let bytes = 0;

  function add(value: unknown): void {
    if (typeof value === 'string') bytes += Buffer.byteLength(quote(value));
    else if (typeof value !== 'object' || value === null) bytes += String(value).length;
    else if (Array.isArray(value)) {
      bytes += 1 + Math.max(1, value.length);
      for (let index = 0; index < value.length && bytes <= max; index++) add(value[index]);
    } else {
      const names = Object.keys(value);
      bytes += 1 + Math.max(1, names.length);
      for (const name of names) {
        if (bytes > max) return;
        // Plus two quotes and a colon.
        bytes += name.length + 3;
        add((value as Readonly<Record<string, unknown>>)[name]);
      }
    }
  }

  add(result);
  return bytes > max;
}
