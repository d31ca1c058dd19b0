/** What one operation reads: the same snapshots from beginning to end, and routes that agree with them. */
import {
  foldAddress,
  foldChainKey,
  isNativePlaceholder,
  NATIVE_PLACEHOLDER,
} from '../../domain/addresses.js';
import type { Listing, Token, TokenFilter } from '../../domain/listing.js';
import type { ResolvedRules } from '../../domain/listing-rules.js';
import type { Logger } from '../../logger.js';
import type { Freshness, ListingReads, Reads, StaleListing } from '../freshness.js';
import type { Refresher } from '../refresher.js';
import { createAgreement, type Reconcile } from '../routes/route-rows.js';
import type { RouteAnswer, Routes } from '../routes/routes.js';
import type { ChainSnapshot, Snapshot, TokenSnapshot } from '../snapshot.js';
import type { RouteMapVersion, Sources, TokenSources } from '../sources/sources.js';

/** The snapshots that are served now; each is undefined before the first. */
export interface ServedSnapshots {
  readonly chains: ChainSnapshot | undefined;
  readonly tokens: TokenSnapshot | undefined;
}

/** All that responses are made from beside the map of routes. */
export interface ServedState extends ServedSnapshots {
  /** The operator's rules, with the rows that they are about. */
  readonly rules: object;
}

/** The snapshots that one operation has read; undefined for a listing that it has not. */
export interface ReadSnapshots extends ServedSnapshots {
  /** Whether a listing was read that has no snapshot: the response changes when there is one. */
  readonly isMissing: boolean;
  /** The routes in the response; undefined if there are none. */
  readonly routes?: Readonly<RoutesRead> | undefined;
  /** The version of the map of routes; undefined if it was not read. */
  readonly routeMap?: RouteMapVersion | undefined;
}

/** The routes that one operation has read. Times are in milliseconds since 1970. */
export interface RoutesRead {
  /** Until when all of them stay cached. */
  goodUntil: number;
  /** `takenAt` of the oldest; undefined if there is none. */
  takenAt: number | undefined;
  /** See {@link Routes.evictions}. */
  readonly evictions: number;
  /** The operator's rules when the first routes were read: they also apply to rows that the token listing lacks. */
  readonly rules: Pick<ResolvedRules, 'hides'>;
}

/** What the views of all operations read. */
export interface ViewSources {
  readonly listing: Pick<Listing, 'source'>;
  readonly refreshers: {
    readonly chains: Refresher<ChainSnapshot>;
    readonly tokens: Refresher<TokenSnapshot>;
  };
  /** Undefined if routes are not swept. */
  readonly sources: Sources | undefined;
  readonly routes: Routes;
  readonly reconcile: Reconcile;
  /** The operator's rules now. */
  readonly operator: () => Pick<ResolvedRules, 'hides'>;
  /** The present (milliseconds since 1970). */
  readonly now: () => number;
  /** The freshness of the listings that were read. */
  freshness(of: ServedSnapshots, read: Reads, now: number): Freshness;
  readonly log: Logger;
}

/**
 * The state of the world that one operation reads. Once it has returned a snapshot it returns the same one to the
 * operation's end, whatever is refreshed meanwhile.
 */
export type View = Pick<OperationView, keyof OperationView>;

/** A class, since one is made for every operation, and most operations need a few of its methods. */
export class OperationView {
  private readonly pinned: {
    readonly chains: PinnedSnapshot<ChainSnapshot>;
    readonly tokens: PinnedSnapshot<TokenSnapshot>;
  };
  private routesRead: RoutesRead | undefined;
  private agree: ReturnType<typeof createAgreement> | undefined;
  private routeMapRead: RouteMapVersion | undefined;

  /** @param client its address; undefined if unknown */
  constructor(
    private readonly held: ViewSources,
    private readonly client: string | undefined,
  ) {
    const { chains, tokens } = held.refreshers;
    this.pinned = { chains: new PinnedSnapshot(chains), tokens: new PinnedSnapshot(tokens) };
  }

  /** The present by which the age of prices is measured (milliseconds since 1970). */
  now(): number {
    return this.held.now();
  }

  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot> {
    return this.pinned.chains.read();
  }

  /** As `chains`. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot> {
    return this.pinned.tokens.read();
  }

  /** Whether routes are swept, so that `sources` is not null. */
  get isSwept(): boolean {
    return this.held.sources !== undefined;
  }

  /**
   * What can reach this token; null if routes are not swept.
   *
   * @param tokens the token listing of this operation
   * @throws UpstreamError while nothing is known
   */
  sources(tokens: TokenSnapshot, chainKey: string, address: string): TokenSources | null {
    const { sources } = this.held;
    if (!sources) return null;
    this.routeMapRead ??= sources.version();
    return sources.sourcesOf(tokens, chainKey, address);
  }

