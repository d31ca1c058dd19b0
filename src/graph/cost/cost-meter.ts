import type { DocumentNode, GraphQLResolveInfo, GraphQLSchema, OperationDefinitionNode } from 'graphql';
import { OperationLimitError } from '../../domain/errors.js';
import type { View } from '../../snapshots/snapshots.js';
import { NO_ROWS, type RowsByChain, totalRows } from './cost.js';
import { type Cost, costOfOperation, costOfRows, fragmentsOf, type ListingSizes } from './operation-cost.js';

/** Limits on the cost of one operation, and the state of the world that it reads. */
export interface CostMeterOptions {
  readonly view: View;
  /** In units, see cost.ts. */
  readonly maxCost: number;
  /** Rows of all lists together. */
  readonly maxRows: number;
  /** Units for one token with every field and its chain: a whole listing of these is always within the limit. */
  readonly unitsOfWholeToken: number;
  /** Waits for a turn; to be called after waiting for a listing, which resumes many operations at once. */
  readonly nextTurn: () => Promise<void>;
}

/** An operation that is about to be executed. */
export interface MeteredOperation {
  readonly schema: GraphQLSchema;
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  /** Coerced. */
  readonly variables: Readonly<Record<string, unknown>>;
}

/** Counts what one operation costs, before it is executed and while it runs. Make a new one for every operation. */
export interface CostMeter {
  /**
   * Counts what can be told before execution. Waits only for listings that there is no snapshot of yet.
   *
   * @throws OperationLimitError at once or by rejection
   */
  admitOperation(metered: MeteredOperation): Promise<void> | undefined;
  /**
   * Counts rows that a resolver has just got, with all that is selected of them.
   *
   * @returns false once the operation has gone beyond a limit: none of its data is shown, so its lists may as
   *   well be empty
   * @throws OperationLimitError the first time
   */
  admitRows(rows: RowsByChain, info: GraphQLResolveInfo): boolean;
  /**
   * Counts units that belong to no rows.
   *
   * @throws OperationLimitError
   */
  spend(units: number): void;
}

type ListingName = 'chains' | 'tokens';

/** Makes the meter of one operation. */
export function createCostMeter(options: CostMeterOptions): CostMeter {
  const { view, maxCost, maxRows, unitsOfWholeToken, nextTurn } = options;
  const total: Cost = { units: 0, rows: 0 };
  const missing = new Set<ListingName>();
  const sizes: ListingSizes = {
    chains: () => sizeOf('chains'),
    tokens: () => sizeOf('tokens'),
  };

  function sizeOf(name: ListingName): RowsByChain {
    const snapshot = view.untracked()[name];
    if (!snapshot) missing.add(name);
    return snapshot?.rowsByChain ?? NO_ROWS;
  }

  function isWithin(): boolean {
    return total.rows <= maxRows && total.units <= limit();
  }

  /** One whole token listing always fits, whatever its size. */
  function limit(): number {
    return Math.max(maxCost, 1 + totalRows(sizes.tokens()) * (1 + unitsOfWholeToken));
  }

  function add({ units, rows }: Cost): void {
    total.units += units;
    total.rows += rows;
    if (!isWithin()) throw total.rows > maxRows ? tooManyRows(maxRows, total) : tooExpensive(limit(), total);
  }

  return {
    admitOperation({ schema, document, operation, variables }) {
      const costed = { schema, fragments: fragmentsOf(document), variables };
      const cost = costOfOperation(operation, costed, sizes);
      if (missing.size > 0) {
        return view
          .arrival([...missing])
          .then(nextTurn)
          .then(() => add(costOfOperation(operation, costed, sizes)));
      }
      add(cost);
      return undefined;
    },
    admitRows(rows, info) {
      if (!isWithin()) return false;
      add(costOfRows(rows, info, sizes));
      return true;
    },
    spend(units) {
      if (isWithin()) add({ units, rows: 0 });
    },
  };
}

function tooExpensive(limit: number, { units }: Cost): OperationLimitError {
  return new OperationLimitError(
    'LIMIT_EXCEEDED',
    `An operation may cost at most ${limit} units (MAX_COST); this one costs ${units}. Ask for fewer rows or fields at a time: each field of each row is a unit, and a search counts the listed tokens once for each word and once more.`,
  );
}

function tooManyRows(limit: number, { rows }: Cost): OperationLimitError {
  return new OperationLimitError(
    'LIMIT_EXCEEDED',
    `The lists of an operation may come to at most ${limit} rows in all (MAX_ROWS); these come to ${rows}. Nest fewer lists in each other, or ask for fewer at a time.`,
  );
}
