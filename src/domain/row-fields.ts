/**
 * The `extensions` of a field whose resolver looks at nothing but its row: neither at the context nor at a clock. Its
 * JSON is kept with the row, so the resolver must give equal rows equal values of a built-in scalar type.
 */
export const FROM_ROW_ONLY = { fromRowOnly: true } as const;

/** Whether the extensions of a field say that its resolver looks at nothing but its row. */
export function isFromRowOnly(extensions: object): boolean {
  return (extensions as Partial<typeof FROM_ROW_ONLY>).fromRowOnly === true;
}
