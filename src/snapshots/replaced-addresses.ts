/**
 * Decides on rows that the upstream no longer sends. If the symbol of such a row now has another address on the chain,
 * the old row stays listed and the new row is held back, because this is more often a fault than a migration.
 */
import { groupBy } from '../domain/keyed-rows.js';
import { type HeldBackFact, type ListingRow, NOTHING_HELD_BACK } from '../domain/listing.js';
import { REPLACED } from '../domain/listing-memory.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { type Contradiction, heldFact, type RowGuard } from './row-guard.js';

/** At most this many removed rows are remembered, and as many new ones: twice the rows for which speed is promised. */
export const MAX_GONE = 10_000;
/**
 * An old row is compared with at most this many new rows of its symbol, and as many recently added rows.
 * Further new rows are held back.
 */
const MAX_SUCCESSORS = 10;

/** The rows under the key of a row that the upstream no longer sends. */
const NOT_SENT: readonly never[] = [];

/** Finds the rows that may replace an old one: sent rows with its symbol on its chain that are new in some way. */
function findSuccessors<Row extends ListingRow>(
  { sentRows, acceptedBefore, heldBefore, newcomers, returned, arrived, lookalikeIn }: RowGuard<Row>,
  isAnyRemoved: boolean,
) {
  const byLookalike = (keys: Iterable<string>) => groupBy(keys, (key) => lookalikeIn(sentRows, key));
  const heldNewcomers = [...newcomers].filter((key) => heldBefore.has(key));
  const recent = [...(isAnyRemoved ? arrived.keys() : [])].filter(
    (key) => sentRows.has(key) && acceptedBefore.has(key),
  );
  return {
    /** New rows, by lookalike like all of these groups. */
    newcomers: byLookalike(newcomers),
    /** New rows that the served listing holds back already. */
    heldNewcomers: byLookalike(heldNewcomers),
    /** New rows, and removed ones that are sent again: the symbol can return to such a row. */
    coming: byLookalike([...newcomers, ...returned]),
    /** Listed rows that were added within the hold-back period: the symbol can move to such a row. */
    recent: byLookalike(recent),
    hasHeldNewcomers: heldNewcomers.length > 0,
  };
}

export const ADDRESS = { fact: 'address', of: ({ address = '' }: ListingRow) => address } as const;

/**
 * Completes the decisions after `RowGuard.decide` has decided on all sent rows. It yields to requests.
 *
 * @returns removed rows that a new row would replace, if the new row is held back in this listing for the first time
 */
