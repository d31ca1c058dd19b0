/** Decides on the rows that the upstream sends: whether each is served as it is sent, or as it was last accepted. */

import { contradictedFacts, type FactOf, factsKey } from '../domain/guarded-facts.js';
import { keyedRows } from '../domain/keyed-rows.js';
import {
  type Fetched,
  type HeldBackFact,
  type ListingRow,
  NOTHING_HELD_BACK,
  sentAtOf,
} from '../domain/listing.js';
import {
  type AcceptedBy,
  EMPTY_GUARD_MEMORY,
  type GuardMemory,
  type HeldRow,
} from '../domain/listing-memory.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { acceptedRows, type Fact, heldByKey, withFacts } from './known-rows.js';

/** Finds, by the key of a new row, which decimals the token or native currency should have; undefined if nothing is known. */
export type Baseline = (key: string) => number | undefined;

export interface GuardOptions<Row> {
  readonly kind: ListingKind<Row>;
  /** The hold-back period in milliseconds. If it is infinite, only rules accept a changed value. */
  readonly holdBackMs: number;
  readonly rules: ResolvedRules;
  readonly baseline?: Baseline;
}

/** A row, and its contradicted facts. */
export interface Contradiction<Row> {
  readonly row: Row;
  readonly facts: readonly HeldBackFact[];
}

export type Accepted<Row> = Contradiction<Row> & { readonly by: AcceptedBy };

export type RowGuard<Row extends ListingRow> = ReturnType<typeof createRowGuard<Row>>;

/**
 * Creates the decisions on the rows of one listing.
 *
 * @param before the guarded listing whose memory is continued; undefined without one
 */
