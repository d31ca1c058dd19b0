import type { Logger } from '../logger.js';
import { keyedRows } from './keyed-rows.js';
import { TOKENS } from './kinds.js';
import type { Token, TokenFilter } from './listing.js';
import type { TokenSnapshot } from './snapshot.js';

/** What {@link createRouteRows} takes. */
export interface RouteRowsOptions {
  /** Called with how many rows of an answer were left out, if any. */
  readonly onConflicts: (count: number) => void;
  readonly log: Logger;
}

/** The rows of an answer as they are served. */
export interface ReconciledRows {
  readonly rows: readonly Token[];
  /** Those of them that the token listing does not have, by their keys. */
  readonly unlisted: ReadonlyMap<string, Token>;
}

/**
 * Makes rows of routes agree with the token listing, so that one answer never holds one token in two forms.
 *
 * A row whose token is listed is served as the listing has it, object for object: symbol, name, price and the
 * rest. A row that gives a listed token other decimals is left out, counted and logged: one of the two is wrong,
 * nobody here can tell which, and whoever calculates an amount with the wrong one loses the money.
 */
export interface RouteRows {
  /** The result is remembered for as long as rows and listing are: equal arguments cost nothing again. */
  reconcile(rows: readonly Token[], listed: TokenSnapshot | undefined, question: TokenFilter): ReconciledRows;
}

/** How many conflicting rows of one answer are named in the log. */
const MAX_NAMED = 5;

/** Makes it; one for all operations. */
export function createRouteRows({ onConflicts, log }: RouteRowsOptions): RouteRows {
  // By the listing first: kept routes can outlive many listings, and must not hold them in memory.
  const remembered = new WeakMap<object, WeakMap<readonly Token[], ReconciledRows>>();
  /** The version of the listing that the rows were last compared with. */
  const told = new WeakMap<readonly Token[], string>();

  /** Once for the same rows: a listing with other prices makes no other conflicts. */
  function tell(
    rows: readonly Token[],
    version: string,
    conflicts: readonly string[],
    question: TokenFilter,
  ) {
    if (conflicts.length === 0 || told.get(rows) === version) return;
    told.set(rows, version);
    onConflicts(conflicts.length);
    log.warn(
      { ...question, rows: conflicts.length, first: conflicts.slice(0, MAX_NAMED) },
      'Left out routes to tokens that the token listing gives other decimals',
    );
  }

  return {
    reconcile(rows, listed, question) {
      const listing = listed ?? NO_LISTING;
      const besideListing = remembered.get(listing) ?? new WeakMap();
      remembered.set(listing, besideListing);
      const known = besideListing.get(rows);
      if (known) return known;
      const listedRows = listed && keyedRows(listed.rows, TOKENS.keyOf);
      const unlisted = new Map<string, Token>();
      const conflicts: string[] = [];
      const served: Token[] = [];
      for (const [key, row] of keyedRows(rows, TOKENS.keyOf)) {
        const ofListing = listedRows?.get(key);
        if (ofListing === undefined) {
          unlisted.set(key, row);
          served.push(row);
        } else if (ofListing.decimals === row.decimals) {
          served.push(ofListing);
        } else {
          conflicts.push(`${key}: ${row.decimals}, listed with ${ofListing.decimals}`);
        }
      }
      tell(rows, listed?.rowsVersion ?? '', conflicts, question);
      const reconciled: ReconciledRows = { rows: Object.freeze(served), unlisted };
      besideListing.set(rows, reconciled);
      return reconciled;
    },
  };
}

const NO_LISTING = {};

/**
 * Makes the answers of one operation agree with each other on tokens that the listing does not have: the row that
 * came first is served in all of them, and one with other decimals is left out.
 */
export interface UnlistedRows {
  agree(reconciled: ReconciledRows): readonly Token[];
}

/** Makes it; one for each operation. */
export function createUnlistedRows(): UnlistedRows {
  /** Most operations have but one answer, whose rows are not looked at one by one. */
  let answers: ReconciledRows[] = [];
  const first = new Map<string, Token>();

  function enter({ unlisted }: ReconciledRows): ReadonlyMap<Token, Token | undefined> {
    const replaced = new Map<Token, Token | undefined>();
    for (const [key, row] of unlisted) {
      const before = first.get(key);
      if (before === undefined) first.set(key, row);
      else if (before !== row) replaced.set(row, before.decimals === row.decimals ? before : undefined);
    }
    return replaced;
  }

  return {
    agree(reconciled) {
      answers.push(reconciled);
      if (answers.length === 1 && first.size === 0) return reconciled.rows;
      let replaced: ReadonlyMap<Token, Token | undefined> = new Map();
      for (const answer of answers) replaced = enter(answer);
      answers = [];
      if (replaced.size === 0) return reconciled.rows;
      return reconciled.rows.flatMap((row) => {
        const served = replaced.has(row) ? replaced.get(row) : row;
        return served ? [served] : [];
      });
    },
  };
}
