import type { GraphQLResolveInfo } from 'graphql';
import { OperationLimitError, responseTooLong } from '../../domain/errors.js';
import { MIN_RESPONSE_LIMIT } from '../../domain/text-limits.js';
import type { ListingName } from '../../snapshots/freshness.js';
import type { View } from '../../snapshots/view/operation-view.js';
import { type Cost, countByChain, type ListingSizes, NO_ROWS, type RowsByChain, totalRows } from './cost.js';
import { costOfOperation, costOfRows, type MeteredOperation } from './operation-cost.js';

export interface CostMeterOptions {
  /** The snapshots that the operation reads. */
  readonly view: View;
  /** Limit on CPU time, in the units of cost.ts. It grows with the token listing, which always fits whole. */
  readonly maxCost: number;
  /** Limit on the rows of all lists together, and so on the size of the response. It never grows. */
  readonly maxRows: number;
  /** Units for one token with every field and its chain. */
  readonly unitsOfWholeToken: number;
  /** Limit on the bytes of the response, at the present size of the token listing. */
  readonly maxResponseBytes: () => number;
  /** Waits for a turn. Called after waiting for a listing, since its arrival resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
}

/** Adds up the cost of one operation, before and during its execution. Make a new one for every operation. */
export interface CostMeter {
  /** The cost so far. */
  readonly spent: Readonly<Cost>;
  /**
   * Adds the cost that is known before execution. Waits only for a listing that has no snapshot yet.
   *
   * @throws OperationLimitError, or rejects with it
   */
  admitOperation(metered: MeteredOperation): Promise<void> | undefined;
  /**
   * Adds the cost of rows that a resolver has just found, with everything selected on them.
   *
   * @returns the rows; none once the operation is over a limit, since none of its data is shown then
   * @throws OperationLimitError when it goes over a limit
   */
  admitRows<Row extends { readonly chainKey: string }>(
    rows: readonly Row[],
    info: GraphQLResolveInfo,
  ): readonly Row[];
  /**
   * Adds rows whose units do not count: an operation that is near the limit of units must not fail as soon as a fact is
   * held back.
   *
   * @throws OperationLimitError
   */
  countRows(count: number): void;
  /**
   * Adds units that belong to no rows.
   *
   * @throws OperationLimitError
   */
  spend(units: number): void;
  /**
   * Adds what a part of another operation cost, which is used again.
   *
   * @throws OperationLimitError
   */
  add(cost: Readonly<Cost>): void;
}

/** For `tokenChanges` and its four fields, one of which is the list of all tokens. */
const UNITS_AROUND_LIST = 5;

/** Makes the meter of one operation. */
export function createCostMeter(options: CostMeterOptions): CostMeter {
  return new OperationMeter(options);
}

/** A class, since one is made for every operation. */
class OperationMeter implements CostMeter, ListingSizes {
  readonly spent: Cost = { units: 0, rows: 0, bytes: 0 };
  /** Listings whose size was asked for and is not known yet. */
  private missing: Set<ListingName> | undefined;

  constructor(private readonly options: CostMeterOptions) {}

  chains(): RowsByChain {
    return this.sizeOf('chains', this.options.view.untracked().chains);
  }

  tokens(): RowsByChain {
    return this.sizeOf('tokens', this.options.view.untracked().tokens);
  }

  chainKeyOfCaip2(caip2: string): string {
    const { chains } = this.options.view.untracked();
    if (!chains) this.noteMissing('chains');
    return chains?.byCaip2(caip2)?.chainKey ?? '';
  }

  isTooMuch(cost: Cost): boolean {
    const { maxCost, maxRows } = this.options;
    // The limit takes longer to compute than a small operation costs.
    return cost.rows > maxRows || (cost.units > maxCost && cost.units > this.limit()) || this.isTooLong(cost);
  }

  admitOperation(metered: MeteredOperation): Promise<void> | undefined {
    const cost = costOfOperation(metered, this);
    if (this.missing) {
      const { view, nextTurn } = this.options;
      return view
        .arrival([...this.missing])
        .then(nextTurn)
        .then(() => this.add(costOfOperation(metered, this)));
    }
    this.add(cost);
    return undefined;
  }

  admitRows<Row extends { readonly chainKey: string }>(
    rows: readonly Row[],
    info: GraphQLResolveInfo,
  ): readonly Row[] {
    if (this.isTooMuch(this.spent)) return [];
    this.add(costOfRows(countByChain(rows.map(({ chainKey }) => chainKey)), info, this));
    return rows;
  }

  countRows(count: number): void {
    if (count > 0 && !this.isTooMuch(this.spent)) this.add({ units: 0, rows: count, bytes: 0 });
  }

  spend(units: number): void {
    if (!this.isTooMuch(this.spent)) this.add({ units, rows: 0, bytes: 0 });
  }

  private sizeOf(
    name: ListingName,
    snapshot: { readonly rowsByChain: RowsByChain } | undefined,
  ): RowsByChain {
    if (!snapshot) this.noteMissing(name);
    return snapshot?.rowsByChain ?? NO_ROWS;
  }

  private noteMissing(name: ListingName): void {
    this.missing ??= new Set();
    this.missing.add(name);
  }

  /** At least the cost of the whole token listing, whatever its size. */
  private limit(): number {
    const { maxCost, unitsOfWholeToken } = this.options;
    return Math.max(maxCost, UNITS_AROUND_LIST + totalRows(this.tokens()) * (1 + unitsOfWholeToken));
  }

  private isTooLong({ bytes }: Cost): boolean {
    return bytes > MIN_RESPONSE_LIMIT && bytes > this.options.maxResponseBytes();
  }

  add({ units, rows, bytes }: Readonly<Cost>): void {
    const { spent: total } = this;
    const { maxRows } = this.options;
    total.units += units;
    total.rows += rows;
    total.bytes += bytes;
    if (!this.isTooMuch(total)) return;
    if (this.isTooLong(total)) throw responseTooLong(this.options.maxResponseBytes());
    throw new OperationLimitError(
      'LIMIT_EXCEEDED',
      total.rows > maxRows
        ? `The lists of an operation may have at most ${maxRows} rows in all (MAX_ROWS); these have ${total.rows}. Nest fewer lists in each other, or ask for fewer rows at a time.`
        : `An operation may cost at most ${this.limit()} units (MAX_COST); this one costs ${total.units}. Ask for fewer rows or fields at a time: each row is a unit, and so is each field of each row; a search costs a unit for each listed token, and another for each token and word.`,
    );
  }
}
