/** The data that one operation reads: the same snapshots from beginning to end, and routes consistent with them. */
import { foldAddress, foldChainKey, isNativePlaceholder, NATIVE_PLACEHOLDER } from '../domain/addresses.js';
import type { RouteRequest, Service, Token } from '../domain/listing.js';
import type { ResolvedRules } from '../domain/listing-rules.js';
import { UpstreamError } from '../domain/upstream-error.js';
import { type FreshMs, freshnessOf, type StaleListing } from './freshness.js';
import { byPresentClock, createAgreement, type Reconcile, type RouteAnswer, type Routes } from './routes.js';
import { type IndexedListings, LISTING_NAMES, type ListingName, type TokenSnapshot } from './snapshot.js';
import type { Sources } from './sources.js';

/** Routes as an operation reads them. Times are in milliseconds since 1970. */
export interface RoutesRead extends RouteAnswer {
  /** A response with these routes, or with the statement that there are none, is valid until this time. */
  readonly goodUntil: number;
  /** For routes that are no longer fresh: the version of the map of swept routes. The sweep can replace such routes. */
  readonly routeMap?: number | undefined;
}

type Reading<Name extends ListingName> = IndexedListings[Name] | Promise<IndexedListings[Name]>;

/** The parts of the snapshots that every view uses. */
export interface ViewParts {
  readonly service: Pick<Service, 'source'>;
  readonly refreshers: {
    readonly [Name in ListingName]: {
      readonly snapshot: IndexedListings[Name] | undefined;
      current(): Promise<IndexedListings[Name]>;
    };
  };
  readonly freshMs: FreshMs;
  readonly sources: Sources | undefined;
  readonly routes: Routes;
  readonly reconcile: Reconcile;
  readonly currentRules: () => Pick<ResolvedRules, 'hides'>;
  readonly now: () => number;
  readonly onWaited: (reason: 'upstream', seconds: number) => void;
}

/**
 * One operation waits for the upstream at most this long in all (milliseconds). The earlier waits, in the
 * queue and for an equal request, add about two seconds. Thus a request ends within 30 s, before
 * common proxies give up.
 */
export const MAX_UPSTREAM_WAIT_MS = 25_000;

const LATE = `The upstream did not answer within the ${MAX_UPSTREAM_WAIT_MS / 1_000} s for which an operation waits. Try again in a few seconds.`;

/**
 * The consistent state that one operation reads: the snapshots that were served when its execution began. If
 * a listing had no snapshot yet, the view waits for its first one. `View` is a class, because a view is made
 * for every operation, and most operations use few of its methods.
 */
export class View {
  /** The snapshot of each listing, or a promise of its first one. */
  private readonly pinned = {} as Record<ListingName, Reading<ListingName> | undefined>;
  private agree: ReturnType<typeof createAgreement> | undefined;
  /** Whether the operation has got routes by an earlier call of `routes`. */
  private hasRoutes = false;

  /** @param waitsUntil when the operation stops waiting for the upstream, on the monotonic clock */
  constructor(
    private readonly parts: ViewParts,
    private readonly client: string | undefined,
    private readonly waitsUntil: number,
  ) {
    for (const name of LISTING_NAMES) this.pinned[name] = parts.refreshers[name].snapshot;
  }

