/**
 * Guards the facts of one listing, row by row: a row that contradicts the last accepted facts is served as it was,
 * until every listing of the hold-back period has had the same new values, or a rule of the operator accepts them. The
 * memory of the guard is stored with the served listing.
 */

import { keyedRows } from '../domain/keyed-rows.js';
import type { Fetched, ListingRow } from '../domain/listing.js';
import { EMPTY_GUARD_MEMORY, type GuardMemory } from '../domain/listing-memory.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { forEachInSteps } from '../scheduling/steps.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { ADDRESS, MAX_GONE, settleRemovedRows } from './replaced-addresses.js';
import { type Accepted, type Contradiction, createRowGuard, type GuardOptions } from './row-guard.js';

/** A listing whose rows may be served, unless its rules hide them. */
export interface GuardedListing<Row> extends Fetched<Row> {
  /** The memory of the guard. `held` has the held-back rows as the upstream sent them. */
  readonly guard: GuardMemory<Row>;
  /** The operator's rules with which the rows were guarded. */
  readonly rules: ResolvedRules;
}

export interface GuardResult<Row> {
  readonly listing: GuardedListing<Row>;
  /** Removed or renamed rows that a new row would replace. The new row is held back for the first time. */
  readonly challenged: readonly Contradiction<Row>[];
  readonly changes: readonly Accepted<Row>[];
}

/**
 * Guards the rows of a listing. It yields to requests.
 *
 * @param sent the listing as the upstream sends it
 * @param before the guarded listing whose memory is continued: the one that is served; or, for a stored or shared
 *   listing, that listing itself, with the memory that came with it. Undefined for the first one
 */
export async function guardListing<Row extends ListingRow>(
  options: GuardOptions<Row>,
  sent: Fetched<Row>,
  before: Fetched<Row> | undefined,
): Promise<GuardResult<Row>> {
  const guard = createRowGuard(options, sent, before);
  const { unreadable: _unreadable, order = [], ...facts } = sent;
  const { contradictory } = guard.sent;
  await forEachInSteps(new Set([...order, ...guard.sent.rows.keys(), ...contradictory.keys()]), (key) => {
    const row = guard.sent.rows.get(key);
    const [first, ...others] = row ? [row] : (contradictory.get(key) ?? []);
    if (first) guard.decide(key, [first, ...others]);
  });
  const challenged = await settleRemovedRows(guard);
  const { rows, gone, former, held, arrived, changes } = guard.next;
  const memory: GuardMemory<Row> = before?.guard ?? EMPTY_GUARD_MEMORY;
  const listing = {
    ...facts,
    rows: Object.freeze([...rows.values()]),
    guard: {
      ...memory,
      beganAt: before && !guard.before.isNothing ? memory.beganAt || before.takenAt : guard.takenAt,
      gone: [...gone.values()].slice(-MAX_GONE),
      former: [...former.values()].slice(-MAX_GONE),
      held: [...held.values()],
      arrived: [...arrived].slice(-MAX_GONE),
    },
    rules: options.rules,
  };
  return { listing, challenged, changes };
}

/**
 * Counts the held-back rows: listed rows, and new rows that are not listed yet. A new row that waits to replace a listed
 * row does not count, because that listed row counts. `facts` has the held-back facts on which no `keep` rule decides.
 */
export function heldBackIn<Row extends ListingRow>(
  kind: ListingKind<Row>,
  served: readonly Row[],
  { guard, rows, rules }: GuardedListing<Row>,
) {
  const { keyOf } = kind;
  const facts = served.flatMap((row) => row.heldBack.map((each) => ({ row, ...each })));
  const listed = keyedRows(rows, keyOf);
  const replacementKeys = new Set(
    facts.map(({ fact, row, upstream }) => fact === 'address' && keyOf({ ...row, address: upstream })),
  );
  const newRows = guard.held.filter(({ key, rows: [row, ...others] }) => {
    const isNewRow = row !== undefined && others.length === 0 && !listed.has(key);
    return isNewRow && !rules.hides(row) && !replacementKeys.has(key);
  });
  const open = [
    ...facts.filter(({ row, fact }) => !rules.keptFacts(keyOf(row))?.has(fact)),
    ...newRows.filter((each) => !each.isKept).map(({ since }) => ({ fact: ADDRESS.fact, since })),
  ];
  return {
    rows: served.filter(({ heldBack }) => heldBack.length > 0).length + newRows.length,
    facts: open,
  };
}
