/**
 * Guards the facts of one listing, row by row: a row that contradicts the last accepted facts is served as it was,
 * until every listing of the hold-back period has had the same new values, or a rule of the operator accepts them. The
 * memory of the guard is stored with the served listing.
 */

import { contradictedFacts, type FactOf, factsKey } from '../domain/guarded-facts.js';
import { groupBy, keyedRows } from '../domain/keyed-rows.js';
import {
  type Fetched,
  type GuardedFact,
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
import { forEachInSteps } from '../scheduling/steps.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import { acceptedRows, clocksOf, type Fact, withFacts } from './known-rows.js';

/** The part of the operator's rules that decides on values. */
export type GuardRules = Pick<ResolvedRules, 'verdictOn' | 'keptFacts'>;

/** Finds, by the key of a new row, which decimals the token or native currency should have; undefined if nothing is known. */
export type Baseline = (key: string) => number | undefined;

export interface GuardOptions<Row> {
  readonly kind: ListingKind<Row>;
  /** The hold-back period in milliseconds. If it is infinite, only rules accept a changed value. */
  readonly holdBackMs: number;
  readonly rules: GuardRules;
  /** True if `rules` still lack rows that `keep` rules may name: until then, time accepts nothing. */
  readonly isPartial?: boolean;
  readonly baseline?: Baseline;
}

/** A listing whose rows may be served. Its guard memory has the held-back rows as the upstream sent them. */
export type GuardedListing<Row> = Fetched<Row> & { readonly guard: GuardMemory<Row> };

/** A row, and its contradicted facts. */
export interface Contradiction<Row> {
  readonly row: Row;
  readonly facts: readonly HeldBackFact[];
}

export interface GuardResult<Row> {
  readonly listing: GuardedListing<Row>;
  /** Removed rows that a new row would replace. The new row is held back, in this listing for the first time. */
  readonly waiting: readonly Contradiction<Row>[];
  readonly accepted: readonly (Contradiction<Row> & AcceptedChange)[];
  readonly rules: GuardRules;
}

/** At most this many removed rows are remembered, and as many new ones: twice the rows for which speed is promised. */
const MAX_GONE = 10_000;
/**
 * An old row is compared with at most this many new rows of its symbol, and as many recently added rows.
 * Further new rows are held back.
 */
const MAX_RIVALS = 10;
/** The guard remembers, and shares with other gateways, at most this many accepted changes. */
const MAX_ACCEPTED = 200;

/**
 * Guards the rows of a listing. It yields to requests.
 *
 * @param sent the listing as the upstream sends it
 * @param before the guarded listing that is served; undefined for the first one
 * @param peer the guarded listing of the gateway that shared `sent`: its memory and accepted changes are used, too
 */
export async function guardListing<Row extends ListingRow>(
  { kind, holdBackMs, rules, isPartial = false, baseline }: GuardOptions<Row>,
  sent: Fetched<Row>,
  before: Fetched<Row> | undefined,
  peer?: Fetched<Row>,
): Promise<GuardResult<Row>> {
  const { takenAt } = sent;
  // The hold-back period begins when the request is sent, even if the answer is from a cache and older.
  const sentAt = sentAtOf(sent);
  const isSame = before?.takenAt === takenAt;
  const { keyOf, lookalikeOf } = kind;
  const memory: GuardMemory<Row> = before?.guard ?? EMPTY_GUARD_MEMORY;
  const sharedMemory: GuardMemory<Row> = peer?.guard ?? EMPTY_GUARD_MEMORY;
  const timeAccepts = Number.isFinite(holdBackMs) && !isPartial;
  /** If time accepts nothing here, without what time has accepted at the peer. */
  const peerMemory: GuardMemory<Row> = timeAccepts
    ? sharedMemory
    : {
        ...sharedMemory,
        accepted: sharedMemory.accepted.filter(({ by }) => by === 'operator'),
        gone: sharedMemory.gone.filter(({ at }) => at > 0),
      };
  const ownRows = before ? acceptedRows(kind, before) : new Map<string, Row>();
  const sentRows = keyedRows(sent.rows, keyOf);
  const [clocks, peerClocks] = [clocksOf(memory), clocksOf(peerMemory)];
  const peerRows = peer ? acceptedRows(kind, peer) : new Map<string, Row>();
  const missed = peer
    ? missedChanges(kind, ownRows, memory.accepted, { ...peer, guard: peerMemory }, peerRows)
    : [];
  const served = new Map([...ownRows, ...missed.map(({ key, row }) => [key, row] as const)]);
  // Rows that a peer holds back and that are not listed here count as rows that were listed and removed.
  const heldByPeer = [...peerRows].flatMap(([key, row]) => {
    const since = served.has(key) ? undefined : peerClocks.get(key)?.since;
    return since === undefined ? [] : [{ row: kind.heldBack(row, NOTHING_HELD_BACK), at: since }];
  });
  const gone = new Map(
    [...heldByPeer, ...peerMemory.gone, ...memory.gone].map((each) => [keyOf(each.row), each]),
  );
  const isRecent = (at: number) => at > 0 && takenAt - at < holdBackMs;
  /** The look (chain and symbol) of the row with this key. */
  const lookIn = (among: ReadonlyMap<string, Row>, key: string) => {
    const row = among.get(key);
    return row && lookalikeOf(row);
  };
  /** The looks of rows that are listed only because a new row must not replace them yet. */
  const contested = new Set(
    memory.held.filter((each) => each.rows.length === 0).map(({ key }) => lookIn(served, key)),
  );
  const isContested = (key: string) => contested.size > 0 && contested.has(lookIn(sentRows, key));
  const arrived = new Map(memory.arrived.filter(([key, at]) => isRecent(at) || isContested(key)));
  const acceptedByPeer = new Map(
    peerMemory.accepted.filter(({ key }) => !peerClocks.has(key)).map((change) => [change.key, change]),
  );

  const rows = new Map<string, Row>();
  const held = new Map<string, HeldRow<Row>>();
  /** The keys of sent rows that are neither listed nor known as removed; none in the very first listing. */
  const newcomers = new Set<string>();
  /** The keys of removed rows that are sent again. */
  const returned = new Set<string>();
  const waiting: Contradiction<Row>[] = [];
  const accepted: (Contradiction<Row> & AcceptedChange)[] = [...missed];
  // If only demo data is stored, `before` has no rows: it is there for the history of the token list.
  const isFirst = served.size === 0 && gone.size === 0 && memory.held.length === 0;
  const factsKeyOf = (row: Row) => factsKey(kind.guarded, row);

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
    if (others.some((other) => contradictedFacts(kind.guarded, first, other).some(isUnknown)))
      return undefined;
    return withFacts(kind, first, facts);
  }

  /** Gives a row the values of `keep` rules. `accepted` has the values that these replace. */
  function keptRow(key: string, row: Row): { readonly row: Row; readonly accepted: readonly Fact[] } {
    // A `keep` rule on an address is left out: it does not describe this row, but keeps other rows from replacing it.
    const facts = [...(rules.keptFacts(key) ?? [])].filter(([fact]) => fact !== 'address');
    const kept = withFacts(kind, row, facts);
    const replaced = kept === row ? [] : contradictedFacts(kind.guarded, kept, row);
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
    const sinceIn = (known: ReadonlyMap<string, HeldRow<Row>>) => {
      const clock = known.get(key);
      const isSameRows = clock && JSON.stringify(clock.rows.map(factsKeyOf)) === values;
      return isSameRows && (isKept || !clock.isKept) ? clock.since : undefined;
    };
    const [own, ofPeer = 0] = [sinceIn(clocks), sinceIn(peerClocks)];
    // The same listing is guarded again: its own time stays, because `withNewClocks` may have moved it.
    if (own !== undefined) return isSame ? own : Math.min(sentAt, Math.max(own, ofPeer));
    // The last listing here had other rows under the key: a peer's time counts only if it is later than that listing.
    return ofPeer > (before?.takenAt ?? 0) ? Math.min(sentAt, ofPeer) : sentAt;
  }

  /** Why a contradiction is accepted, here or at a peer; undefined if it is held back. */
  function accepter(key: string, facts: readonly HeldBackFact[], value: string, since: number) {
    const verdicts = facts.map((each) => rules.verdictOn(key, each.fact, each.served, each.upstream));
    if (verdicts.includes('keep')) return undefined;
    if (verdicts.every((verdict) => verdict === 'accept')) return 'operator';
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
    const differing = new Set(present.flatMap((each) => contradictedFacts(kind.guarded, each, expected)));
    rows.set(key, row);
    if (differing.size === 0) {
      // The upstream now sends the value of a rule. It is noted as accepted, so that no other gateway brings back the
      // earlier value.
      const changed = expected === known ? [] : contradictedFacts(kind.guarded, row, known);
      const facts = changed.map((fact) => heldFact(fact, known, present, sentAt));
      if (facts.length > 0) accepted.push({ row, facts, key, value: factsKeyOf(row), by: 'operator' });
      return;
    }
    const isKept = [...differing].some(({ fact }) => rules.keptFacts(key)?.has(fact));
    const since = sinceOf(key, present, isKept);
    const facts = [...differing].map((fact) => heldFact(fact, expected, present, since));
    const by = present.length === 1 ? accepter(key, facts, factsKeyOf(row), since) : undefined;
    if (by !== undefined) accepted.push({ row, facts, key, value: factsKeyOf(row), by });
    else {
      rows.set(key, kind.heldBack(expected, facts));
      // Of several first rows, none is accepted: the value of the rule then stays without the rule.
      const isAccepted = present.length === 1 || served.has(key);
      held.set(key, { key, rows: present, since, accepted: isAccepted ? replaced : [], isKept });
    }
  }

  /**
   * Decides on the rows that are no longer sent. If the symbol of such a row now has another address on the chain, the
   * old row stays listed and the new row is held back, because this is more often a fault than a migration.
   */
  async function settleDepartures(): Promise<void> {
    const isKeptAddress = (key: string) => rules.keptFacts(key)?.has('address') === true;
    /** Whether new rows that could replace this removed row still wait: also as long as a `keep` rule refuses them. */
    const isGuarded = (key: string, at: number) => isRecent(at) || isKeptAddress(key);
    const lookOfSent = (key: string) => lookIn(sentRows, key);
    const departed = [...served].filter(([key]) => !rows.has(key));
    /** The looks of rows that a `keep` rule protects from being replaced. */
    const keptLooks = new Set(
      [...departed, ...Array.from(gone, ([key, { row }]) => [key, row] as const)]
        .filter(([key]) => isKeptAddress(key))
        .map(([, row]) => lookalikeOf(row)),
    );
    const newByLook = groupBy(newcomers, lookOfSent);
    // A symbol can also move back to an address where it was before, or to a row that was added a short time ago.
    const comingByLook = groupBy([...newcomers, ...returned], lookOfSent);
    const recent = [...arrived.keys()].filter((key) => sentRows.has(key) && served.has(key));
    const recentByLook = departed.length === 0 ? undefined : groupBy(recent, lookOfSent);
    const heldNewcomers = [...newcomers].filter((key) => clocks.has(key) || peerClocks.has(key));
    const heldByLook = groupBy(heldNewcomers, lookOfSent);
    /** The looks that {@link MAX_RIVALS} or more new rows share. */
    const crowded = new Set<string>();
    const toHoldBack = new Set<string>();
    /** The keys of new rows that are accepted in place of a row. */
    const taken = new Set<string>();
    /** The keys of the rows that `taken` replaces. */
    const settled = new Set<string>();
    /**
     * True if new rows have the symbol of this row, and all of them are held back. `goneAt`: when this row was removed;
     * undefined while it is listed.
     */
    function stays(key: string, row: Row, goneAt?: number): boolean {
      const look = lookalikeOf(row);
      if (look === undefined) return false;
      const isKept = keptLooks.has(look);
      const news = goneAt === undefined ? comingByLook : isGuarded(key, goneAt) ? newByLook : heldByLook;
      const rivals = news.get(look)?.slice(0, MAX_RIVALS) ?? [];
      if (rivals.length === MAX_RIVALS) crowded.add(look);
      if (goneAt === undefined) rivals.push(...(recentByLook?.get(look)?.slice(0, MAX_RIVALS) ?? []));
      const open: HeldBackFact[] = [];
      for (const rivalKey of rivals) {
        const rival = sentRows.get(rivalKey) as Row;
        const since = served.has(rivalKey) ? sinceOf(key, [], isKept) : sinceOf(rivalKey, [rival], isKept);
        const fact = heldFact({ fact: 'address', of: ({ address = '' }) => address }, row, [rival], since);
        const value = JSON.stringify([rivalKey, factsKeyOf(rival)]);
        const by = accepter(key, [fact], value, since);
        if (by === undefined) {
          open.push(fact);
          if (newcomers.has(rivalKey)) toHoldBack.add(rivalKey);
        } else {
          accepted.push({ row, facts: [fact], key, value, by });
          taken.add(rivalKey);
          settled.add(key);
        }
      }
      // Equal times are sorted by address, because `asSent` changes the order of the rows.
      const [fact] = open.sort(
        (one, other) => one.since - other.since || (one.upstream < other.upstream ? -1 : 1),
      );
      if (fact === undefined || open.length < rivals.length) return false;
      // Rows that were removed and are sent again are held back, too. `rivals` has such rows only while this row is listed.
      for (const rivalKey of rivals) if (returned.has(rivalKey)) toHoldBack.add(rivalKey);
      if (goneAt === undefined) {
        const kept = keptRow(key, row);
        rows.set(key, kind.heldBack(kept.row, [fact]));
        held.set(key, { key, rows: [], since: sinceOf(key, [], isKept), accepted: kept.accepted, isKept });
      } else if (fact.since === sentAt) waiting.push({ row, facts: [fact] });
      return true;
    }
    // While a row's new symbol is held back, the row is served with its old symbol. So new rows that have this old
    // symbol are held back, too.
    const oldSymbols = [...held.values()].map(({ key, rows: present }) => {
      const look = lookalikeOf(rows.get(key) as Row);
      return present.some((row) => lookalikeOf(row) === look) ? undefined : look;
    });
    await forEachInSteps(newcomers.size === 0 ? [] : gone, ([key, { row, at }]) => {
      const isOpen = (isGuarded(key, at) || heldNewcomers.length > 0) && !rows.has(key);
      if (isOpen && !stays(key, served.get(key) ?? row, at) && settled.has(key))
        gone.set(key, { row, at: 0 });
    });
    await forEachInSteps(departed, ([key, row]) => {
      const goneAt = gone.get(key)?.at;
      // A peer without the rule may have removed a row that a `keep` rule protects.
      if ((goneAt === undefined || isKeptAddress(key)) && stays(key, row)) return;
      // If the memory is full, a row that was listed only briefly is not remembered: the other rows matter more.
      const isForgotten = arrived.delete(key) && gone.size >= MAX_GONE;
      const at = settled.has(key) ? 0 : (goneAt ?? takenAt);
      if (!isForgotten) gone.set(key, { row: kind.heldBack(row, NOTHING_HELD_BACK), at });
    });
    const ofOldSymbols = [...new Set(oldSymbols)].flatMap((look) => (look && newByLook.get(look)) || []);
    const ofCrowded = [...crowded].flatMap((look) => newByLook.get(look)?.slice(MAX_RIVALS) ?? []);
    for (const key of [...toHoldBack, ...ofOldSymbols, ...ofCrowded]) {
      if (taken.has(key)) continue;
      const row = sentRows.get(key) as Row;
      const isKept = keptLooks.has(lookalikeOf(row));
      held.set(key, { key, rows: [row], since: sinceOf(key, [row], isKept), isKept });
      rows.delete(key);
    }
    for (const key of [...newcomers, ...returned]) if (rows.has(key)) arrived.set(key, takenAt);
    for (const key of rows.keys()) gone.delete(key);
  }

  const contradictory = sent.contradictory ?? new Map<string, readonly Row[]>();
  const keys = new Set([...(sent.order ?? []), ...sentRows.keys(), ...contradictory.keys()]);
  await forEachInSteps(keys, (key) => {
    const row = sentRows.get(key);
    const [first, ...others] = row ? [row] : (contradictory.get(key) ?? []);
    if (first) decide(key, [first, ...others]);
  });
  await settleDepartures();
  const { unreadable: _unreadable, order: _order, ...facts } = sent;
  const changes = accepted.map(({ key, value, by }) => ({ key, value, by }));
  const guard = {
    ...memory,
    beganAt: before && !isFirst ? memory.beganAt || before.takenAt : takenAt,
    gone: [...gone.values()].slice(-MAX_GONE),
    held: [...held.values()],
    arrived: [...arrived].slice(-MAX_GONE),
    accepted: [...memory.accepted, ...changes].slice(-MAX_ACCEPTED),
  };
  return { listing: { ...facts, rows: Object.freeze([...rows.values()]), guard }, waiting, accepted, rules };
}