  /** Waits for an answer of the upstream. Rejects with UPSTREAM_TIMEOUT when the operation may wait no longer. */
  private async wait<Answer>(answer: Promise<Answer>, isByClient = false): Promise<Answer> {
    const from = performance.now();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      const fail = () => reject(new UpstreamError('UPSTREAM_TIMEOUT', LATE, { isByClient }));
      timer = setTimeout(fail, Math.max(0, this.waitsUntil - from));
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
      this.parts.onWaited('upstream', (performance.now() - from) / 1_000);
    }
  }

  /** Reads a listing: its snapshot, or a promise of the first one, which can reject with an UpstreamError. */
  read<Name extends ListingName>(name: Name): Reading<Name> {
    // Hot path: called for each row of a join.
    const known = this.pinned[name];
    if (known) return known as Reading<Name>;
    const pinned = this.wait<IndexedListings[ListingName]>(this.parts.refreshers[name].current());
    this.pinned[name] = pinned;
    const arrive = (snapshot: IndexedListings[ListingName]) => {
      this.pinned[name] = snapshot;
    };
    // Callers see the failure. If no caller waits, it must not become an unhandled rejection.
    pinned.then(arrive, () => {});
    return pinned as Reading<Name>;
  }

  /** The snapshot of a listing, if there is one. */
  snapshot<Name extends ListingName>(name: Name): IndexedListings[Name] | undefined {
    const pinned = this.pinned[name];
    return pinned instanceof Promise ? undefined : (pinned as IndexedListings[Name] | undefined);
  }

  /** The sources; undefined without a sweep. */
  get sources(): Sources | undefined {
    return this.parts.sources;
  }

  /** The operator's rules, which hide routes. */
  rules(): object {
    return this.parts.currentRules();
  }

  /** The stale listings among `read`, and the routes if the oldest routes are stale. */
  staleOf(read: readonly ListingName[], routesTakenAt: number, now: number): readonly StaleListing[] {
    const listings = read.filter((name) => this.snapshot(name));
    return freshnessOf((name) => this.snapshot(name), { listings, routesTakenAt }, this.parts.freshMs, now)
      .stale;
  }

  /** The same as `routes`, if no wait and no request is needed; otherwise undefined. */
  cachedRoutes(asked: RouteRequest): RoutesRead | undefined {
    const tokens = this.tokensIfPresent();
    if (!tokens || tokens instanceof Promise) return undefined;
    const request = requestWith(tokens, asked);
    const none = this.noneIfUnlisted(tokens, request);
    if (none) return none;
    const answer = this.parts.routes.cached(request);
    return answer && this.reconciled(answer, tokens, request);
  }

  /**
   * The routes from a token, with the rows of the token listing. If a fresh listing lacks the source token, or the
   * operator hides it, there are no routes, and no request is sent. Rejects with an UpstreamError, or with
   * BAD_USER_INPUT if the service does not support the request.
   */
  async routes(asked: RouteRequest): Promise<RoutesRead> {
    const tokens = await this.listingFor(asked);
    const request = requestWith(tokens, asked);
    const none = this.noneIfUnlisted(tokens, request);
    if (none) return none;
    const isKnown = tokens !== undefined && listedToken(tokens, request) !== undefined;
    const pending = this.parts.routes.tokens(request, this.client, isKnown);
    // If the operation has waited for other routes before, it counts as the cause of a timeout.
    const answer = await this.wait(pending, this.hasRoutes);
    this.hasRoutes = true;
    return this.reconciled(answer, tokens ?? (await this.listingFor(request)), request);
  }

  /** The token listing, or a promise of it if the operation already waits for it. */
  private tokensIfPresent(): TokenSnapshot | Promise<TokenSnapshot> | undefined {
    return (this.pinned.tokens ?? this.parts.refreshers.tokens.snapshot) && this.read('tokens');
  }

  /** Like `tokensIfPresent`, but waits for the first listing if the request needs it; undefined if this wait fails. */
  private async listingFor({ srcChainKey }: RouteRequest): Promise<TokenSnapshot | undefined> {
    // A request without a chain does not wait for the first listing: it is then sent as the client wrote it.
    const tokens = srcChainKey === undefined ? this.tokensIfPresent() : this.read('tokens');
    return Promise.resolve(tokens).catch(() => undefined);
  }

  /** An answer without routes, if a fresh listing lacks the token or the operator hides the token; else undefined. */
  private noneIfUnlisted(tokens: TokenSnapshot | undefined, request: RouteRequest): RoutesRead | undefined {
    const { srcChainKey: chainKey, srcToken: address } = request;
    const { service, freshMs, currentRules, now } = this.parts;
    const isHidden = chainKey !== undefined && currentRules().hides({ chainKey, address });
    // The value-transfer service refuses a request without a chain: the client must get that error, not an empty list.
    const isUnanswerable = chainKey === undefined && service.source === 'value-transfer';
    const isUnlisted = tokens && !isUnanswerable && !listedToken(tokens, request);
    const certainMs = isHidden ? freshMs.tokens : isUnlisted ? freshMs.tokens - tokens.ageAt(Date.now()) : 0;
    if (certainMs <= 0) return undefined;
    return { rows: NONE, takenAt: Number.POSITIVE_INFINITY, isUnlisted: true, goodUntil: now() + certainMs };
  }

  /** Makes the routes consistent with the operation's token listing. */
  private reconciled(
    answer: RouteAnswer,
    tokens: TokenSnapshot | undefined,
    request: RouteRequest,
  ): RoutesRead {
    const { routes, reconcile, freshMs } = this.parts;
    const present = byPresentClock(answer);
    const isListed = tokens && listedToken(tokens, request) !== undefined;
    // If the token is not listed, the response must not be reused: it can differ once there is a fresh listing.
    const goodUntil = isListed ? routes.goodUntil(request) : 0;
    const isOld = this.parts.now() - present.takenAt > freshMs.routes;
    const routeMap = isOld ? this.sources?.version() : undefined;
    const read = { ...present, goodUntil, routeMap };
    if (read.rows.length === 0) return isListed === false ? { ...read, isUnlisted: true } : read;
    this.agree ??= createAgreement();
    return { ...read, rows: this.agree(reconcile(read.rows, tokens, request)) };
  }
}

const NONE: readonly Token[] = Object.freeze([]);

/**
 * The request to send: the chain key in lower case and, for a listed token, the address as the listing spells it. The
 * answer is cached for all spellings, so it must not depend on the spelling that came first.
 */
function requestWith(tokens: TokenSnapshot | undefined, asked: RouteRequest): RouteRequest {
  const srcChainKey = asked.srcChainKey && foldChainKey(asked.srcChainKey);
  const { srcToken } = asked;
  const asGiven = isNativePlaceholder(srcToken) ? NATIVE_PLACEHOLDER : srcToken;
  return { srcChainKey, srcToken: (tokens && listedToken(tokens, asked))?.address ?? asGiven };
}

/** The listed token that the routes start from; without a chain, any listed token with this address. */
function listedToken(listing: TokenSnapshot, { srcChainKey, srcToken }: RouteRequest): Token | undefined {
  if (srcChainKey !== undefined) return listing.byAddress(srcChainKey, srcToken);
  const { addresses, rowAt } = listing.indexes;
  const [place] = addresses.get(foldAddress(srcToken)) ?? [];
  return place === undefined ? undefined : listing.rows[rowAt[place] ?? 0];
}