  /** The snapshots of this operation, for a use that does not show in the response. */
  untracked(): ServedSnapshots {
    return { chains: this.pinned.chains.arrived, tokens: this.pinned.tokens.arrived };
  }

  /** The snapshots that the response depends on so far. */
  readSnapshots(): ReadSnapshots {
    const { chains, tokens } = this.pinned;
    return {
      chains: chains.snapshotRead,
      tokens: tokens.snapshotRead,
      isMissing: (chains.isRead && !chains.arrived) || (tokens.isRead && !tokens.arrived),
      routes: this.routesRead,
      routeMap: this.routeMapRead,
    };
  }

  /** Sets which listings count as read from now on. @returns which of them did until now */
  swapReads(reads: ListingReads): ListingReads {
    const { chains, tokens } = this.pinned;
    const before = { chains: chains.isRead, tokens: tokens.isRead };
    chains.isRead = reads.chains;
    tokens.isRead = reads.tokens;
    return before;
  }

  /**
   * The snapshots in the response that are stale, and its routes. Snapshots that were read only to make a request to
   * the upstream are not among them.
   *
   * @param now milliseconds since 1970
   */
  staleReads(now: number): readonly StaleListing[] {
    const { chains, tokens, routes } = this.readSnapshots();
    const isRead = { chains: chains !== undefined, tokens: tokens !== undefined };
    return this.held.freshness({ chains, tokens }, { ...isRead, routesTakenAt: routes?.takenAt }, now).stale;
  }

  /** The request as the upstream gets it: a listed chain's key and token's address are spelled as the upstream spells them. */
  async routeRequest(filter: TokenFilter): Promise<TokenFilter> {
    return requestWith(await this.listingFor(filter), filter);
  }

  /** The routes, if they can be had at once and without the upstream; undefined otherwise. As `routes`. */
  cachedRoutes(filter: TokenFilter): RouteAnswer | undefined {
    const tokens = this.pinned.tokens.readUntrackedIfPresent();
    if (!tokens || tokens instanceof Promise) return undefined;
    const request = requestWith(tokens, filter);
    const none = this.noneIfUnlisted(tokens, request);
    if (none) return none;
    const answer = this.held.routes.cached(request);
    return answer && this.reconciled(answer, tokens, request);
  }

  /**
   * The upstream's own answer, with each row as the token listing has it. While the listing is fresh and lacks the
   * token, there are no routes, and the upstream is not asked. Rejects with an UpstreamError.
   */
  async routes(request: TokenFilter): Promise<RouteAnswer> {
    const tokens = await this.listingFor(request);
    const none = this.noneIfUnlisted(tokens, request);
    if (none) return none;
    const isKnown = tokens !== undefined && isListed(tokens, request);
    const answer = await this.held.routes.tokens(request, this.client, isKnown);
    return this.reconciled(answer, tokens ?? (await this.listingFor(request)), request);
  }

  /** The pinned listing, untracked; undefined if there is none. */
  private async listingFor({ srcChainKey }: TokenFilter): Promise<TokenSnapshot | undefined> {
    const { tokens } = this.pinned;
    // A token without a chain is sent as it is, which needs no listing.
    const pinned = srcChainKey === undefined ? tokens.readUntrackedIfPresent() : tokens.readUntracked();
    return Promise.resolve(pinned).catch(() => undefined);
  }

  /** What the response depends on from the first routes on. */
  private routesSoFar(): RoutesRead {
    const { operator, routes } = this.held;
    this.routesRead ??= {
      goodUntil: Number.POSITIVE_INFINITY,
      takenAt: undefined,
      evictions: routes.evictions(),
      rules: operator(),
    };
    return this.routesRead;
  }

  /** No routes, if it is known that there are none. */
  private noneIfUnlisted(tokens: TokenSnapshot | undefined, request: TokenFilter): RouteAnswer | undefined {
    const unlistedMs = this.unlistedForMs(tokens, request);
    if (unlistedMs === 0) return undefined;
    this.held.log.debug({ ...request }, 'No routes, without asking: the token is not listed');
    if (tokens) this.pinned.tokens.read();
    const read = this.routesSoFar();
    read.goodUntil = Math.min(read.goodUntil, this.now() + unlistedMs);
    return { rows: NONE, takenAt: tokens?.takenAt ?? this.now() };
  }