/**
 * Restarts the hold-back periods of rows in the served listing, because `sent` was held back as a whole. The period of
 * a row continues if `sent` has the values that are held back. Returns `served` itself if no period restarts.
 */
export function withNewClocks<Row>(
  kind: ListingKind<Row>,
  served: GuardedListing<Row>,
  sent: Fetched<Row>,
): GuardedListing<Row> {
  const sentRows = keyedRows(sent.rows, kind.keyOf);
  const valuesOf = (rows: readonly Row[]) => JSON.stringify(rows.map((row) => factsKey(kind.guarded, row)));
  return withLaterClocks(served, ({ key, rows, since }) => {
    const row = sentRows.get(key);
    const present = sent.contradictory?.get(key) ?? (row ? [row] : []);
    return valuesOf(present) === valuesOf(rows) ? since : sentAtOf(sent);
  });
}

/**
 * Moves the beginning of hold-back periods to `beganAt` (milliseconds since 1970), if this is later. Returns `served`
 * itself if no period changes.
 */
export function withLaterClocks<Row>(
  served: GuardedListing<Row>,
  beganAt: (held: HeldRow<Row>) => number,
): GuardedListing<Row> {
  const held = served.guard.held.map((each) => ({ ...each, since: Math.max(each.since, beganAt(each)) }));
  const isSame = held.every(({ since }, nth) => since === served.guard.held[nth]?.since);
  return isSame ? served : { ...served, guard: { ...served.guard, held } };
}

