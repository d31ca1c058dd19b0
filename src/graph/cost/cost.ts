/**
 * The cost of an operation in units: each field of each object counts 1, and each row of a list 1 more. A unit is
 * about a third of a microsecond of CPU time, whatever the field.
 */

/** How many rows of a field are of each chain, by `chainKey`. Rows whose chain is not known count for `''`. */
export type RowsByChain = ReadonlyMap<string, number>;

/** What the cost of a field is told from. */
export interface CostInput {
  /** The field's arguments, coerced and with their defaults. */
  readonly args: Readonly<Record<string, unknown>>;
  /** The whole chain listing; none before there is a snapshot. */
  chains(): RowsByChain;
  /** The whole token listing; none before there is a snapshot. */
  tokens(): RowsByChain;
  /** The objects that the field is asked of. */
  readonly parents: RowsByChain;
}

/** The cost of a field whose rows are not simply those of its parents. It stands in the field's `extensions.cost`. */
export interface FieldCost {
  /** The rows that the field gives for all its parents together. */
  readonly rows?: (input: CostInput) => RowsByChain;
  /** The same, by the type of the rows, where the field's own type is an interface or a union. */
  readonly rowsByType?: (input: CostInput) => Readonly<Record<string, RowsByChain>>;
  /** Units that the field costs beside its rows. */
  readonly units?: (input: CostInput) => number;
}

/** Units for the routes of one token that are not at hand: they cost the upstream a request. */
export const ROUTE_UNITS = 1_000;

/** No rows. Also for fields whose resolver counts its rows when it has them. */
export const NO_ROWS: RowsByChain = new Map();

/** The `extensions` of a field with this cost. */
export function withCost(cost: FieldCost): { readonly cost: FieldCost } {
  return { cost };
}

/** The rows with these chain keys, of which each may come more than once. */
export function countByChain(chainKeys: Iterable<string>): RowsByChain {
  const rows = new Map<string, number>();
  for (const chainKey of chainKeys) rows.set(chainKey, (rows.get(chainKey) ?? 0) + 1);
  return rows;
}

/** How many rows these are in all. */
export function totalRows(rows: RowsByChain): number {
  let count = 0;
  for (const ofChain of rows.values()) count += ofChain;
  return count;
}

/** The listed tokens of each of these chains, for each time that it comes. */
export function tokensOfChains({ parents, tokens }: CostInput): RowsByChain {
  const listed = tokens();
  const rows = new Map<string, number>();
  for (const [chainKey, times] of parents) {
    const ofChain = listed.get(chainKey);
    if (ofChain !== undefined) rows.set(chainKey, times * ofChain);
  }
  return rows;
}

/**
 * Units for a search of so many rows: it looks at each of them once, and once for each word. Found by measuring
 * searches of one to eight words over 10,000 tokens.
 */
export function searchUnits(rows: number, query: unknown): number {
  const words = typeof query === 'string' ? query.split(/[^\p{L}\p{N}]+/u).filter(Boolean).length : 0;
  return rows * (1 + words);
}