  /**
   * For how long (milliseconds) it is known that there are no routes: the listing is fresh and lacks the token, or the
   * operator hides it.
   */
  private unlistedForMs(tokens: TokenSnapshot | undefined, request: TokenFilter): number {
    const { srcChainKey: chainKey, srcToken: address } = request;
    const { listing, refreshers } = this.held;
    const { freshMs } = refreshers.tokens;
    const { rules } = this.routesSoFar();
    if (chainKey !== undefined && address !== undefined && rules.hides({ chainKey, address })) return freshMs;
    if (!tokens) return 0;
    // The value-transfer service does not support this: the client gets its error, and not an empty list.
    const isUnanswerable = chainKey === undefined && listing.source === 'value-transfer';
    if (isUnanswerable || isListed(tokens, request)) return 0;
    return Math.max(0, freshMs - tokens.ageAt(Date.now()));
  }

  /** The answer as it is served beside the operation's listing. The response depends on both from here. */
  private reconciled(
    answer: RouteAnswer,
    tokens: TokenSnapshot | undefined,
    request: TokenFilter,
  ): RouteAnswer {
    const { routes, reconcile } = this.held;
    const read = this.routesSoFar();
    read.goodUntil = Math.min(read.goodUntil, routes.goodUntil(request));
    read.takenAt = Math.min(read.takenAt ?? answer.takenAt, answer.takenAt);
    // An empty answer depends on no listing.
    if (answer.rows.length === 0) return answer;
    if (tokens) this.pinned.tokens.read();
    // The response would differ with a listing.
    else read.goodUntil = 0;
    this.agree ??= createAgreement();
    return { ...answer, rows: this.agree(reconcile(answer.rows, tokens, request)) };
  }
}

/**
 * The snapshot of one listing that one operation reads: the same one from its first read to its end. A class, since
 * one is made for every operation, and an object literal with getters takes ten times as long to make.
 */
class PinnedSnapshot<Pinned extends Snapshot<unknown>> {
  private pinned: Pinned | Promise<Pinned> | undefined;
  /** Whether the response depends on it. */
  isRead = false;
  /** The pinned snapshot; undefined before it is there. */
  arrived: Pinned | undefined;

  /** Pins the present snapshot, or, if there is none, the one that the first read finds. */
  constructor(private readonly refresher: Refresher<Pinned>) {
    this.arrived = refresher.snapshot;
    this.pinned = this.arrived;
  }

  /** The snapshot, or the one being fetched. The response depends on it. Rejects with an UpstreamError. */
  read(): Pinned | Promise<Pinned> {
    // Hot path: called for each row of a join.
    this.isRead = true;
    return this.pinned ?? this.readUntracked();
  }

  /** As `read`, for a use that does not show in the response. */
  readUntracked(): Pinned | Promise<Pinned> {
    if (this.pinned === undefined) {
      const pinned = this.refresher.current();
      this.pinned = pinned;
      const arrive = (snapshot: Pinned) => {
        this.arrived = snapshot;
      };
      // Callers that await it see the failure. Without one it must not be an unhandled rejection.
      if (pinned instanceof Promise) pinned.then(arrive, () => {});
      else arrive(pinned);
    }
    return this.pinned;
  }

  /** As `readUntracked`, but undefined rather than wait for a first snapshot that this operation has not asked for. */
  readUntrackedIfPresent(): Pinned | Promise<Pinned> | undefined {
    return this.pinned ?? (this.refresher.snapshot ? this.readUntracked() : undefined);
  }

  /** The snapshot that the response depends on; undefined if `read` was not called, or has brought none yet. */
  get snapshotRead(): Pinned | undefined {
    return this.isRead ? this.arrived : undefined;
  }
}

const NONE: readonly Token[] = Object.freeze([]);

/** The key as rows have it, and the address as the upstream writes it. Without a listing the address is sent as given. */
function requestWith(
  tokens: TokenSnapshot | undefined,
  { srcChainKey: asked, srcToken }: TokenFilter,
): TokenFilter {
  const srcChainKey = asked && foldChainKey(asked);
  if (srcToken === undefined) return { srcChainKey };
  const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
  if (srcChainKey === undefined) return { srcToken: asGiven };
  return { srcChainKey, srcToken: tokens?.byAddress(srcChainKey, srcToken)?.address ?? asGiven };
}

/** The folded addresses of a listing, by its indexes, which snapshots that differ only in prices share. */
const listedAddresses = new WeakMap<TokenSnapshot['indexes'], ReadonlySet<string>>();

/** Whether the listing has the token that the routes start from. Without a chain, a token on any chain counts. */
function isListed(listing: TokenSnapshot, { srcChainKey, srcToken }: TokenFilter): boolean {
  if (srcToken === undefined) return false;
  if (srcChainKey !== undefined) return listing.byAddress(srcChainKey, srcToken) !== undefined;
  const { rows, indexes } = listing;
  const addresses = listedAddresses.get(indexes) ?? new Set(rows.map(({ address }) => foldAddress(address)));
  listedAddresses.set(indexes, addresses);
  return addresses.has(foldAddress(srcToken));
}
