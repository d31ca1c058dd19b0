/** Finds rows by key or by group. */

/** By array of rows: the map that was made from it. Arrays of rows are frozen, so each map stays correct. */
const cached = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown>>();

/** The rows by key, in their order. Making keys is slow, so the map is cached for each array of rows. */
export function keyedRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string): ReadonlyMap<string, Row> {
  const known = cached.get(rows) as ReadonlyMap<string, Row> | undefined;
  if (known) return known;
  const keyed = new Map(rows.map((row) => [keyOf(row), row]));
  cached.set(rows, keyed);
  return keyed;
}

export function groupBy<Item, Group>(items: Iterable<Item>, groupOf: (item: Item) => Group) {
  const groups = new Map<Group, Item[]>();
  for (const item of items) append(groups, groupOf(item), item);
  return groups;
}

export function append<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
