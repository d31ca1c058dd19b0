/** The routes that one operation reads: consistent with its token listing, and with each other. */
import { foldAddress, foldChainKey, isNativePlaceholder, NATIVE_PLACEHOLDER } from '../domain/addresses.js';
import type { RouteRequest, Token } from '../domain/listing.js';
import { byPresentClock, createAgreement, type RouteAnswer, type RouteParts, type Routes } from './routes.js';
import type { TokenSnapshot } from './snapshot.js';

/** Routes as an operation reads them. Times are in milliseconds since 1970. */
export interface RoutesRead extends RouteAnswer {
  /** A response with these routes, or with the statement that there are none, is valid until this time. */
  readonly goodUntil: number;
}

/** The parts of the snapshots that the routes of every operation use. */
interface OperationParts extends RouteParts {
  readonly routes: Routes;
  readonly now: () => number;
}

/** Each operation has one. `tokens` is the token listing that the operation reads. */
export class OperationRoutes {
  private readonly agree = createAgreement();

  constructor(private readonly parts: OperationParts) {}

  /** The routes from a token, if no request to the upstream is needed; otherwise undefined. */
  known(request: RouteRequest, tokens: TokenSnapshot | undefined): RoutesRead | undefined {
    const none = this.noneIfUnlisted(request, tokens);
    if (none) return none;
    const answer = this.parts.routes.cached(request);
    return answer && this.reconciled(answer, request, tokens);
  }

  /**
   * Requests routes that are not `known`. Rejects with an UpstreamError, or with BAD_USER_INPUT if the service does not
   * support the request.
   */
  fetch(
    request: RouteRequest,
    tokens: TokenSnapshot | undefined,
    client: string | undefined,
  ): Promise<RouteAnswer> {
    const isListed = tokens !== undefined && listedToken(tokens, request) !== undefined;
    return this.parts.routes.fetch(request, client, isListed);
  }

  /**
   * Makes an answer without routes if a fresh listing lacks the token, or if the operator hides the token. Otherwise
   * returns undefined.
   */
  private noneIfUnlisted(request: RouteRequest, tokens: TokenSnapshot | undefined): RoutesRead | undefined {
    const { srcChainKey: chainKey, srcToken: address } = request;
    const { service, freshMs, rulesOf, now } = this.parts;
    const isHidden = chainKey !== undefined && rulesOf(tokens).hides({ chainKey, address });
    // The value-transfer service refuses a request without a chain: the client must get that error, not an empty list.
    const isUnanswerable = chainKey === undefined && service.source === 'value-transfer';
    const isUnlisted = tokens && !isUnanswerable && !listedToken(tokens, request);
    const certainMs = isHidden ? freshMs.tokens : isUnlisted ? freshMs.tokens - tokens.ageAt(Date.now()) : 0;
    if (certainMs <= 0) return undefined;
    return { rows: NONE, takenAt: Number.POSITIVE_INFINITY, isUnlisted: true, goodUntil: now() + certainMs };
  }

  /** Makes the routes consistent with the operation's token listing. */
  reconciled(answer: RouteAnswer, request: RouteRequest, tokens: TokenSnapshot | undefined): RoutesRead {
    const { routes } = this.parts;
    const isListed = tokens && listedToken(tokens, request) !== undefined;
    // If the token is not listed, the response must not be reused: it can differ once there is a fresh listing.
    const goodUntil = isListed ? routes.goodUntil(request) : 0;
    const read = { ...byPresentClock(answer), goodUntil };
    if (read.rows.length === 0) return isListed === false ? { ...read, isUnlisted: true } : read;
    return { ...read, rows: this.agree(routes.reconcile(read.rows, tokens, request)) };
  }
}

const NONE: readonly Token[] = Object.freeze([]);

/**
 * Makes the request to send. It has the chain key in lower case and, for a listed token, the address as the listing
 * spells it. The answer is cached for all spellings, so it must not depend on the spelling of the first request.
 */
export function requestWith(tokens: TokenSnapshot | undefined, asked: RouteRequest): RouteRequest {
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
