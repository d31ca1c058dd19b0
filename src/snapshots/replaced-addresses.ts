/**
 * Decides on rows that the upstream no longer sends, or sends with another symbol, and on new rows with their symbols. If
 * the symbol of a missing row now has another address on the chain, the old row stays listed and the new row is held back,
 * because this is more often a fault than a migration.
 */
import { groupBy } from '../domain/keyed-rows.js';
import { type HeldBackFact, type ListingRow, NOTHING_HELD_BACK } from '../domain/listing.js';
import { type GoneRow, REPLACED } from '../domain/listing-memory.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { type Contradiction, heldFact, type RowGuard } from './row-guard.js';

/**
 * At most this many removed rows are remembered, as many renamed ones, and as many new ones: twice the rows for which
 * speed is promised.
 */
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
  { kind, before, sent, next, lookalikeIn }: RowGuard<Row>,
  isAnyRemoved: boolean,
) {
  const byLookalike = (keys: Iterable<string>) => groupBy(keys, (key) => lookalikeIn(sent.rows, key));
  const heldNewcomers = [...sent.newcomers].filter((key) => before.held.has(key));
  const recent = [...(isAnyRemoved ? next.arrived.keys() : [])].filter(
    (key) => sent.rows.has(key) && before.accepted.has(key),
  );
  const unclear = [...sent.contradictory].filter(([key]) => !before.accepted.has(key));
  return {
    /** New rows, by lookalike like all of these groups. */
    newcomers: byLookalike(sent.newcomers),
    /** New rows that the served listing holds back already. */
    heldNewcomers: byLookalike(heldNewcomers),
    /** New rows, and removed ones that are sent again: the symbol can return to such a row. */
    coming: byLookalike([...sent.newcomers, ...sent.returned]),
    /** Listed rows that were added within the hold-back period: the symbol can move to such a row. */
    recent: byLookalike(recent),
    /** New rows that contradict each other: none of them is accepted, so the old row stays. */
    unclear: groupBy(
      unclear.flatMap(([, rows]) => rows),
      kind.lookalikeOf,
    ),
    hasHeldNewcomers: heldNewcomers.length > 0,
  };
}

export const ADDRESS = { fact: 'address', of: ({ address = '' }: ListingRow) => address } as const;

/**
 * Completes the decisions after `RowGuard.decide` has decided on all sent rows. It yields to requests.
 *
 * @returns removed or renamed rows that a new row would replace, if the new row is held back for the first time
 */
