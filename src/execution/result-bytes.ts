import { quote } from './leaf-json.js';

/** Whether the JSON of an execution result takes more bytes than this. It makes no JSON, and stops at the limit. */
export function exceedsBytes(result: unknown, max: number): boolean {
  let bytes = 0;

  function add(value: unknown): void {
    if (typeof value === 'string') bytes += Buffer.byteLength(quote(value));
    else if (typeof value !== 'object' || value === null) bytes += String(value).length;
    else if (Array.isArray(value)) addItems(value);
    else addMembers(value as Readonly<Record<string, unknown>>);
  }

  function addItems(items: readonly unknown[]): void {
    bytes += 1 + Math.max(1, items.length);
    for (let index = 0; index < items.length && bytes <= max; index++) add(items[index]);
  }

  function addMembers(members: Readonly<Record<string, unknown>>): void {
    const names = Object.keys(members);
    bytes += names.length > 0 ? 1 : 2;
    for (const name of names) {
      if (bytes > max) return;
      // Quotes, a colon, and the comma or brace behind the value.
      bytes += name.length + 4;
      add(members[name]);
    }
  }

  add(result);
  return bytes > max;
}