export function createRowGuard<Row extends ListingRow>(
  { kind, holdBackMs, rules, baseline }: GuardOptions<Row>,
  sent: Fetched<Row>,
  before: Fetched<Row> | undefined,
) {
  const { takenAt } = sent;
  // The hold-back period begins when the request is sent, even if the answer is from a cache and older.
  const sentAt = sentAtOf(sent);
  const { keyOf, guarded, lookalikeOf, claimOf } = kind;
  const memory: GuardMemory<Row> = before?.guard ?? EMPTY_GUARD_MEMORY;
  // While rules are partial, a `keep` rule that is not resolved yet may forbid a change: time must not accept it.
  const timeAccepts = Number.isFinite(holdBackMs) && !rules.isPartial;
  const acceptedBefore = before ? acceptedRows(kind, before) : new Map<string, Row>();
  const sentRows = keyedRows(sent.rows, keyOf);
  const { contradictory = new Map<string, readonly Row[]>() } = sent;
  const heldBefore = heldByKey(memory);
  /** The removed rows. */
  const gone = new Map(memory.gone.map((each) => [keyOf(each.row), each]));
  /** The rows whose changed symbol or CAIP-2 identifier was accepted, as they were before that change. */
  const former = new Map(memory.former.map((each) => [keyOf(each.row), each]));
  const isRecent = (at: number) => at > 0 && takenAt - at < holdBackMs;
  const lookalikeIn = (among: ReadonlyMap<string, Row>, key: string) => {
    const row = among.get(key);
    return row && lookalikeOf(row);
  };
  /** The lookalikes of rows that are listed only because a new row must not replace them yet. */
  const contested = new Set(
    memory.held.filter(({ rows }) => rows.length === 0).map(({ key }) => lookalikeIn(acceptedBefore, key)),
  );
  const isContested = (key: string) => contested.size > 0 && contested.has(lookalikeIn(sentRows, key));
  /** The keys of rows that were added within the hold-back period, and when. */
  const arrived = new Map(memory.arrived.filter(([key, at]) => isRecent(at) || isContested(key)));
  // If only demo data is stored, `before` has no rows: it is there for the history of the token list.
  const isFirst = acceptedBefore.size === 0 && gone.size === 0 && memory.held.length === 0;
  const rows = new Map<string, Row>();
  const held = new Map<string, HeldRow<Row>>();
  const changes: Accepted<Row>[] = [];
  const newcomers = new Set<string>();
  const returned = new Set<string>();

  /**
   * Makes the row to compare the sent rows with: the last accepted row, or else the first sent one with the decimals of
   * `baseline`. Undefined if the sent rows contradict each other on a fact that is neither known nor kept by a rule.
   */
  function knownRow(key: string, [first, ...others]: readonly [Row, ...Row[]]): Row | undefined {
    const known = acceptedBefore.get(key) ?? gone.get(key)?.row;
    if (known) return known;
    const decimals = baseline?.(key);
    const facts: readonly Fact[] = decimals === undefined ? [] : [['decimals', String(decimals)]];
    const isUnknown = ({ fact }: FactOf<Row>) =>
      !rules.keptFacts(key)?.has(fact) && !facts.some(([name]) => name === fact);
    if (others.some((other) => contradictedFacts(guarded, first, other).some(isUnknown))) return undefined;
    return withFacts(kind, first, facts);
  }

  /** Gives a row the values of `keep` rules. `replaced` has the values that these replace. */
  function keptRow(key: string, row: Row): { readonly row: Row; readonly replaced: readonly Fact[] } {
    // A `keep` rule on an address is left out: it does not describe this row, but keeps other rows from replacing it.
    const facts = [...(rules.keptFacts(key) ?? [])].filter(([fact]) => fact !== 'address');
    const kept = withFacts(kind, row, facts);
    const replaced = kept === row ? [] : contradictedFacts(guarded, kept, row);
    return { row: kept, replaced: replaced.map(({ fact, of }) => [fact, of(row)]) };
  }

  /**
   * Finds since when every new listing has had exactly these rows under this key, and no `keep` rule has refused them
   * (milliseconds since 1970).
   *
   * @param isKept whether a `keep` rule refuses them now: then the time does not change
   */
  function sinceOf(key: string, present: readonly Row[], isKept: boolean): number {
    const known = heldBefore.get(key);
    const isSame = known && factsKey(guarded, ...known.rows) === factsKey(guarded, ...present);
    if (!isSame || (known.isKept && !isKept)) return sentAt;
    // If the same listing is guarded again, its period stays: it may have been restarted.
    return before?.takenAt === takenAt ? known.since : Math.min(sentAt, known.since);
  }

  /** Why a contradiction is accepted; undefined if it is held back. @param isKept as in `sinceOf` */
  function acceptedBy(
    key: string,
    facts: readonly HeldBackFact[],
    since: number,
    isKept: boolean,
  ): AcceptedBy | undefined {
    const verdicts = facts.map((each) => rules.verdictOn(key, each.fact, each.served, each.upstream));
    if (verdicts.every((verdict) => verdict === 'accept')) return 'operator';
    // The time of the answer counts, which is earlier than `since` if the answer comes from a cache.
    const isOver = holdBackMs === 0 || takenAt - since >= holdBackMs;
    return timeAccepts && !isKept && isOver ? 'time' : undefined;
  }

  /** Reserves what a row has lost when its new values were accepted, as if the earlier row had been removed. */
  function reserveLost(key: string, known: Row, row: Row): void {
    if (claimOf(known) !== undefined && claimOf(known) !== claimOf(row))
      former.set(key, { row: kind.markHeldBack(known, NOTHING_HELD_BACK), at: takenAt });
  }

  /**
   * Decides on the rows that were sent under one key. If there are several, they contradict each other. Also notes new
   * and returned rows, for `settleRemovedRows`.
   */
  function decide(key: string, present: readonly [Row, ...Row[]]): void {
    const [row] = present;
    const known = knownRow(key, present);
    if (known === undefined) return;
    const { row: expected, replaced } = keptRow(key, known);
    if (present.length === 1 && !acceptedBefore.has(key)) {
      if (acceptedBefore.size > 0 && gone.has(key)) returned.add(key);
      else if (!isFirst && !gone.has(key)) newcomers.add(key);
    }
    const differing = new Set(present.flatMap((each) => contradictedFacts(guarded, each, expected)));
    rows.set(key, row);
    if (differing.size === 0) {
      // The upstream may send the value of a rule, in place of the accepted one.
      if (replaced.length > 0) reserveLost(key, known, row);
      return;
    }
    const isKept = [...differing].some(({ fact }) => rules.keptFacts(key)?.has(fact));
    const since = sinceOf(key, present, isKept);
    const facts = [...differing].map((fact) => heldFact(fact, expected, present, since));
    const by = present.length === 1 ? acceptedBy(key, facts, since, isKept) : undefined;
    if (by !== undefined) {
      changes.push({ row, facts, by });
      reserveLost(key, known, row);
    } else {
      rows.set(key, kind.markHeldBack(expected, facts));
      // If first rows contradict each other, none is accepted: the rule's value stays after the rule is deleted.
      const isAccepted = present.length === 1 || acceptedBefore.has(key);
      held.set(key, { key, rows: present, since, accepted: isAccepted ? replaced : [], isKept });
    }
  }

  return {
    kind,
    rules,
    takenAt,
    sentAt,
    /** The guarded listing whose memory is continued: its rows as they were accepted, and its held-back rows. */
    before: { isNothing: isFirst, accepted: acceptedBefore, held: heldBefore },
    /**
     * The new listing. `newcomers` has the keys of rows that are neither listed nor known as removed (none in the very
     * first listing), `returned` those of removed rows that are sent again.
     */
    sent: { rows: sentRows, contradictory, newcomers, returned },
    /** The result, which grows with each decision: the rows to serve, the new memory, and the accepted changes. */
    next: { rows, held, gone, former, arrived, changes },
    isRecent,
    /** The chain and symbol of the row with this key, as `ListingKind.lookalikeOf` gives them. */
    lookalikeIn,
    keptRow,
    sinceOf,
    acceptedBy,
    decide,
  };
}

export function heldFact<Row>(
  { fact, of }: FactOf<Row>,
  expected: Row,
  present: readonly Row[],
  since: number,
) {
  const upstream = [...new Set(present.map(of))].join(' and ');
  return Object.freeze({ fact, served: of(expected), upstream, since });
}
