/*
 * A model of guarded values: a plain second implementation of the rules, for comparison. It remembers every key for
 * ever, looks at all pairs of rows, and knows nothing of records.
 */

/** A row as the upstream sends it, or as it is expected to be served. */
export interface ModelRow {
  readonly key: string;
  /** The guarded facts by name, as they are shown. */
  readonly facts: Readonly<Record<string, string>>;
  /** The address as it is shown; undefined for a chain. */
  readonly address?: string;
  readonly usd: number | null;
}

/** A row that is expected to be served. */
export interface ExpectedRow extends ModelRow {
  /** The names of the facts that are held back, with the beginning of their clock. */
  readonly held: ReadonlyMap<string, number>;
}

/** What the operator says of a fact: a change that is right, or (`from` undefined) the only value that is. */
export interface ModelRule {
  readonly key: string;
  readonly fact: string;
  readonly from?: string;
  readonly value: string;
}

export interface ModelOptions {
  readonly holdBackMs: number;
  /** What rows look like to a person; undefined: rows cannot be mistaken for each other. */
  readonly lookOf: (row: { readonly key: string; readonly facts: ModelRow['facts'] }) => string | undefined;
  /** Facts that are known before the first listing. */
  readonly baseline?: ReadonlyMap<string, ModelRow['facts']>;
}

interface Clock {
  readonly value: string;
  readonly since: number;
}

interface Known {
  readonly facts: ModelRow['facts'];
  readonly address?: string;
}

const DOUBT_MS = 600_000;
const isFar = (one: number, other: number) => Math.max(one, other) >= 10 * Math.min(one, other);
const factsOf = (rows: readonly ModelRow[]) => JSON.stringify(rows.map(({ facts }) => facts));

/** What one gateway is expected to know and serve. */
export class GuardModel {
  /** The last accepted facts of all keys. */
  accepted = new Map<string, Known>();
  listed = new Map<string, ExpectedRow>();
  /** Since when a row has gone that was listed; 0 if another one was accepted in its place. */
  goneAt = new Map<string, number>();
  /** Since when a row is listed that was not there before, while its arrival is recent or disputed. */
  arrivedAt = new Map<string, number>();
  /** Since when every listing had this under a key. */
  clocks = new Map<string, Clock>();
  /** New and returning rows that wait to take the place of others. */
  waiting = new Set<string>();
  /** The last contradiction of each key that was accepted, by its value. */
  changes = new Map<string, string>();
  lastPrices = new Map<string, number>();
  /** Those with which the last listing was compared. */
  pricesBefore = new Map<string, number>();
  pricedAt = 0;
  doubts = new Map<string, { usd: number; since: number }>();
  at = 0;

  constructor(readonly options: ModelOptions) {}

