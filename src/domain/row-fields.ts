/**
 * The `extensions` of a field whose resolver looks at nothing but its row: neither at the context nor at a clock. Its
 * JSON is kept with the row, so the resolver must give equal rows equal values of a built-in scalar type.
 */
export const FROM_ROW_ONLY = { fromRowOnly: true } as const;

/** Whether the extensions of a field say that its resolver looks at nothing but its row. */
export function isFromRowOnly(extensions: object): boolean {
  return (extensions as Partial<typeof FROM_ROW_ONLY>).fromRowOnly === true;
}

/**
 * The `extensions` of a field whose value comes from its row, from the snapshots of the operation and from whether
 * prices are fresh, and from nothing else. Its resolver notes what it reads beside the row, and gives frozen rows or
 * values. JSON of whole lists with such fields is kept, together with what was noted.
 */
export const FROM_LISTINGS = { fromListings: true } as const;

/** Whether the extensions of a field say that its value comes from the listings alone. */
export function isFromListings(extensions: object): boolean {
  return (extensions as Partial<typeof FROM_LISTINGS>).fromListings === true;
}
