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
  type AcceptedChange,
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

export type Accepted<Row> = Contradiction<Row> & AcceptedChange;

export type RowGuard<Row extends ListingRow> = ReturnType<typeof createRowGuard<Row>>;

/**
 * Creates the decisions on the rows of one listing.
 *
 * @param before the guarded listing that is served; undefined for the first one
 * @param peer the guarded listing of the gateway that shared `sent`
 */
export function createRowGuard<Row extends ListingRow>(
  { kind, holdBackMs, rules, baseline }: GuardOptions<Row>,
  sent: Fetched<Row>,
  before: Fetched<Row> | undefined,
  peer: Fetched<Row> | undefined,
) {
  const { takenAt } = sent;
  // The hold-back period begins when the request is sent, even if the answer is from a cache and older.
  const sentAt = sentAtOf(sent);
  const { keyOf, guarded, lookalikeOf } = kind;
  const memory: GuardMemory<Row> = before?.guard ?? EMPTY_GUARD_MEMORY;
  const ofPeer: GuardMemory<Row> = peer?.guard ?? EMPTY_GUARD_MEMORY;
  // Partial rules lack rows that `keep` rules may name.
  const timeAccepts = Number.isFinite(holdBackMs) && !rules.isPartial;
  /** The peer's memory. If time accepts nothing here, without the changes that time accepted there. */
  const peerMemory: GuardMemory<Row> = timeAccepts
    ? ofPeer
    : {
        ...ofPeer,
        accepted: ofPeer.accepted.filter(({ by }) => by === 'operator'),
        gone: ofPeer.gone.filter(({ at }) => at > 0),
      };
  const ownRows = before ? acceptedRows(kind, before) : new Map<string, Row>();
  const peerRows = peer ? acceptedRows(kind, peer) : new Map<string, Row>();
  const accepted = peer
    ? changesOfPeer(kind, ownRows, memory.accepted, { ...peer, guard: peerMemory }, peerRows)
    : [];
  const served = new Map([...ownRows, ...accepted.map(({ key, row }) => [key, row] as const)]);
  const sentRows = keyedRows(sent.rows, keyOf);
  const [heldBefore, heldByPeer] = [heldByKey(memory), heldByKey(peerMemory)];
  // Rows that a peer holds back and that are not listed here count as rows that were listed and removed.
  const heldByPeerOnly = [...peerRows].flatMap(([key, row]) => {
    const since = served.has(key) ? undefined : heldByPeer.get(key)?.since;
    return since === undefined ? [] : [{ row: kind.heldBack(row, NOTHING_HELD_BACK), at: since }];
  });
  const gone = new Map(
    [...heldByPeerOnly, ...peerMemory.gone, ...memory.gone].map((each) => [keyOf(each.row), each]),
  );
  const isRecent = (at: number) => at > 0 && takenAt - at < holdBackMs;
  const lookalikeIn = (among: ReadonlyMap<string, Row>, key: string) => {
    const row = among.get(key);
    return row && lookalikeOf(row);
  };
  /** The lookalikes of rows that are listed only because a new row must not replace them yet. */
  const contested = new Set(
    memory.held.filter(({ rows }) => rows.length === 0).map(({ key }) => lookalikeIn(served, key)),
  );
  const isContested = (key: string) => contested.size > 0 && contested.has(lookalikeIn(sentRows, key));
  const arrived = new Map(memory.arrived.filter(([key, at]) => isRecent(at) || isContested(key)));
  const acceptedByPeer = new Map(
    peerMemory.accepted.filter(({ key }) => !heldByPeer.has(key)).map((change) => [change.key, change]),
  );
  // If only demo data is stored, `before` has no rows: it is there for the history of the token list.
  const isFirst = served.size === 0 && gone.size === 0 && memory.held.length === 0;
  const rows = new Map<string, Row>();
  const held = new Map<string, HeldRow<Row>>();
  const newcomers = new Set<string>();
  const returned = new Set<string>();
  const factsKeyOf = (row: Row) => factsKey(guarded, row);

  /**
   * Makes the row to compare the sent rows with: the last accepted row, or else the first sent one with the decimals of
   * `baseline`. Undefined if the sent rows contradict each other on a fact that is neither known nor kept by a rule.
   */
  function knownRow(key: string, [first, ...others]: readonly [Row, ...Row[]]): Row | undefined {
    const known = served.get(key) ?? gone.get(key)?.row;
    if (known) return known;
    const decimals = baseline?.(key);
    const facts: readonly Fact[] = decimals === undefined ? [] : [['decimals', String(decimals)]];
    const isUnknown = ({ fact }: FactOf<Row>) =>
      !rules.keptFacts(key)?.has(fact) && !facts.some(([name]) => name === fact);
    if (others.some((other) => contradictedFacts(guarded, first, other).some(isUnknown))) return undefined;
    return withFacts(kind, first, facts);
  }

  /** Gives a row the values of `keep` rules. `accepted` has the values that these replace. */
  function keptRow(key: string, row: Row): { readonly row: Row; readonly accepted: readonly Fact[] } {
    // A `keep` rule on an address is left out: it does not describe this row, but keeps other rows from replacing it.
    const facts = [...(rules.keptFacts(key) ?? [])].filter(([fact]) => fact !== 'address');
    const kept = withFacts(kind, row, facts);
    const replaced = kept === row ? [] : contradictedFacts(guarded, kept, row);
    return { row: kept, accepted: replaced.map(({ fact, of }) => [fact, of(row)]) };
  }

  /**
   * Finds since when every new listing has had exactly these rows under this key, and no `keep` rule has refused them
   * (milliseconds since 1970).
   *
   * @param isKept whether a `keep` rule refuses them now: then the time does not change
   */
  function sinceOf(key: string, present: readonly Row[], isKept: boolean): number {
    const values = JSON.stringify(present.map(factsKeyOf));
    const sinceIn = (heldRows: ReadonlyMap<string, HeldRow<Row>>) => {
      const known = heldRows.get(key);
      const isSameRows = known && JSON.stringify(known.rows.map(factsKeyOf)) === values;
      return isSameRows && (isKept || !known.isKept) ? known.since : undefined;
    };
    const [own, atPeer = 0] = [sinceIn(heldBefore), sinceIn(heldByPeer)];
    // If the same listing is guarded again, its period stays: it may have been restarted.
    const isSame = before?.takenAt === takenAt;
    if (own !== undefined) return isSame ? own : Math.min(sentAt, Math.max(own, atPeer));
    // The last listing here had other rows under the key: a peer's time counts only if it is later than that listing.
    return atPeer > (before?.takenAt ?? 0) ? Math.min(sentAt, atPeer) : sentAt;
  }

  /** Why a contradiction is accepted, here or at a peer; undefined if it is held back. @param isKept as in `sinceOf` */
  function accepter(
    key: string,
    facts: readonly HeldBackFact[],
    value: string,
    since: number,
    isKept: boolean,
  ) {
    const verdicts = facts.map((each) => rules.verdictOn(key, each.fact, each.served, each.upstream));
    if (verdicts.every((verdict) => verdict === 'accept')) return 'operator';
    if (isKept) return undefined;
    const byPeer = acceptedByPeer.get(key);
    if (byPeer?.value === value) return byPeer.by;
    return timeAccepts && takenAt - since >= holdBackMs ? 'time' : undefined;
  }

  /** Decides on the rows that were sent under one key. If there are several, they contradict each other. */
  function decide(key: string, present: readonly [Row, ...Row[]]): void {
    const [row] = present;
    const known = knownRow(key, present);
    if (known === undefined) return;
    const { row: expected, accepted: replaced } = keptRow(key, known);
    if (present.length === 1 && !served.has(key)) {
      if (served.size > 0 && gone.has(key)) returned.add(key);
      else if (!isFirst && !gone.has(key)) newcomers.add(key);
    }
    const differing = new Set(present.flatMap((each) => contradictedFacts(guarded, each, expected)));
    rows.set(key, row);
    if (differing.size === 0) {
      // The upstream now sends the value of a rule. It is noted as accepted, so that no other gateway brings back the
      // earlier value.
      const changed = expected === known ? [] : contradictedFacts(guarded, row, known);
      const facts = changed.map((fact) => heldFact(fact, known, present, sentAt));
      if (facts.length > 0) accepted.push({ row, facts, key, value: factsKeyOf(row), by: 'operator' });
      return;
    }
    const isKept = [...differing].some(({ fact }) => rules.keptFacts(key)?.has(fact));
    const since = sinceOf(key, present, isKept);
    const facts = [...differing].map((fact) => heldFact(fact, expected, present, since));
    const by = present.length === 1 ? accepter(key, facts, factsKeyOf(row), since, isKept) : undefined;
    if (by !== undefined) accepted.push({ row, facts, key, value: factsKeyOf(row), by });
    else {
      rows.set(key, kind.heldBack(expected, facts));
      // If first rows contradict each other, none is accepted: the rule's value stays after the rule is deleted.
      const isAccepted = present.length === 1 || served.has(key);
      held.set(key, { key, rows: present, since, accepted: isAccepted ? replaced : [], isKept });
    }
  }

  return {
    kind,
    rules,
    takenAt,
    sentAt,
    isFirst,
    /** The rows that are served now, as they were accepted, with the changes that only a peer has accepted so far. */
    served,
    sentRows,
    /** The removed rows, and those that only a peer has listed. */
    gone,
    /** The keys of rows that were added within the hold-back period, and when. */
    arrived,
    /** The rows that are held back in the served listing, and in the peer's. */
    heldBefore,
    heldByPeer,
    /** The rows to serve, by key. */
    rows,
    held,
    accepted,
    /** The keys of sent rows that are neither listed nor known as removed; none in the very first listing. */
    newcomers,
    /** The keys of removed rows that are sent again. */
    returned,
    isRecent,
    /** The chain and symbol of the row with this key, as `ListingKind.lookalikeOf` gives them. */
    lookalikeIn,
    factsKeyOf,
    keptRow,
    sinceOf,
    accepter,
    decide,
  };
}

