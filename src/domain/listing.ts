import type { UpstreamError } from './upstream-error.js';

/** What a chain charges fees in. */
export interface NativeCurrency {
  readonly chainKey: string;
  readonly name: string;
  readonly symbol: string;
  readonly decimals: number;
  readonly address: string;
}

/** A network that tokens move from or to. Its identity is `chainKey`; `chainId` is not unique. */
export interface Chain {
  readonly chainKey: string;
  /** Family such as `evm`, lower-case; an open set. */
  readonly chainType: string;
  /** A safe integer, which may pass 2^31-1 or be negative. */
  readonly chainId: number;
  readonly shortName: string;
  readonly name: string;
  readonly nativeCurrency: NativeCurrency;
}

/** A price in US dollars, and when the gateway asked for it (milliseconds since 1970). */
export interface Price {
  readonly usd: number;
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
  /** Address of a picture of it, safe to be loaded by a page; null where there is none. */
  readonly logoUrl: string | null;
}

/**
 * The two optional arguments of the token listing. With `srcToken` it asks for routes: the answer is what
 * can be reached from that token, most of it on other chains.
 */
export interface TokenFilter {
  readonly srcChainKey?: string | undefined;
  readonly srcToken?: string | undefined;
}

/** The rows that were left out: how many, and the first of them with their places and reasons. */
export interface RejectedRows {
  readonly count: number;
  readonly first: readonly string[];
}

/** The rows of an answer that cannot be read, for they do not have the form of a row. They are among the rejected ones. */
export interface UnreadableRows {
  readonly count: number;
  /** The keys of those that still say which row they are. */
  readonly keys: ReadonlySet<string>;
  /** How many do not. */
  readonly unnamed: number;
}

/** The largest listing of a while: how many rows it had, and when it was last served (milliseconds since 1970). */
export interface LargestListing {
  readonly rows: number;
  readonly at: number;
}

/** Which service the rows are from; shown to clients, so never an address. */
export type ListingSource = 'demo' | 'v1' | 'value-transfer';

/** Where rows are from, and how old they are. */
export interface Origin {
  readonly source: ListingSource;
  /** When the attempt that brought them was sent (milliseconds since 1970): they are at least this fresh. */
  readonly takenAt: number;
}

/** One answer of the upstream, parsed: the rows that can be served, in the upstream's order, frozen. */
export interface Fetched<Row> extends Origin {
  readonly rows: readonly Row[];
  readonly rejected: RejectedRows;
  /** Known only of an answer that has just come. */
  readonly unreadable?: UnreadableRows | undefined;
  /** Of the day before it was kept on disk; known only of what is kept there. */
  readonly largest?: LargestListing | undefined;
}

/** Why requests wait before they are sent, such as a pause that the upstream has asked for, and for how long. */
export interface RequestDelay {
  readonly error: UpstreamError;
  /** In milliseconds. */
  readonly leftMs: number;
}

/** A client that waits for the answer to a question for routes. */
export interface RouteClient {
  /** The address of its connection; undefined where that is not known. */
  readonly client: string | undefined;
  /** Ends the wait of this client alone, with this error. */
  refuse(error: Error): void;
}

/** The clients that wait for the answer to one question for routes. */
export interface RouteClients {
  /** Whether the token listing has the token; routes from other tokens stand behind those from listed ones. */
  readonly isListed: boolean;
  /**
   * Calls the listener with each client that waits, and with each one that joins later.
   *
   * @returns ends this
   */
  watch(listener: (client: RouteClient) => void): () => void;
}

/**
 * The seam: what any upstream service offers. A further service is one file that implements it.
 *
 * Both methods reject with an `UpstreamError`, or with a `GatewayError` BAD_USER_INPUT for a filter that the
 * service cannot be asked for, and with nothing else.
 */
export interface Listing {
  /** The service that is asked now. */
  readonly source: ListingSource;
  /** The chain listing, whole; never empty. */
  chains(): Promise<Fetched<Chain>>;
  /**
   * Without `srcToken` the token listing, never empty; with it the routes from there, perhaps none.
   *
   * @param clients who asks for routes, for their places in the queue
   */
  tokens(filter: TokenFilter, clients?: RouteClients): Promise<Fetched<Token>>;
  /** What delays the requests for whole listings now; undefined if nothing does. */
  delay?(): RequestDelay | undefined;
  /**
   * Tells a listing that can change its service which one others have last had rows from: this gateway
   * before it was started again, or another that shares its snapshots.
   */
  switchTo?(source: ListingSource): void;
}