  /**
   * Takes a listing.
   *
   * @param sent the rows of each key; several contradict each other
   * @param peer the gateway that shared it; undefined for an answer of the upstream
   */
  take(
    at: number,
    sent: ReadonlyMap<string, readonly ModelRow[]>,
    rules: readonly ModelRule[],
    peer?: GuardModel,
  ): void {
    const { holdBackMs, lookOf } = this.options;
    this.forgetArrivals(at);
    const isAnyServed = this.listed.size > 0;
    if (peer) this.learnFrom(peer);
    const isFirst = this.accepted.size === 0;
    const ownClocks = this.clocks;
    this.clocks = new Map();
    const noteClock = (key: string, value: string): number => {
      const own = ownClocks.get(key);
      const theirs = peer?.isDisputed(key) ? peer.clocks.get(key) : undefined;
      const since =
        own?.value === value
          ? Math.max(own.since, theirs?.value === value ? theirs.since : 0)
          : theirs?.value === value && theirs.since > this.at
            ? theirs.since
            : at;
      this.clocks.set(key, { value, since });
      return since;
    };
    const verdict = (key: string, fact: string, from: string, to: string) => {
      const kept = rules.find((rule) => rule.key === key && rule.fact === fact && rule.from === undefined);
      if (kept) return kept.value === to ? 'accept' : 'keep';
      const isAccepted = rules.some(
        (rule) => rule.key === key && rule.fact === fact && rule.from === from && rule.value === to,
      );
      return isAccepted ? 'accept' : undefined;
    };
    const isAccepted = (
      key: string,
      facts: readonly (readonly [fact: string, from: string, to: string])[],
      value: string,
      since: number,
    ) => {
      const verdicts = facts.map((fact) => verdict(key, ...fact));
      if (verdicts.includes('keep')) return false;
      if (verdicts.every((each) => each === 'accept')) return true;
      if (peer && !peer.isDisputed(key) && peer.changes.get(key) === value) return true;
      return at - since >= holdBackMs;
    };

    const expected = new Map<string, ExpectedRow>();
    const newcomers = new Map<string, ModelRow>();
    /** Rows that were removed earlier. */
    const returned = new Map<string, ModelRow>();
    for (const [key, rows] of sent) {
      const value = factsOf(rows);
      const since = noteClock(key, value);
      const [row] = rows;
      if (!row) continue;
      const known = this.knownOf(key, rows, rules);
      if (!known) continue;
      if (rows.length === 1 && !this.listed.has(key)) {
        if (!this.accepted.has(key) && !isFirst) newcomers.set(key, row);
        if (this.accepted.has(key) && isAnyServed) returned.set(key, row);
      }
      const names = Object.keys(row.facts).filter((fact) =>
        rows.some((each) => each.facts[fact] !== known.facts[fact]),
      );
      const facts = names.map((fact) => [fact, known.facts[fact] ?? '', row.facts[fact] ?? ''] as const);
      if (names.length === 0) expected.set(key, { ...row, held: new Map() });
      else if (rows.length === 1 && isAccepted(key, facts, value, since)) {
        this.changes.set(key, value);
        expected.set(key, { ...row, held: new Map() });
      } else {
        const held = new Map(names.map((fact) => [fact, since]));
        expected.set(key, { ...row, ...known, usd: null, held });
      }
    }

    // A symbol that moves to another address.
    const hasWaited = (key: string) => this.waiting.has(key) || peer?.waiting.has(key) === true;
    const lookOfKnown = (key: string, { facts }: Known) => lookOf({ key, facts });
    const stillWaiting = new Set<string>();
    const taken = new Set<string>();
    for (const [key, known] of this.accepted) {
      const look = lookOfKnown(key, known);
      if (look === undefined) continue;
      const rows = sent.get(key);
      const withLook = (among: ReadonlyMap<string, ModelRow>) =>
        [...among.values()].filter((row) => lookOf(row) === look);
      const rivals = withLook(newcomers);
      if (rows) {
        // While its symbol is held back, another row cannot have it.
        const hasLeft = expected.get(key)?.held.has('symbol') && rows.every((row) => lookOf(row) !== look);
        if (hasLeft) for (const rival of rivals) stillWaiting.add(rival.key);
        continue;
      }
      const absentSince = noteClock(key, 'absent');
      const isListed = this.listed.has(key);
      const goneAt = this.goneAt.get(key) ?? Number.NEGATIVE_INFINITY;
      const isRecent = at - goneAt < holdBackMs;
      const arrivals = [...this.arrivedAt]
        .filter(([arrived]) => isListed && this.listed.has(arrived))
        .flatMap(
          ([arrived]) =>
            sent.get(arrived)?.filter((row) => sent.get(arrived)?.length === 1 && lookOf(row) === look) ?? [],
        );
      // A symbol can also move back to an address where it was before.
      const news = isListed
        ? [...rivals, ...withLook(returned)]
        : rivals.filter((rival) => isRecent || hasWaited(rival.key));
      let isReplaced = false;
      const open: number[] = [];
      for (const rival of [...news, ...arrivals]) {
        const isNew = news.includes(rival);
        const since = isNew ? (this.clocks.get(rival.key)?.since ?? at) : absentSince;
        const value = `${rival.key} ${factsOf([rival])}`;
        const fact = ['address', known.address ?? '', rival.address ?? ''] as const;
        if (isAccepted(key, [fact], value, since)) {
          isReplaced = true;
          taken.add(rival.key);
          this.changes.set(key, value);
          continue;
        }
        open.push(since);
        if (newcomers.has(rival.key)) stillWaiting.add(rival.key);
      }
      // Later rows do not replace it again.
      if (isReplaced) this.goneAt.set(key, 0);
      const [since] = open.sort((one, later) => one - later);
      if (!isListed || isReplaced || since === undefined) continue;
      for (const rival of news) stillWaiting.add(rival.key);
      const row = this.listed.get(key) as ExpectedRow;
      expected.set(key, { ...row, usd: null, held: new Map([['address', since]]) });
    }
    for (const key of taken) stillWaiting.delete(key);
    for (const key of stillWaiting) expected.delete(key);
    this.waiting = stillWaiting;

    for (const [key] of this.listed) {
      if (expected.has(key)) continue;
      this.goneAt.set(key, this.goneAt.get(key) ?? at);
      this.arrivedAt.delete(key);
    }
    for (const [key, row] of expected) {
      this.goneAt.delete(key);
      this.accepted.set(key, { facts: row.facts, ...(row.address ? { address: row.address } : {}) });
      if (newcomers.has(key) || returned.has(key)) this.arrivedAt.set(key, at);
    }
    this.listed = expected;
    this.at = at;
  }

