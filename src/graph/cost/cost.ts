import { foldChainKey } from '../../domain/addresses.js';
import { MAX_CONDITIONS, TEXT_LIMITS } from '../../domain/text-limits.js';

/*
 * Cost: how much CPU time an operation takes, in units of about a third of a microsecond. Each field of each
 * object counts 1 unit, and each row of a list 1 more. Fields that do more than that say so by a FieldCost, which
 * stands beside their resolver. operation-cost.ts adds up a whole operation; cost-meter.ts holds it to the limits.
 */

/** The cost of an operation, or of a part of it. */
export interface Cost {
  units: number;
  /** Rows of all lists of objects. */
  rows: number;
  /** Of the response, at the least: its names, without its values. */
  bytes: number;
}

/** Numbers of rows by `chainKey`, since `Chain.tokens` is of another length for each chain. Unknown chains count as `''`. */
export type RowsByChain = ReadonlyMap<string, number>;

/** What costs depend on in the two listings. */
export interface ListingSizes {
  /** All listed chains; empty before there is a snapshot. */
  chains(): RowsByChain;
  /** All listed tokens; empty before there is a snapshot. */
  tokens(): RowsByChain;
  /** The `chainKey` of the listed chain with this CAIP-2 identifier; `''` if there is none. */
  chainKeyOfCaip2(caip2: string): string;
  /** Whether an operation of this cost is refused, so that nothing more of it needs to be counted. */
  isTooMuch(cost: Cost): boolean;
}

/** What the cost of a field is computed from. */
export interface CostInput {
  /** The field's arguments, coerced and with defaults. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly sizes: ListingSizes;
  /** The objects on which the field is selected. */
  readonly parents: RowsByChain;
}

/**
 * The cost of a field that gives a list or does work of its own, in the field's `extensions.cost`. A field
 * without one gives each parent one value.
 */
export interface FieldCost {
  /** The rows of the field, for all parents together. */
  readonly rows?: (input: CostInput) => RowsByChain;
  /** In place of `rows` where the field's type is an interface or a union: the rows by object type. */
  readonly rowsByType?: (input: CostInput) => Readonly<Record<string, RowsByChain>>;
  /** Units in addition to those of the rows. */
  readonly units?: (input: CostInput) => number;
  /**
   * True for a field that may ask the upstream while an operation runs: for routes, once for each distinct token. All
   * other fields are read from the snapshots.
   */
  readonly asksUpstream?: true;
}

/** Units for the routes of one token that are not cached: they cost the upstream a request. */
export const ROUTE_UNITS = 1_000;

/** For a field whose resolver counts its rows itself, by `CostMeter.admitRows`; else no rows. */
export const NO_ROWS: RowsByChain = new Map();

/**
 * For a list that is empty for nearly all parents, and short for the others. Its resolver counts its rows, by
 * `CostMeter.countRows`.
 */
export const RARE_ROWS: FieldCost = { rows: () => NO_ROWS };

/** Makes the `extensions` of a field. */
export function withCost(cost: FieldCost): { readonly cost: FieldCost } {
  return { cost };
}

/** Whether a field with these `extensions` may ask the upstream while an operation runs. */
export function mayAskUpstream({ cost }: { readonly cost?: FieldCost }): boolean {
  return cost?.asksUpstream === true;
}

/** Counts rows, given as their chain keys. */
export function countByChain(chainKeys: Iterable<string>): RowsByChain {
  const rows = new Map<string, number>();
  for (const chainKey of chainKeys) rows.set(chainKey, (rows.get(chainKey) ?? 0) + 1);
  return rows;
}

/**
 * Counts rows that are looked up, one for each key of a list. If there are too many, no key is read: the operation is
 * refused.
 */
export function countLookUps<Key>(
  keys: unknown,
  sizes: ListingSizes,
  chainKeyOf: (key: Key) => string,
): RowsByChain {
  const list = Array.isArray(keys) ? (keys as readonly Key[]) : [];
  if (sizes.isTooMuch({ units: 0, rows: list.length, bytes: 0 })) return new Map([['', list.length]]);
  return countByChain(list.map(chainKeyOf));
}

export function totalRows(rows: RowsByChain): number {
  let count = 0;
  for (const ofChain of rows.values()) count += ofChain;
  return count;
}

/** The rows of `tokens` on parents that are chains; a chain that is there twice counts twice. */
export function tokensOfChains({ parents, sizes }: Pick<CostInput, 'parents' | 'sizes'>): RowsByChain {
  const listed = sizes.tokens();
  const rows = new Map<string, number>();
  for (const [chainKey, times] of parents) {
    const ofChain = listed.get(foldChainKey(chainKey));
    if (ofChain !== undefined) rows.set(chainKey, times * ofChain);
  }
  return rows;
}

/**
 * Units for a search over this many rows: one for each row, and one more for each word. Measured with searches of
 * one to eight words over 10,000 tokens. A query beyond its limit is refused, and costs as if it had no words.
 */
export function searchUnits(rows: number, query: unknown): number {
  if (typeof query !== 'string' || query.length > TEXT_LIMITS.search) return rows;
  return rows * (1 + query.split(/[^\p{L}\p{N}]+/u).filter(Boolean).length);
}

/** Units for folding these texts: one for each character, as combining marks take. Too many texts are refused. */
export function foldingUnits(texts: unknown): number {
  if (!Array.isArray(texts) || texts.length > MAX_CONDITIONS) return 0;
  return (texts as readonly string[]).reduce((units, { length }) => units + length, 0);
}

/** Units for reading these ids, once to count rows and once to look them up. */
export function idUnits(ids: number): number {
  return 6 * ids;
}
