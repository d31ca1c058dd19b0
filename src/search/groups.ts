/** The numbers of the rows that have each of these values, by the value. */
export type RowGroups = ReadonlyMap<string, readonly number[]>;

/** Groups rows by their values, of which each row has one. */
export function groupRows(values: readonly string[]): RowGroups {
  const groups = new Map<string, number[]>();
  for (const [row, value] of values.entries()) {
    const group = groups.get(value);
    if (group) group.push(row);
    else groups.set(value, [row]);
  }
  return groups;
}