  /** Prices as they are expected to be served, after everything that is held back. */
  price(symbolOf: (row: ModelRow) => string): void {
    if (this.pricedAt !== this.at) this.pricesBefore = this.lastPrices;
    this.pricedAt = this.at;
    const bySymbol = new Map<string, number[]>();
    const usable = ({ usd }: ModelRow) => (usd !== null && usd > 0 && usd <= 1e9 ? usd : null);
    for (const row of this.listed.values()) {
      const usd = usable(row);
      const name = symbolOf(row).toLowerCase();
      if (usd !== null)
        bySymbol.set(
          name,
          [...(bySymbol.get(name) ?? []), usd].sort((a, b) => a - b),
        );
    }
    const doubts = new Map<string, { usd: number; since: number }>();
    // Also the price of a row that is listed again is compared with its last one.
    const lastPrices = new Map(this.pricesBefore);
    for (const [key, row] of this.listed) {
      const last = this.pricesBefore.get(key);
      const usd = usable(row);
      let shown = usd;
      if (usd !== null) {
        const prices = bySymbol.get(symbolOf(row).toLowerCase()) ?? [];
        // The median of an even number is between these two.
        const medians = [prices[(prices.length - 1) >> 1] ?? usd, prices[prices.length >> 1] ?? usd];
        if ([last ?? usd, ...medians].some((other) => isFar(usd, other))) {
          const doubt = this.doubts.get(key);
          const since = doubt && !isFar(doubt.usd, usd) ? doubt.since : this.at;
          doubts.set(key, { usd, since });
          if (this.at - since < DOUBT_MS) shown = null;
        }
        if (shown !== null) lastPrices.set(key, usd);
      }
      this.listed.set(key, { ...row, usd: shown });
    }
    this.doubts = doubts;
    this.lastPrices = lastPrices;
  }

  /** Copies the memory of another gateway. */
  copy(other: GuardModel): void {
    Object.assign(this, structuredClone({ ...other, options: undefined }), { options: this.options });
  }

  /** Whether this gateway holds back what the upstream sends under a key, or sends no more. */
  isDisputed(key: string): boolean {
    return this.waiting.has(key) || (this.listed.get(key)?.held.size ?? 0) > 0;
  }

  /** A row that took another one's look counts as arrived while the other one stays listed because of that. */
  private forgetArrivals(at: number): void {
    const { holdBackMs, lookOf } = this.options;
    const rows = [...this.listed.values()];
    const contested = new Set(rows.filter(({ held }) => held.has('address')).map(lookOf));
    for (const [key, since] of this.arrivedAt) {
      const row = this.listed.get(key);
      const isContested = row !== undefined && contested.has(lookOf(row));
      if (at - since >= holdBackMs && !isContested) this.arrivedAt.delete(key);
    }
  }

  /** What a peer knows of rows that this gateway has missed. */
  private learnFrom(peer: GuardModel): void {
    for (const [key, known] of peer.accepted) {
      const isListedPlainly = peer.listed.has(key) && !peer.isDisputed(key);
      if (isListedPlainly) continue;
      const goneAt = peer.goneAt.get(key) ?? peer.clocks.get(key)?.since ?? 0;
      if (!this.accepted.has(key)) {
        this.accepted.set(key, known);
        this.goneAt.set(key, goneAt);
      } else if (this.listed.has(key) && peer.goneAt.has(key) && !peer.waiting.has(key)) {
        this.listed.delete(key);
        this.arrivedAt.delete(key);
        this.goneAt.set(key, goneAt);
      }
    }
  }

  /** The facts that a key is expected to have; undefined if its rows contradict each other on others. */
  private knownOf(key: string, rows: readonly ModelRow[], rules: readonly ModelRule[]): Known | undefined {
    const [row] = rows;
    const known = this.accepted.get(key);
    const kept = rules.filter(
      (rule) => rule.key === key && rule.from === undefined && rule.fact !== 'address',
    );
    const base = known ? known.facts : (this.options.baseline?.get(key) ?? {});
    const facts = { ...base, ...Object.fromEntries(kept.map(({ fact, value }) => [fact, value])) };
    const isClear = (fact: string) =>
      fact in facts || rows.every((each) => each.facts[fact] === row?.facts[fact]);
    if (!Object.keys(row?.facts ?? {}).every(isClear)) return undefined;
    return { address: row?.address, ...known, facts: { ...row?.facts, ...facts } } as Known;
  }
}
