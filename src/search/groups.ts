/** Row numbers by the value that these rows share. */
export type RowGroups = ReadonlyMap<string, readonly number[]>;

/** Groups rows by value. @param values the value of each row, by row number */
export function groupRows(values: readonly string[]): RowGroups {
  const groups = new Map<string, number[]>();
  for (const [row, value] of values.entries()) {
    const group = groups.get(value);
    if (group) group.push(row);
    else groups.set(value, [row]);
  }
  return groups;
}
