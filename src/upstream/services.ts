import { fingerprint, type ServiceFingerprints } from '../domain/fingerprint.js';
import type { Listing, ListingSource } from '../domain/listing.js';
import type { Logger } from '../logger.js';
import { createFailoverListing } from './failover.js';
import type { Lane } from './http/backoff.js';
import type { BreakerState } from './http/circuit-breaker.js';
import { createUpstreamHttp, type UpstreamHttp } from './http/client.js';
import type { RateLimiter } from './http/rate-limit.js';
import { createV1Listing } from './v1.js';
import { createValueTransferListing } from './value-transfer.js';

/** Which services are asked, and where they are. */
export interface Addresses {
  /** What the first of them speaks; `auto` changes over to the second when the first is gone. */
  readonly profile: 'v1' | 'value-transfer' | 'auto';
  /** Base address with its version segment. */
  readonly url: string;
  /** Base address of the value-transfer service, for `auto`. */
  readonly successorUrl?: string | undefined;
  /** Whether the first is the embedded demo listing. */
  readonly isDemo: boolean;
}

/** What {@link createUpstream} takes. Times are in milliseconds. */
export interface UpstreamOptions extends Addresses {
  readonly upstreamHeaders: Readonly<Record<string, string>>;
  readonly upstreamTimeoutMs: number;
  readonly upstreamRetries: number;
  readonly upstreamRequestsPerSecond: number;
  readonly upstreamMaxBytes: number;
  readonly rateLimiter: RateLimiter;
  /** Called when one service has taken the place of another. */
  readonly onChangeOver: (from: ListingSource, to: ListingSource) => void;
  readonly onAttempt: (source: ListingSource, path: string, outcome: string, seconds: number) => void;
  readonly onBreaker: (source: ListingSource, state: BreakerState, lane: Lane) => void;
  readonly log: Logger;
}

/** The upstream, whatever services it consists of. */
export interface Upstream {
  readonly listing: Listing;
  /** Ends what is under way; whoever waits for it gets an UpstreamError. */
  close(): Promise<void>;
}

/** A question that would wait longer than this for its place under the ceiling is refused. */
const MAX_WAIT_SECONDS = 30;

/** The services by what their rows are marked with. */
export function servicesOf({ profile, url, successorUrl, isDemo }: Addresses): ServiceFingerprints {
  // The demo listing is at another port each time, and always the same.
  if (isDemo) return { demo: 'demo' };
  if (profile === 'value-transfer') return { 'value-transfer': fingerprint(url) };
  return {
    v1: fingerprint(url),
    ...(profile === 'auto' && successorUrl ? { 'value-transfer': fingerprint(successorUrl) } : {}),
  };
}

/** A mark of everything that gateways which share must agree in. */
export function peerScope({ profile, url, successorUrl, isDemo }: Addresses): string {
  return isDemo
    ? 'demo'
    : fingerprint(JSON.stringify([profile, fingerprint(url), fingerprint(successorUrl ?? '')]));
}

/** Puts the services of a profile behind the seam. */
export function createUpstream(options: UpstreamOptions): Upstream {
  const { profile, url, successorUrl, isDemo, upstreamMaxBytes, onChangeOver, log } = options;
  const doors: UpstreamHttp[] = [];

  function open(source: ListingSource, baseUrl: string): UpstreamHttp {
    const http = createUpstreamHttp({
      service: source,
      baseUrl,
      headers: options.upstreamHeaders,
      timeoutMs: options.upstreamTimeoutMs,
      retries: options.upstreamRetries,
      rateLimiter: options.rateLimiter,
      maxWaiting: options.upstreamRequestsPerSecond * MAX_WAIT_SECONDS,
      maxBytes: upstreamMaxBytes,
      onAttempt: (path, outcome, seconds) => options.onAttempt(source, path, outcome, seconds),
      onBreaker: (state, lane) => options.onBreaker(source, state, lane),
      log,
    });
    doors.push(http);
    return http;
  }

  function openValueTransfer(baseUrl: string): Listing {
    return createValueTransferListing({
      http: open('value-transfer', baseUrl),
      maxBytes: upstreamMaxBytes,
      log,
    });
  }

  function openListing(): Listing {
    if (profile === 'value-transfer') return openValueTransfer(url);
    const source = isDemo ? 'demo' : 'v1';
    const v1 = createV1Listing({ http: open(source, url), source });
    if (profile === 'v1' || successorUrl === undefined) return v1;
    return createFailoverListing({
      v1,
      successor: openValueTransfer(successorUrl),
      onChangeOver: () => onChangeOver(source, 'value-transfer'),
      log,
    });
  }

  return {
    listing: openListing(),
    async close() {
      await Promise.all(doors.map((door) => door.close()));
    },
  };
}
