/** By the rows, which never change. */
const known = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown>>();

/** The rows by their keys, in their order; made once for the same rows, since keys take long to make. */
export function keyedRows<Row>(rows: readonly Row[], keyOf: (row: Row) => string): ReadonlyMap<string, Row> {
  const made =
    (known.get(rows) as ReadonlyMap<string, Row> | undefined) ??
    new Map(rows.map((row) => [keyOf(row), row]));
  known.set(rows, made);
  return made;
}

/** Remembers what was made while the rows were read. */
export function keepKeyedRows<Row>(rows: readonly Row[], keyed: ReadonlyMap<string, Row>): void {
  known.set(rows, keyed);
}