export async function settleRemovedRows<Row extends ListingRow>(
  guard: RowGuard<Row>,
): Promise<readonly Contradiction<Row>[]> {
  const { kind, rules, takenAt, sentAt, before, sent, next } = guard;
  const { lookalikeOf, claimOf } = kind;
  const isKeptAddress = (key: string) => rules.keptFacts(key)?.has('address') === true;

  const missing = [...before.accepted].filter(([key]) => !next.rows.has(key));
  const successors = findSuccessors(guard, missing.length > 0);
  /** Whether a renamed row is sent and listed again as it was before. A rule alone does not bring the row back. */
  const isBack = ([key, { row }]: readonly [string, GoneRow<Row>]) =>
    [sent.rows.get(key), next.rows.get(key)].every((each) => each && claimOf(each) === claimOf(row));
  const removed = [...next.gone].filter(([key]) => !next.rows.has(key));
  const former = [...next.former].filter((each) => !isBack(each));
  /** The lookalikes of rows that a `keep` rule protects from being replaced. */
  const protectedLookalikes = new Set(
    [...missing, ...[...removed, ...former].map(([key, { row }]) => [key, row] as const)]
      .filter(([key]) => isKeptAddress(key))
      .map(([, row]) => lookalikeOf(row)),
  );
  /** The rows that are served with their old symbol, because their new one is held back. */
  const renamed = [...next.held.values()].flatMap(({ key, rows: present, isKept }) => {
    const row = next.rows.get(key);
    if (row === undefined) return [];
    const lookalike = lookalikeOf(row);
    if (lookalike === undefined || present.some((each) => lookalikeOf(each) === lookalike)) return [];
    if (isKept || isKeptAddress(key)) protectedLookalikes.add(lookalike);
    return [[key, row, lookalike] as const];
  });
  const challenged: Contradiction<Row>[] = [];
  const toHoldBack = new Set<string>();
  /** The lookalikes that {@link MAX_SUCCESSORS} or more new rows share. */
  const crowded = new Set<string | undefined>();
  /** The keys of new rows that are accepted in place of a row. */
  const acceptedSuccessors = new Set<string>();
  /** The keys of the rows that these replace. */
  const replaced = new Set<string>();

  if (sent.newcomers.size > 0) {
    await forEachInSteps(removed, ([key, each]) => settleLost(key, each, next.gone));
    await forEachInSteps(former, ([key, each]) => settleLost(key, each, next.former));
  }
  await forEachInSteps(missing, settleMissing);
  await forEachInSteps(sent.newcomers.size > 0 ? renamed : [], settleRenamed);
  holdBackNewRows();
  for (const key of [...sent.newcomers, ...sent.returned])
    if (next.rows.has(key)) next.arrived.set(key, takenAt);
  for (const key of next.rows.keys()) next.gone.delete(key);
  for (const each of next.former) if (isBack(each)) next.former.delete(each[0]);
  return challenged;

  /**
   * Decides on a row that was removed or renamed earlier. It stays so; new rows with its symbol wait for the hold-back
   * period, or while a rule keeps the address. After that, it decides only on new rows that already wait.
   */
  function settleLost(key: string, { row, at }: GoneRow<Row>, among: Map<string, GoneRow<Row>>): void {
    const isGuarded = guard.isRecent(at) || isKeptAddress(key);
    if (!(isGuarded || successors.hasHeldNewcomers)) return;
    const lookalike = lookalikeOf(row);
    const newKeys = firstOf(isGuarded ? successors.newcomers : successors.heldNewcomers, lookalike);
    const fact = heldBackInPlaceOf(key, row, lookalike, newKeys);
    if (fact?.since === sentAt) challenged.push({ row, facts: [fact] });
    if (!fact && replaced.has(key)) among.set(key, { row, at: REPLACED });
  }

  /**
   * Decides on a row that was listed until now and that this answer lacks. It stays listed if new rows have its symbol and
   * none of them is accepted in its place yet.
   */
  function settleMissing([key, row]: readonly [string, Row]): void {
    const lookalike = lookalikeOf(row);
    const newKeys = [...firstOf(successors.coming, lookalike), ...firstOf(successors.recent, lookalike)];
    const isKept = protectedLookalikes.has(lookalike);
    const since = guard.sinceOf(key, NOT_SENT, isKept);
    const inPlace = heldBackInPlaceOf(key, row, lookalike, newKeys);
    const unclear =
      lookalike === undefined || replaced.has(key) ? undefined : successors.unclear.get(lookalike);
    const fact = inPlace ?? (unclear && heldFact(ADDRESS, row, unclear, since));
    if (fact) {
      for (const newKey of newKeys) if (sent.returned.has(newKey)) toHoldBack.add(newKey);
      const { row: shown, replaced: accepted } = guard.keptRow(key, row);
      next.rows.set(key, kind.markHeldBack(shown, [fact]));
      next.held.set(key, { key, rows: NOT_SENT, since, accepted, isKept });
      return;
    }
    // If the memory is full, a row that was listed only briefly is not remembered: the other rows matter more.
    const isForgotten = next.arrived.delete(key) && next.gone.size >= MAX_GONE;
    const at = replaced.has(key) ? REPLACED : takenAt;
    if (!isForgotten) next.gone.set(key, { row: kind.markHeldBack(row, NOTHING_HELD_BACK), at });
  }

  /** Decides on new rows with the old symbol of a row whose new symbol is held back. */
  function settleRenamed([key, row, lookalike]: (typeof renamed)[number]): void {
    const fact = heldBackInPlaceOf(key, row, lookalike, firstOf(successors.newcomers, lookalike));
    if (fact?.since === sentAt) challenged.push({ row, facts: [fact] });
  }

  /** The first keys with this lookalike in a group of {@link findSuccessors}. */
  function firstOf(
    group: ReadonlyMap<string | undefined, readonly string[]>,
    lookalike: string | undefined,
  ): readonly string[] {
    const alike = (lookalike !== undefined && group.get(lookalike)) || [];
    if (alike.length >= MAX_SUCCESSORS) crowded.add(lookalike);
    return alike.slice(0, MAX_SUCCESSORS);
  }

  /** Whether a `keep` rule refuses a new row: in place of another row, or with its values. */
  function isRefused(newKey: string, lookalike: string | undefined): boolean {
    return protectedLookalikes.has(lookalike) || next.held.get(newKey)?.isKept === true;
  }

  /**
   * Decides whether new rows may replace an old one, which has the same lookalike.
   *
   * @param key the key of the old row
   * @returns the oldest held-back fact if all new rows are held back. Undefined if the old row may go, because a new one
   *   is accepted or because there is none
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
      const newRow = sent.rows.get(newKey) as Row;
      const since = before.accepted.has(newKey)
        ? guard.sinceOf(key, NOT_SENT, isKept)
        : guard.sinceOf(newKey, [newRow], isRefused(newKey, lookalike));
      const fact = heldFact(ADDRESS, row, [newRow], since);
      const by = guard.acceptedBy(key, [fact], since, isKept);
      if (by === undefined) {
        open.push(fact);
        if (sent.newcomers.has(newKey)) toHoldBack.add(newKey);
      } else {
        next.changes.push({ row, facts: [fact], by });
        acceptedSuccessors.add(newKey);
        replaced.add(key);
      }
    }
    if (open.length < newKeys.length) return undefined;
    // Equal times are sorted by address, because `asSent` changes the order of the rows.
    return open.sort((one, other) => one.since - other.since || (one.upstream < other.upstream ? -1 : 1))[0];
  }

  function holdBackNewRows(): void {
    const ofCrowded = [...crowded].flatMap(
      (lookalike) => successors.newcomers.get(lookalike)?.slice(MAX_SUCCESSORS) ?? [],
    );
    for (const key of [...toHoldBack, ...ofCrowded]) {
      if (acceptedSuccessors.has(key)) continue;
      const row = sent.rows.get(key) as Row;
      const isKept = isRefused(key, lookalikeOf(row));
      next.held.set(key, { key, rows: [row], since: guard.sinceOf(key, [row], isKept), isKept });
      next.rows.delete(key);
    }
  }
}
