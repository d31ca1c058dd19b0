import type { TokenFilter } from '../../domain/listing.js';
import type { Freshness, ListingName, ListingReads, Reads, StaleListing } from '../freshness.js';
import type { Refresher } from '../refresher.js';
import type { ChainSnapshot, TokenSnapshot } from '../snapshot.js';
import type { RouteMapVersion, Sources, TokenSources } from '../sources/sources.js';
import { PinnedSnapshot } from './pinned-snapshot.js';
import { createRouteView, type RoutesRead, type RouteView, type RouteViewOptions } from './route-view.js';

/**
 * The state of the world that one operation reads. Once it has returned a snapshot it returns the same one to the
 * operation's end, whatever is refreshed meanwhile.
 */
export interface View extends Omit<RouteView, 'read'> {
  /** The present by which the age of prices is measured (milliseconds since 1970). */
  now(): number;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  chains(): ChainSnapshot | Promise<ChainSnapshot>;
  /** Without a promise if there is a snapshot; otherwise it waits for the first. Rejects with an UpstreamError. */
  tokens(): TokenSnapshot | Promise<TokenSnapshot>;
  /** Whether routes are swept, so that `sources` is not null. */
  readonly isSwept: boolean;
  /**
   * What can reach this token; null if routes are not swept.
   *
   * @param tokens the token listing of this operation
   * @throws UpstreamError while nothing is known
   */
  sources(tokens: TokenSnapshot, chainKey: string, address: string): TokenSources | null;
  /** The snapshots of this operation, for a use that does not show in the response. */
  untracked(): ServedSnapshots;
  /** Resolves when each of these listings is there or has failed. */
  arrival(listings: readonly ListingName[]): Promise<void>;
  /**
   * The snapshots in the response that are stale, and its routes. Snapshots that were read only to make a request to
   * the upstream are not among them.
   *
   * @param now milliseconds since 1970
   */
  staleReads(now: number): readonly StaleListing[];
  /** The snapshots that the response depends on so far. */
  readSnapshots(): ReadSnapshots;
  /** Sets which listings count as read from now on. @returns which of them did until now */
  swapReads(reads: ListingReads): ListingReads;
}

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
  readonly routes?: RoutesRead | undefined;
  /** The version of the map of routes; undefined if it was not read. */
  readonly routeMap?: RouteMapVersion | undefined;
}

/** What the views of all operations read. */
export interface ViewSources {
  readonly chains: Refresher<ChainSnapshot>;
  readonly tokens: Refresher<TokenSnapshot>;
  /** Undefined if routes are not swept. */
  readonly sources: Sources | undefined;
  /** The options that the routes of all operations share. */
  readonly ofAllRoutes: Omit<RouteViewOptions, 'pinnedTokens' | 'client'>;
  /** The present (milliseconds since 1970). */
  readonly now: () => number;
  /** The freshness of the listings that were read. */
  freshness(of: ServedSnapshots, read: Reads, now: number): Freshness;
}

/** A class, since one is made for every operation, and most operations need a few of its methods. */
export class OperationView implements View {
  private readonly pinnedChains: PinnedSnapshot<ChainSnapshot>;
  private readonly pinnedTokens: PinnedSnapshot<TokenSnapshot>;
  private madeRouteView: RouteView | undefined;
  private routeMapRead: RouteMapVersion | undefined;

  /** @param client its address; undefined if unknown */
  constructor(
    private readonly held: ViewSources,
    private readonly client: string | undefined,
  ) {
    this.pinnedChains = new PinnedSnapshot(held.chains);
    this.pinnedTokens = new PinnedSnapshot(held.tokens);
  }

  get isSwept(): boolean {
    return this.held.sources !== undefined;
  }

  now(): number {
    return this.held.now();
  }

  chains(): ChainSnapshot | Promise<ChainSnapshot> {
    return this.pinnedChains.read();
  }

  tokens(): TokenSnapshot | Promise<TokenSnapshot> {
    return this.pinnedTokens.read();
  }

  sources(tokens: TokenSnapshot, chainKey: string, address: string): TokenSources | null {
    const { sources } = this.held;
    if (!sources) return null;
    this.routeMapRead ??= sources.version();
    return sources.sourcesOf(tokens, chainKey, address);
  }

  untracked(): ServedSnapshots {
    return { chains: this.pinnedChains.arrived, tokens: this.pinnedTokens.arrived };
  }

  async arrival(listings: readonly ListingName[]): Promise<void> {
    const pins = { chains: this.pinnedChains, tokens: this.pinnedTokens };
    await Promise.allSettled(listings.map((name) => pins[name].readUntracked()));
  }

  routeRequest(filter: TokenFilter) {
    return this.routeView().routeRequest(filter);
  }

  cachedRoutes(filter: TokenFilter) {
    return this.routeView().cachedRoutes(filter);
  }

  routes(request: TokenFilter) {
    return this.routeView().routes(request);
  }

  readSnapshots(): ReadSnapshots {
    const { pinnedChains, pinnedTokens } = this;
    return {
      chains: pinnedChains.snapshotRead,
      tokens: pinnedTokens.snapshotRead,
      isMissing: pinnedChains.readFailed || pinnedTokens.readFailed,
      routes: this.madeRouteView?.read(),
      routeMap: this.routeMapRead,
    };
  }

  swapReads({ chains, tokens }: ListingReads): ListingReads {
    return { chains: this.pinnedChains.swapRead(chains), tokens: this.pinnedTokens.swapRead(tokens) };
  }

  staleReads(now: number): readonly StaleListing[] {
    const read = { chains: this.pinnedChains.snapshotRead, tokens: this.pinnedTokens.snapshotRead };
    const isRead = {
      chains: read.chains !== undefined,
      tokens: read.tokens !== undefined,
      routesTakenAt: this.madeRouteView?.read().takenAt,
    };
    return this.held.freshness(read, isRead, now).stale;
  }

  private routeView(): RouteView {
    const { pinnedTokens, client } = this;
    this.madeRouteView ??= createRouteView({ ...this.held.ofAllRoutes, pinnedTokens, client });
    return this.madeRouteView;
  }
}
