import type { GuardRecord } from './guard-record.js';
import type { ListingHistory } from './history.js';
import type { UpstreamError } from './upstream-error.js';

/** The currency in which a chain charges fees. */
export interface NativeCurrency {
  readonly chainKey: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly address: string;
}

/** The facts of a row that are guarded: they do not change by themselves, and a wrong one costs money. */
export type GuardedFact = 'decimals' | 'symbol' | 'address' | 'chainId' | 'chainType' | 'nativeCurrency';

/** A guarded fact of a row on which the upstream contradicts the value that is served. */
export interface HeldBackFact {
  readonly fact: GuardedFact;
  /** The value that is served: the last accepted one. */
  readonly served: string;
  /** The value that the upstream sends. */
  readonly upstream: string;
  /** When the upstream first sent it (milliseconds since 1970). */
  readonly since: number;
}

/** Of nearly all rows: nothing is held back. */
export const NOTHING_HELD_BACK: readonly HeldBackFact[] = Object.freeze([]);

/** A network that tokens move from or to. Its identity is `chainKey`; `chainId` is not unique. */
export interface Chain {
  readonly chainKey: string;
  /** Family such as `evm`, lower-case; an open set. */
  readonly chainType: string;
  /** A safe integer; it can exceed 2^31-1 and be negative. */
  readonly chainId: number;
  readonly shortName: string;
  readonly name: string;
  readonly nativeCurrency: NativeCurrency;
  /** Its CAIP-2 identifier; null if none follows from the row, or if another chain has it. */
  readonly caip2: string | null;
  /** Facts on which the upstream contradicts this row; empty for nearly all. */
  readonly heldBack: readonly HeldBackFact[];
}

export interface Price {
  readonly usd: number;
  /** `takenAt` of the answer that it came with (milliseconds since 1970). */
  readonly asOf: number;
}

/** A transferable asset on one chain. Its identity is `chainKey` and `address` together. */
export interface Token {
  readonly isBridgeable: boolean;
  readonly chainKey: string;
  /** As the upstream writes it; compare with `foldAddress`. */
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly price: Price | null;
  /** Address of its picture, safe for a page to load; null if there is none. */
  readonly logoUrl: string | null;
  /** Facts on which the upstream contradicts this row, which then has no price; empty for nearly all. */
  readonly heldBack: readonly HeldBackFact[];
}

/**
 * The two optional arguments of the token listing. With `srcToken` it asks for routes: the tokens that can be reached
 * from that token, most of them on other chains.
 */
export interface TokenFilter {
  readonly srcChainKey?: string | undefined;
  readonly srcToken?: string | undefined;
}

/** Rows of an answer that were left out. */
export interface RejectedRows {
  readonly count: number;
  /** The index and the reason of the first of them. */
  readonly first: readonly string[];
}

/** Rejected rows that do not have the form of a row; the other rejected rows are duplicates. */
export interface UnreadableRows {
  readonly count: number;
  /** The keys of those that can still be identified. */
  readonly keys: ReadonlySet<string>;
  /** How many cannot be identified. */
  readonly unnamed: number;
}

/** The largest listing that was served within a period. */
export interface LargestListing {
  readonly rows: number;
  /** When it was last served (milliseconds since 1970). */
  readonly at: number;
}

/**
 * The name of the service that the rows are from, such as `v1`, or `demo` for the embedded listing. Clients see it:
 * it must never be an address.
 */
export type ListingSource = string;

/** How old rows are. */
export interface RowsAge {
  /** When their request was sent, less the answer's `Age` (milliseconds since 1970): the rows are no older. */
  readonly takenAt: number;
  /** The `Age` of the answer, in milliseconds: caches on its way had held it for this long. 0 unless given. */
  readonly upstreamAgeMs?: number | undefined;
}

/** The source and the age of rows. */
export interface Origin extends RowsAge {
  readonly source: ListingSource;
}

/**
 * When the request for rows was sent (milliseconds since 1970). Requests are scheduled by it, and gateways that share
 * compare it: by `takenAt`, an answer that comes from a cache would be asked for again at once.
 */
export function sentAtOf({ takenAt, upstreamAgeMs = 0 }: RowsAge): number {
  return takenAt + upstreamAgeMs;
}

/** A parsed answer of the upstream: the rows that can be served, in the upstream's order, frozen. */
export interface Fetched<Row> extends Origin {
  readonly rows: readonly Row[];
  readonly rejected: RejectedRows;
  /** Only of a new answer; it is not stored. */
  readonly unreadable?: UnreadableRows | undefined;
  /**
   * Only of a new answer: the rows of each key that the answer has more than once with unequal guarded facts. None of
   * them is among `rows`.
   */
  readonly contradictory?: ReadonlyMap<string, readonly Row[]> | undefined;
  /** What is remembered of guarded values; undefined for a new answer, and for a record of an older gateway. */
  readonly guard?: GuardRecord<Row> | undefined;
  /** Only of an answer read from disk: the largest listing of the day before it was written. */
  readonly largest?: LargestListing | undefined;
  /** Only of an answer read from disk or shared by another gateway, unless an old one wrote it. */
  readonly history?: ListingHistory | undefined;
}

/** Why requests wait before they are sent, such as a pause that the upstream has asked for, and for how long. */
export interface RequestDelay {
  readonly error: UpstreamError;
  /** In milliseconds. */
  readonly leftMs: number;
}

/** A client that waits for the answer to a request for routes. */
export interface RouteClient {
  /** The address of its connection; undefined if unknown. */
  readonly client: string | undefined;
  /** Ends the waiting of this client, and of no other, with this error. */
  refuse(error: Error): void;
}

/** The clients that share one request for routes. */
export interface RouteClients {
  /** Whether the token listing has the token. Requests for routes from other tokens have lower priority. */
  readonly isListed: boolean;
  /** Calls the listener with each client that waits, and with each client that joins later. */
  watch(listener: (client: RouteClient) => void): void;
  /** Whether no client waits for the answer. Such a request is sent only if no other one waits, and is not repeated. */
  readonly isForNobody?: boolean;
}

/**
 * The seam between the upstream and the rest of the gateway: each upstream service implements this interface.
 *
 * Both methods reject only with an `UpstreamError`, or with a `GatewayError` BAD_USER_INPUT for a filter that the
 * service does not support.
 */
export interface Listing {
  /** The service that gets the requests now. */
  readonly source: ListingSource;
  /** The whole chain listing; never empty. */
  chains(): Promise<Fetched<Chain>>;
  /**
   * Without `srcToken` the token listing, which is never empty; with it the routes from that token, perhaps none.
   *
   * @param clients the clients that ask for routes; they determine the request's place in the queue
   */
  tokens(filter: TokenFilter, clients?: RouteClients): Promise<Fetched<Token>>;
  /** The delay of requests for whole listings now, and its cause; undefined if there is none. */
  delay?(): RequestDelay | undefined;
  /**
   * Tells a listing with a failover which service stored or shared rows are from. If it is the successor, this listing
   * switches to it, too.
   */
  switchTo?(source: ListingSource): void;
}

/**
 * The most rows that an answer of the upstream may have, all pages together. It is a hundred times what the services
 * list, and bounds the memory and time that an answer costs.
 */
export const MAX_ROWS = 200_000;
