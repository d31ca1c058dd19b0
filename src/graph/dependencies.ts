import type { Current, WasRead } from '../snapshots/snapshots.js';

/** What an answer was made from: it is what would be answered again for exactly as long as all of this is so. */
export interface Basis {
  /** The version of the chain listing; undefined where nothing of it was read. */
  readonly chains: string | undefined;
  /** The version of the token listing, without its prices where none of them was read. */
  readonly tokens: string | undefined;
  readonly hasPrices: boolean;
  /** When the token listing was fetched, where that shows. */
  readonly takenAt: number | undefined;
  /** Milliseconds since 1970. */
  readonly goodUntil: number;
  /** Until when the prices that it shows are young enough (milliseconds since 1970); infinite where it shows none. */
  readonly pricesGoodUntil: number;
}

/** What is known of a whole answer. */
export interface Whole {
  readonly basis: Basis;
  /** The operation's name, where the client gave one. */
  readonly operation: string | undefined;
}

/** What an operation has read so far that changes where its rows do not. */
export interface Reads {
  /** Whether prices, or an order or a choice by them. */
  prices: boolean;
  /** Whether the time of a price, or that it is too old: the next refresh changes these in any case. */
  times: boolean;
  /** Whether how the listings stand, which is another with each second. */
  status: boolean;
  /** Until when the prices are young enough (milliseconds since 1970). */
  pricesGoodUntil: number;
}

/** What is read before anything is. */
export function createReads(): Reads {
  return { prices: false, times: false, status: false, pricesGoodUntil: Number.POSITIVE_INFINITY };
}

/** What an answer was made from; undefined where it is good for this moment alone. */
export function basisOf(wasRead: WasRead, reads: Reads): Basis | undefined {
  const { chains, tokens, isMissing, routesGoodUntil } = wasRead;
  if (reads.status || isMissing) return undefined;
  return {
    chains: chains?.version,
    tokens: reads.prices ? tokens?.version : tokens?.rowsVersion,
    hasPrices: reads.prices,
    takenAt: reads.times ? tokens?.takenAt : undefined,
    goodUntil: Math.min(routesGoodUntil, reads.pricesGoodUntil),
    pricesGoodUntil: reads.pricesGoodUntil,
  };
}

/** Whether the same question would be answered alike from these snapshots at this time. */
export function isGood(basis: Basis, { chains, tokens }: Current, now: number): boolean {
  if (now >= basis.goodUntil) return false;
  if (basis.chains !== undefined && basis.chains !== chains?.version) return false;
  if (basis.tokens === undefined) return true;
  if (basis.takenAt !== undefined && basis.takenAt !== tokens?.takenAt) return false;
  return basis.tokens === (basis.hasPrices ? tokens?.version : tokens?.rowsVersion);
}
