import { Counter, Gauge, type Registry } from 'prom-client';
import type { GuardedFact } from '../domain/listing.js';

/** The guarded facts of each listing, in the order of their importance. */
const FACTS = {
  chains: ['chainId', 'chainType', 'nativeCurrency'],
  tokens: ['decimals', 'symbol', 'address'],
} as const satisfies Record<string, readonly GuardedFact[]>;

/** Why a change was accepted: the upstream repeated it for `HOLD_BACK_MS`, or the operator has a rule for it. */
export type AcceptedBy = (typeof ACCEPTED_BY)[number];

const ACCEPTED_BY = ['time', 'operator'] as const;

/** The rows of one listing that are held back now. */
export interface HeldBackCount {
  readonly listing: string;
  /** Rows by guarded fact; a row with two facts counts for both. */
  readonly rowsByFact: ReadonlyMap<string, number>;
  /** When the oldest of them began (milliseconds since 1970); undefined without one. */
  readonly oldestSince: number | undefined;
}

/** Counts guarded values that the upstream contradicts. */
export interface HeldBackMetrics {
  /** Sets the function that returns the rows that are held back; it is called at each scrape. */
  watchHeldBack(heldBack: () => readonly HeldBackCount[]): void;
  /** A guarded fact of one row was changed to what the upstream sends. */
  acceptedChange(listing: string, fact: GuardedFact, by: AcceptedBy): void;
  /** Rows that were left out because the same answer has their keys with other guarded facts, too. */
  contradictoryRows(listing: string, count: number): void;
}

/** Creates the metrics. Each series is there from the start, so that alerts see the first change. */
export function createHeldBackMetrics(registry: Registry): HeldBackMetrics {
  const registers = [registry];
  let heldBack: () => readonly HeldBackCount[] = () => [];
  const of = (listing: string) => heldBack().find((each) => each.listing === listing);
  new Gauge({
    name: 'gateway_held_back_rows',
    help: 'Rows that are served as they were last accepted because the upstream contradicts them, by the guarded fact.',
    labelNames: ['listing', 'fact'],
    registers,
    collect() {
      for (const [listing, facts] of Object.entries(FACTS)) {
        const rows = of(listing)?.rowsByFact;
        for (const fact of facts) this.set({ listing, fact }, rows?.get(fact) ?? 0);
      }
    },
  });
  new Gauge({
    name: 'gateway_held_back_oldest_seconds',
    help: 'How long the oldest held-back row of the listing has been held back; 0 without one.',
    labelNames: ['listing'],
    registers,
    collect() {
      const now = Date.now();
      for (const listing of Object.keys(FACTS)) {
        const since = of(listing)?.oldestSince ?? now;
        this.set({ listing }, Math.max(0, now - since) / 1000);
      }
    },
  });
  const accepted = new Counter({
    name: 'gateway_accepted_changes_total',
    help: 'Changes of guarded facts that were accepted: by time (the upstream repeated them for HOLD_BACK_MS) or by the operator (LISTING_RULES).',
    labelNames: ['listing', 'fact', 'by'],
    registers,
  });
  const contradictory = new Counter({
    name: 'gateway_contradictory_rows_total',
    help: 'Rows that were left out because one answer has their key more than once with unequal guarded facts. Each refresh counts them again.',
    labelNames: ['listing'],
    registers,
  });
  for (const [listing, facts] of Object.entries(FACTS)) {
    contradictory.inc({ listing }, 0);
    for (const fact of facts) {
      for (const by of ACCEPTED_BY) accepted.inc({ listing, fact, by }, 0);
    }
  }
  return {
    watchHeldBack(count) {
      heldBack = count;
    },
    acceptedChange: (listing, fact, by) => accepted.inc({ listing, fact, by }),
    contradictoryRows: (listing, count) => contradictory.inc({ listing }, count),
  };
}
