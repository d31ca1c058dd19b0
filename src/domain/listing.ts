/** The data of the gateway (chains, tokens and whole listings), and the interface of the services that send it. */
import type { GuardMemory, ListingHistory } from './listing-memory.js';

/** The currency in which a chain charges fees. */
export interface NativeCurrency {
  readonly chainKey: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly address: string;
}

/**
 * The guarded facts of a row: they do not change by themselves, and a wrong one costs money. The guides call them
 * guarded values.
 */
export type GuardedFact = 'decimals' | 'symbol' | 'address' | 'chainId' | 'chainType' | 'nativeCurrency';

/** A guarded fact of a row for which the upstream sends another value than the one that is served. */
export interface HeldBackFact {
  readonly fact: GuardedFact;
  readonly served: string;
  /** The value that the upstream sends. Several values are joined by "and". */
  readonly upstream: string;
  /** Since when every new listing has had this value (milliseconds since 1970). */
  readonly since: number;
}

export const NOTHING_HELD_BACK: readonly HeldBackFact[] = Object.freeze([]);

/** A network that tokens can move from or to. `chainKey` identifies the chain; `chainId` is not unique. */
export interface Chain {
  readonly chainKey: string;
  /** The family in lower case, such as `evm`. New families can appear. */
  readonly chainType: string;
  /** A safe integer. It can exceed 2^31-1, and it can be negative. */
  readonly chainId: number;
  readonly shortName: string;
  readonly name: string;
  readonly nativeCurrency: NativeCurrency;
  /** Null if the row does not lead to an identifier, or if several chains claim it and this chain did not get it. */
  readonly caip2: string | null;
  readonly heldBack: readonly HeldBackFact[];
}

export interface Price {
  readonly usd: number;
  /** `takenAt` of the answer with this price (milliseconds since 1970). */
  readonly asOf: number;
}

/** A transferable asset on one chain. `chainKey` and `address` together identify the token. */
export interface Token {
  readonly isBridgeable: boolean;
  readonly chainKey: string;
  /** The address as the upstream writes it. Compare addresses with `foldAddress`. */
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly price: Price | null;
  /** The logo, if it is safe for a page to load; otherwise null. */
  readonly logoUrl: string | null;
  /** Empty for nearly all tokens. A token with held-back facts has no price. */
  readonly heldBack: readonly HeldBackFact[];
}

/** The members that the rows of all listings have. A chain has no address. */
export interface ListingRow {
  readonly chainKey: string;
  readonly address?: string;
  readonly heldBack: readonly HeldBackFact[];
}

/** A request for routes: the tokens that can be reached from one token. */
export interface RouteRequest {
  readonly srcChainKey?: string | undefined;
  readonly srcToken: string;
}

/** How many rows of an answer were left out, with the index and the reason of the first few. */
export interface RejectedRows {
  readonly count: number;
  readonly first: readonly string[];
}

/** Rejected rows that do not have the specified form. All other rejected rows repeat or contradict another row. */
export interface UnreadableRows {
  readonly count: number;
  readonly keys: ReadonlySet<string>;
  /** How many of these rows have no key that can be read. */
  readonly unnamed: number;
}

/** The largest listing that was served within a day, and when it was last served (milliseconds since 1970). */
export interface LargestListing {
  readonly rows: number;
  readonly at: number;
}

/** The name of a service, such as `v1`, or `demo` for demo data. Clients see it: never use an address. */
export type ServiceName = string;

export interface SourceAndAge {
  readonly source: ServiceName;
  /** When the request for the rows was sent, minus the `Age` of the answer (milliseconds since 1970). */
  readonly takenAt: number;
  /** The `Age` of the answer in milliseconds, 0 unless given. */
  readonly upstreamAgeMs?: number | undefined;
}

/**
 * When the request for rows was sent (milliseconds since 1970). Shared listings are compared by this time, and
 * refreshes are scheduled by it: by `takenAt`, a refresh would be due at once after an old answer from a cache.
 */
export function sentAtOf({ takenAt, upstreamAgeMs = 0 }: Omit<SourceAndAge, 'source'>): number {
  return takenAt + upstreamAgeMs;
}

/** A shared listing from further in the future is refused (milliseconds). The clocks of machines may differ by this time. */
export const MAX_CLOCK_DIFFERENCE_MS = 60_000;

/** A parsed answer of the upstream: the rows that can be served, in the upstream's order, frozen. */
export interface Fetched<Row> extends SourceAndAge {
  readonly rows: readonly Row[];
  readonly rejected: RejectedRows;
  /** Only in a new answer. */
  readonly unreadable?: UnreadableRows | undefined;
  /** By key, the rows that contradict each other on guarded facts. Such rows are not in `rows`. */
  readonly contradictory?: ReadonlyMap<string, readonly Row[]> | undefined;
  /** Only in a listing that is to be guarded: keys of `rows` and `contradictory`, in the upstream's order. */
  readonly order?: readonly string[] | undefined;
  /** The memory of the guard; undefined for a new answer, and for a listing that an older gateway has stored. */
  readonly guard?: GuardMemory<Row> | undefined;
  /**
   * Only in a guarded token listing. The key is a symbol in lower case. The value is the lower and the upper median of
   * this symbol's prices in the answer. Both are 0 if every price is doubted.
   */
  readonly medians?: ReadonlyMap<string, readonly [number, number]> | undefined;
  /** Only in a listing on disk: the largest listing that was served in the day before. */
  readonly largest?: LargestListing | undefined;
  /** Present in a listing on disk or in Redis, and in a first listing of the upstream that continues such a listing. */
  readonly history?: ListingHistory | undefined;
}

/** The id of a client, such as its address; undefined if unknown; null for the background sweep, which goes last. */
export type RouteClient = string | undefined | null;

/** The clients that share one request for routes. */
export interface RouteClients {
  /** Whether the token listing has the token. Requests for routes from other tokens have lower priority. */
  readonly isListed: boolean;
  /** True if only the sweep waits. Then there is no retry, and the breaker counts a failure only if the request is a probe. */
  readonly isForSweepOnly: boolean;
  /** Calls the listener with each client that waits, and with each one that joins later. */
  watch(listener: (client: RouteClient) => void): void;
}

/** Part of each description of routes. */
export const CAN_FAIL =
  'A listed route can still fail: only a quote of the transfer service shows that a transfer works now.';

export interface ListingRows {
  readonly chains: Chain;
  readonly tokens: Token;
}

/**
 * An upstream service, such as v1. `fetch` and `routes` reject only with an `UpstreamError`, or with a `GatewayError`
 * BAD_USER_INPUT for a request that the service does not support.
 */
export interface Service {
  /** The name of the service; with failover, of the service that gets the requests now. */
  readonly source: ServiceName;
  /** Fetches a whole listing, which is never empty. */
  fetch<Name extends keyof ListingRows>(name: Name): Promise<Fetched<ListingRows[Name]>>;
  /** Fetches the routes from a token, which may have none. The clients determine when the queue sends the request. */
  routes(request: RouteRequest, clients?: RouteClients): Promise<Fetched<Token>>;
  /** Called with the original service of shared or stored rows: if it is the successor, failover switches to it. */
  switchTo?(source: ServiceName): void;
  /** Ends the pauses after answers that said "gone". Called when the service has answered another gateway. */
  forgetGone?(): void;
}

/** An answer with more rows, in all its pages together, is refused. Services list about a hundredth of this number. */
export const MAX_LISTING_ROWS = 200_000;