/**
 * Finds the changes that a peer has accepted, and this gateway has not, in rows that the peer holds back again. In other
 * rows, the sent values show such a change. Without the last change that this gateway has accepted, the peer is behind,
 * and its values are not adopted.
 */
function missedChanges<Row>(
  kind: ListingKind<Row>,
  ownRows: ReadonlyMap<string, Row>,
  ownChanges: readonly AcceptedChange[],
  { guard = EMPTY_GUARD_MEMORY, takenAt }: Fetched<Row>,
  peerRows: ReadonlyMap<string, Row>,
): readonly (Contradiction<Row> & AcceptedChange)[] {
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

function heldFact<Row>({ fact, of }: FactOf<Row>, served: Row, present: readonly Row[], since: number) {
  const upstream = [...new Set(present.map(of))].join(' and ');
  return Object.freeze({ fact, served: of(served), upstream, since });
}

/**
 * Counts the held-back rows: listed rows, and new rows that are not listed yet. A new row that waits to replace a listed
 * row does not count, because that listed row counts. `facts` has the held-back facts on which no `keep` rule decides.
 */
export function heldBackIn<Row extends ListingRow>(
  kind: ListingKind<Row>,
  served: readonly Row[],
  { guard, rows }: Pick<GuardedListing<Row>, 'guard' | 'rows'>,
  select: (rows: readonly Row[], guard: GuardMemory<Row>) => readonly Row[],
  rules: Pick<GuardRules, 'keptFacts'>,
) {
  const { keyOf, lookalikeOf } = kind;
  const factsIn = (among: readonly Row[]) =>
    among.flatMap((row) => row.heldBack.map((each) => ({ row, ...each })));
  const isKept = ({ row, fact }: { row: Row; fact: GuardedFact }) => rules.keptFacts(keyOf(row))?.has(fact);
  const facts = factsIn(served);
  const listed = new Set(rows.map(keyOf));
  const named = new Set(
    facts.map(({ fact, row, upstream }) => fact === 'address' && keyOf({ ...row, address: upstream })),
  );
  const waiting = guard.held.filter(
    ({ key, rows: [row, ...others] }) =>
      row !== undefined && others.length === 0 && !listed.has(key) && !named.has(key),
  );
  const alone = waiting.filter(({ rows }) => select(rows, guard).length > 0);
  const fact: GuardedFact = 'address';
  // A new row waits because of removed rows with its symbol, or because of listed rows with a held-back fact.
  const causes = alone.length > 0 ? [...guard.gone.map(({ row }) => ({ row, fact })), ...factsIn(rows)] : [];
  const byLook = groupBy(causes, ({ row }) => lookalikeOf(row));
  const isOpen = ({ rows: [row] }: HeldRow<Row>) => !byLook.get(row && lookalikeOf(row))?.every(isKept);
  const open: readonly Pick<HeldBackFact, 'fact' | 'since'>[] = [
    ...facts.filter((each) => !isKept(each)),
    ...alone.filter(isOpen).map(({ since }) => ({ fact, since })),
  ];
  return { rows: served.filter(({ heldBack }) => heldBack.length > 0).length + alone.length, facts: open };
}
