/**
 * Decides on rows that the upstream no longer sends. If the symbol of such a row now has another address on the chain,
 * the old row stays listed and the new row is held back, because this is more often a fault than a migration.
 */
import { groupBy } from '../domain/keyed-rows.js';
import { type HeldBackFact, type ListingRow, NOTHING_HELD_BACK } from '../domain/listing.js';
import { forEachInSteps } from '../scheduling/steps.js';
import { type Contradiction, heldFact, type RowGuard } from './row-guard.js';

/** At most this many removed rows are remembered, and as many new ones: twice the rows for which speed is promised. */
export const MAX_GONE = 10_000;
/**
 * An old row is compared with at most this many new rows of its symbol, and as many recently added rows.
 * Further new rows are held back.
 */
const MAX_SUCCESSORS = 10;

/**
 * Completes the decisions after `RowGuard.decide` has decided on all sent rows. It yields to requests.
 *
 * @returns removed rows that a new row would replace, if the new row is held back in this listing for the first time
 */
export async function settleRemovedRows<Row extends ListingRow>(
  guard: RowGuard<Row>,
): Promise<readonly Contradiction<Row>[]> {
  const { kind, rules, takenAt, served, sentRows, gone, arrived, rows, held, newcomers, returned } = guard;
  const { lookalikeOf } = kind;
  const lookalikeOfSent = (key: string) => guard.lookalikeIn(sentRows, key);
  const isKeptAddress = (key: string) => rules.keptFacts(key)?.has('address') === true;
  /** Whether new rows with the symbol of this removed row wait: for the hold-back period, or while a rule keeps it. */
  const isGuarded = (key: string, at: number) => guard.isRecent(at) || isKeptAddress(key);

  const removed = [...served].filter(([key]) => !rows.has(key));
  /** The lookalikes of rows that a `keep` rule protects from being replaced. */
  const kept = new Set(
    [...removed, ...Array.from(gone, ([key, { row }]) => [key, row] as const)]
      .filter(([key]) => isKeptAddress(key) && !rows.has(key))
      .map(([, row]) => lookalikeOf(row)),
  );
  /** Whether a `keep` rule refuses a new row: in place of another row, or with its values. */
  const isRefused = (newKey: string, lookalike: string | undefined) =>
    kept.has(lookalike) || held.get(newKey)?.isKept === true;
  const newByLookalike = groupBy(newcomers, lookalikeOfSent);
  const heldNewcomers = [...newcomers].filter((key) => guard.heldBefore.has(key));
  const heldByLookalike = groupBy(heldNewcomers, lookalikeOfSent);
  // A symbol can also return to a removed row, or move to one that was added a short time ago.
  const comingByLookalike = groupBy([...newcomers, ...returned], lookalikeOfSent);
  const recent = [...arrived.keys()].filter((key) => sentRows.has(key) && served.has(key));
  const recentByLookalike = removed.length === 0 ? undefined : groupBy(recent, lookalikeOfSent);

  const waiting: Contradiction<Row>[] = [];
  const toHoldBack = new Set<string>();
  /** The lookalikes that {@link MAX_SUCCESSORS} or more new rows share. */
  const crowded = new Set<string>();
  /** The keys of new rows that are accepted in place of a row. */
  const acceptedSuccessors = new Set<string>();
  /** The keys of the rows that these replace. */
  const replaced = new Set<string>();

  /**
   * Decides on the new rows with the symbol of this row.
   *
   * @param goneAt when the row was removed; undefined while it is listed
   * @returns whether there are such rows and all of them are held back: then the row stays listed, or the new rows wait
   */
  function settleSuccessors(key: string, row: Row, goneAt?: number): boolean {
    const lookalike = lookalikeOf(row);
    if (lookalike === undefined) return false;
    const isKept = kept.has(lookalike);
    const among =
      goneAt === undefined ? comingByLookalike : isGuarded(key, goneAt) ? newByLookalike : heldByLookalike;
    const successors = among.get(lookalike)?.slice(0, MAX_SUCCESSORS) ?? [];
    if (successors.length === MAX_SUCCESSORS) crowded.add(lookalike);
    if (goneAt === undefined)
      successors.push(...(recentByLookalike?.get(lookalike)?.slice(0, MAX_SUCCESSORS) ?? []));
    const open: HeldBackFact[] = [];
    for (const newKey of successors) {
      const newRow = sentRows.get(newKey) as Row;
      const since = served.has(newKey)
        ? guard.sinceOf(key, [], isKept)
        : guard.sinceOf(newKey, [newRow], isRefused(newKey, lookalike));
      const fact = heldFact({ fact: 'address', of: ({ address = '' }) => address }, row, [newRow], since);
      const by = guard.accepter(key, [fact], since, isKept);
      if (by === undefined) {
        open.push(fact);
        if (newcomers.has(newKey)) toHoldBack.add(newKey);
      } else {
        guard.accepted.push({ row, facts: [fact], by });
        acceptedSuccessors.add(newKey);
        replaced.add(key);
      }
    }
    // Equal times are sorted by address, because `asSent` changes the order of the rows.
    const [fact] = open.sort(
      (one, other) => one.since - other.since || (one.upstream < other.upstream ? -1 : 1),
    );
    if (fact === undefined || open.length < successors.length) return false;
    // While this row is listed, rows that were removed and are sent again are held back, too.
    for (const newKey of successors) if (returned.has(newKey)) toHoldBack.add(newKey);
    if (goneAt === undefined) {
      const { row: shown, accepted } = guard.keptRow(key, row);
      rows.set(key, kind.heldBack(shown, [fact]));
      held.set(key, { key, rows: [], since: guard.sinceOf(key, [], isKept), accepted, isKept });
    } else if (fact.since === guard.sentAt) waiting.push({ row, facts: [fact] });
    return true;
  }

  // While a row's new symbol is held back, the row is served with its old symbol. So new rows that have this old
  // symbol are held back, too.
  const oldSymbols = [...held.values()].map(({ key, rows: present, isKept }) => {
    const lookalike = guard.lookalikeIn(rows, key);
    if (present.some((row) => lookalikeOf(row) === lookalike)) return undefined;
    if (isKept) kept.add(lookalike);
    return lookalike;
  });
  await forEachInSteps(newcomers.size === 0 ? [] : gone, ([key, { row, at }]) => {
    const isOpen = (isGuarded(key, at) || heldNewcomers.length > 0) && !rows.has(key);
    if (isOpen && !settleSuccessors(key, row, at) && replaced.has(key)) gone.set(key, { row, at: 0 });
  });
  await forEachInSteps(removed, ([key, row]) => {
    if (settleSuccessors(key, row)) return;
    // If the memory is full, a row that was listed only briefly is not remembered: the other rows matter more.
    const isForgotten = arrived.delete(key) && gone.size >= MAX_GONE;
    const at = replaced.has(key) ? 0 : takenAt;
    if (!isForgotten) gone.set(key, { row: kind.heldBack(row, NOTHING_HELD_BACK), at });
  });
  const ofOldSymbols = [...new Set(oldSymbols)].flatMap(
    (lookalike) => (lookalike && newByLookalike.get(lookalike)) || [],
  );
  const ofCrowded = [...crowded].flatMap(
    (lookalike) => newByLookalike.get(lookalike)?.slice(MAX_SUCCESSORS) ?? [],
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
  return waiting;
}