export async function settleRemovedRows<Row extends ListingRow>(
  guard: RowGuard<Row>,
): Promise<readonly Contradiction<Row>[]> {
  const { kind, rules, takenAt, sentAt, acceptedBefore, sentRows, gone, arrived } = guard;
  const { rows, held, newcomers, returned } = guard;
  const { lookalikeOf } = kind;
  const isKeptAddress = (key: string) => rules.keptFacts(key)?.has('address') === true;

  const removed = [...acceptedBefore].filter(([key]) => !rows.has(key));
  const successors = findSuccessors(guard, removed.length > 0);
  /** The lookalikes of rows that a `keep` rule protects from being replaced. */
  const protectedLookalikes = new Set(
    [...removed, ...Array.from(gone, ([key, { row }]) => [key, row] as const)]
      .filter(([key]) => isKeptAddress(key) && !rows.has(key))
      .map(([, row]) => lookalikeOf(row)),
  );
  /** Whether a `keep` rule refuses a new row: in place of another row, or with its values. */
  const isRefused = (newKey: string, lookalike: string | undefined) =>
    protectedLookalikes.has(lookalike) || held.get(newKey)?.isKept === true;

  const challenged: Contradiction<Row>[] = [];
  const toHoldBack = new Set<string>();
  /** The lookalikes that {@link MAX_SUCCESSORS} or more new rows share. */
  const crowded = new Set<string | undefined>();
  /** The keys of new rows that are accepted in place of a row. */
  const acceptedSuccessors = new Set<string>();
  /** The keys of the rows that these replace. */
  const replaced = new Set<string>();

  type Group = ReadonlyMap<string | undefined, readonly string[]>;

  /** The first keys with this lookalike in a group of {@link findSuccessors}. */
  function firstOf(group: Group, lookalike: string | undefined): readonly string[] {
    const alike = (lookalike !== undefined && group.get(lookalike)) || [];
    if (alike.length >= MAX_SUCCESSORS) crowded.add(lookalike);
    return alike.slice(0, MAX_SUCCESSORS);
  }

  /**
   * Decides whether new rows may replace an old one, which has the same lookalike.
   *
   * @returns the oldest held-back fact if all new rows are held back; undefined if one is accepted, or if there is none
   */
  function heldBackInPlaceOf(
    key: string,
    row: Row,
    lookalike: string | undefined,
    newKeys: readonly string[],
  ): HeldBackFact | undefined {
    const isKept = protectedLookalikes.has(lookalike);
    const open: HeldBackFact[] = [];
    for (const newKey of newKeys) {
      const newRow = sentRows.get(newKey) as Row;
      const since = acceptedBefore.has(newKey)
        ? guard.sinceOf(key, NOT_SENT, isKept)
        : guard.sinceOf(newKey, [newRow], isRefused(newKey, lookalike));
      const fact = heldFact(ADDRESS, row, [newRow], since);
      const by = guard.acceptedBy(key, [fact], since, isKept);
      if (by === undefined) {
        open.push(fact);
        if (newcomers.has(newKey)) toHoldBack.add(newKey);
      } else {
        guard.changes.push({ row, facts: [fact], by });
        acceptedSuccessors.add(newKey);
        replaced.add(key);
      }
    }
    if (open.length < newKeys.length) return undefined;
    // Equal times are sorted by address, because `asSent` changes the order of the rows.
    return open.sort((one, other) => one.since - other.since || (one.upstream < other.upstream ? -1 : 1))[0];
  }

  // While a row's new symbol is held back, the row is served with its old symbol. So new rows that have this old
  // symbol are held back, too.
  const oldSymbols = [...held.values()].map(({ key, rows: present, isKept }) => {
    const lookalike = guard.lookalikeIn(rows, key);
    if (present.some((row) => lookalikeOf(row) === lookalike)) return undefined;
    if (isKept) protectedLookalikes.add(lookalike);
    return lookalike;
  });
  // Rows that were removed earlier: new rows wait for the hold-back period, or while a rule keeps the address. After
  // that, only new rows that already wait are decided on.
  await forEachInSteps(newcomers.size === 0 ? [] : gone, ([key, { row, at }]) => {
    const isGuarded = guard.isRecent(at) || isKeptAddress(key);
    if (rows.has(key) || !(isGuarded || successors.hasHeldNewcomers)) return;
    const lookalike = lookalikeOf(row);
    const newKeys = firstOf(isGuarded ? successors.newcomers : successors.heldNewcomers, lookalike);
    const fact = heldBackInPlaceOf(key, row, lookalike, newKeys);
    if (fact?.since === sentAt) challenged.push({ row, facts: [fact] });
    if (!fact && replaced.has(key)) gone.set(key, { row, at: REPLACED });
  });
  // Rows that are missing in this listing for the first time: such a row stays listed while all new ones are held back.
  await forEachInSteps(removed, ([key, row]) => {
    const lookalike = lookalikeOf(row);
    const newKeys = [...firstOf(successors.coming, lookalike), ...firstOf(successors.recent, lookalike)];
    const fact = heldBackInPlaceOf(key, row, lookalike, newKeys);
    if (fact) {
      for (const newKey of newKeys) if (returned.has(newKey)) toHoldBack.add(newKey);
      const isKept = protectedLookalikes.has(lookalike);
      const { row: shown, replaced: accepted } = guard.keptRow(key, row);
      rows.set(key, kind.markHeldBack(shown, [fact]));
      const since = guard.sinceOf(key, NOT_SENT, isKept);
      held.set(key, { key, rows: NOT_SENT, since, accepted, isKept });
      return;
    }
    // If the memory is full, a row that was listed only briefly is not remembered: the other rows matter more.
    const isForgotten = arrived.delete(key) && gone.size >= MAX_GONE;
    const at = replaced.has(key) ? REPLACED : takenAt;
    if (!isForgotten) gone.set(key, { row: kind.markHeldBack(row, NOTHING_HELD_BACK), at });
  });
  const ofOldSymbols = [...new Set(oldSymbols)].flatMap(
    (lookalike) => (lookalike && successors.newcomers.get(lookalike)) || [],
  );
  const ofCrowded = [...crowded].flatMap(
    (lookalike) => successors.newcomers.get(lookalike)?.slice(MAX_SUCCESSORS) ?? [],
  );
  for (const key of [...toHoldBack, ...ofOldSymbols, ...ofCrowded]) {
    if (acceptedSuccessors.has(key)) continue;
    const row = sentRows.get(key) as Row;
    const isKept = isRefused(key, lookalikeOf(row));
    held.set(key, { key, rows: [row], since: guard.sinceOf(key, [row], isKept), isKept });
    rows.delete(key);
  }
  for (const key of [...newcomers, ...returned]) if (rows.has(key)) arrived.set(key, takenAt);
  for (const key of rows.keys()) gone.delete(key);
  return challenged;
}