/**
 * Finds the changes that a peer has accepted, and this gateway has not, in rows that the peer holds back again. In other
 * rows, the sent values show such a change. Without the last change that this gateway has accepted, the peer is behind,
 * and its values are not adopted.
 */
function changesOfPeer<Row>(
  kind: ListingKind<Row>,
  ownRows: ReadonlyMap<string, Row>,
  ownChanges: readonly AcceptedChange[],
  { guard = EMPTY_GUARD_MEMORY, takenAt }: Fetched<Row>,
  peerRows: ReadonlyMap<string, Row>,
): Accepted<Row>[] {
  return guard.held.flatMap(({ key }) => {
    const [own, ofPeer] = [ownRows.get(key), peerRows.get(key)];
    const [last, ...earlier] = guard.accepted.filter((change) => change.key === key).reverse();
    if (!own || !ofPeer || last?.value !== factsKey(kind.guarded, ofPeer)) return [];
    const ownLast = ownChanges.findLast((change) => change.key === key);
    if (ownLast && !earlier.some(({ value }) => value === ownLast.value)) return [];
    const row = kind.heldBack(ofPeer, NOTHING_HELD_BACK);
    const facts = contradictedFacts(kind.guarded, own, row);
    return [{ ...last, row, facts: facts.map((fact) => heldFact(fact, own, [row], takenAt)) }];
  });
}

export function heldFact<Row>(
  { fact, of }: FactOf<Row>,
  served: Row,
  present: readonly Row[],
  since: number,
) {
  const upstream = [...new Set(present.map(of))].join(' and ');
  return Object.freeze({ fact, served: of(served), upstream, since });
}
