/** Makes the rows of routes consistent with the token listing and with each other. */
import { keyedRows } from '../domain/keyed-rows.js';
import type { Token, TokenRequest } from '../domain/listing.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import type { Logger } from '../logger/logger.js';
import { TOKENS } from '../upstream/listing-kinds.js';
import type { TokenSnapshot } from './snapshot.js';

export interface RouteRowsOptions {
  /** The operator's present rules: which rows are served, and in which order. */
  readonly operator: () => Pick<ResolvedRules, 'selectTokens'>;
  /** Called with the number of rows of an answer that were left out, unless it is 0. */
  readonly onConflicts: ((count: number) => void) | undefined;
  readonly log: Logger;
}

/** The rows of an answer in the form in which they are served. */
interface ReconciledRows {
  readonly rows: readonly Token[];
  /** The rows that the token listing lacks, by key. */
  readonly unlisted: ReadonlyMap<string, Token>;
  /** The operator's rules that were applied. */
  readonly rules: object;
}

/** The most conflicting rows of one answer that the log names. */
const MAX_NAMED = 5;

export type Reconcile = ReturnType<typeof createReconcile>;

/**
 * Creates the function that makes the rows of routes consistent with the token listing, so that a response never shows
 * one token in two forms. Its result is cached as long as rows and listing are in memory and the rules do not change.
 *
 * A listed token is the object of the listing, with its symbol, name and price. A row with other decimals is left out,
 * counted and logged: one of the two is wrong, the gateway cannot know which, and an amount calculated with the wrong
 * decimals loses money. A listed token with held-back facts is never left out: its row shows the contradiction.
 */
export function createReconcile({ operator, onConflicts, log }: RouteRowsOptions) {
  // By listing first: cached routes outlive many listings, and must not keep them in memory.
  const remembered = new WeakMap<object, WeakMap<readonly Token[], ReconciledRows>>();
  /** By rows: the `rowsDigest` of the last listing whose conflicts with them were logged. */
  const logged = new WeakMap<readonly Token[], string>();

  return function reconcile(
    rows: readonly Token[],
    listed: TokenSnapshot | undefined,
    request: TokenRequest,
  ): ReconciledRows {
    const besideListing = remembered.get(listed ?? NO_LISTING) ?? new WeakMap();
    remembered.set(listed ?? NO_LISTING, besideListing);
    const known = besideListing.get(rows);
    const rules = operator();
    if (known?.rules === rules) return known;
    const listedRows = listed && keyedRows(listed.rows, TOKENS.keyOf);
    const unlisted = new Map<string, Token>();
    const conflicts: string[] = [];
    const served: Token[] = [];
    for (const [key, row] of keyedRows(rows, TOKENS.keyOf)) {
      const ofListing = listedRows?.get(key);
      if (ofListing === undefined) {
        const last = listed?.unlisted.get(key);
        // Left out: a new token that is held back, and a row with other decimals than the removed token had.
        if (last !== undefined && last?.decimals !== row.decimals) continue;
        unlisted.set(key, row);
        served.push(row);
      } else if (ofListing.decimals === row.decimals || ofListing.heldBack.length > 0) {
        served.push(ofListing);
      } else {
        conflicts.push(`${key}: ${row.decimals}, listed with ${ofListing.decimals}`);
      }
    }
    // Logged once for the same rows and listing. A change of prices does not change the conflicts.
    if (listed && conflicts.length > 0 && logged.get(rows) !== listed.rowsDigest) {
      logged.set(rows, listed.rowsDigest);
      onConflicts?.(conflicts.length);
      const facts = { ...request, rows: conflicts.length, first: conflicts.slice(0, MAX_NAMED) };
      log.warn(facts, 'Left out routes to tokens that have other decimals in the token listing');
    }
    const reconciled = { rows: Object.freeze(rules.selectTokens(served)), unlisted, rules };
    besideListing.set(rows, reconciled);
    return reconciled;
  };
}

const NO_LISTING = {};

/**
 * Creates the function that makes the routes of one operation consistent on tokens that the listing lacks: the first
 * row of a token is served everywhere, and rows with other decimals are left out.
 */
export function createAgreement(): (reconciled: ReconciledRows) => readonly Token[] {
  const first = new Map<string, Token>();
  return ({ rows, unlisted }) => {
    /** The rows that differ from the first rows of their tokens, each with the row to serve, if any. */
    const replaced = new Map<Token, Token | undefined>();
    for (const [key, row] of unlisted) {
      const before = first.get(key);
      if (before === undefined) first.set(key, row);
      else if (before !== row) replaced.set(row, before.decimals === row.decimals ? before : undefined);
    }
    if (replaced.size === 0) return rows;
    return rows.flatMap((row) => (replaced.has(row) ? (replaced.get(row) ?? []) : row));
  };
}
