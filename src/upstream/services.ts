import { fingerprint, type ServiceFingerprints } from '../domain/fingerprint.js';
import type { Listing, ListingSource } from '../domain/listing.js';
import type { Logger } from '../logger.js';
import { createFailoverListing } from './failover.js';
import { createFieldWatch, type FieldWatchOptions } from './field-watch.js';
import type { Lane } from './http/backoff.js';
import type { BreakerState } from './http/circuit-breaker.js';
import { createUpstreamHttp, type UpstreamHttp } from './http/client.js';
import type { RateLimiter } from './http/rate-limit.js';
import type { CreateListing } from './service.js';
import { createV1Listing } from './v1.js';
import { createValueTransferListing } from './value-transfer.js';

/**
 * Every service that can be the upstream, by its name in `UPSTREAM_PROFILE` and in the `source` of its rows. To add
 * one, write its file beside `v1.ts`, add a row here, and its name to the setting.
 */
export const SERVICES: Services = {
  v1: createV1Listing,
  'value-transfer': createValueTransferListing,
};

export type Services = Readonly<Record<string, CreateListing>>;

/** The profile that uses v1 until it is gone, and the value-transfer service from then on. */
export const AUTO = 'auto';

/** Which services to use, and where they are. */
export interface Addresses {
  /** The name of the service at `url`, or {@link AUTO}. */
  readonly profile: string;
  /** Base address with its version segment. */
  readonly url: string;
  /** Base address of the value-transfer service, for {@link AUTO}. */
  readonly successorUrl?: string | undefined;
  /** Whether `url` is the embedded demo listing, which speaks v1. */
  readonly isDemo: boolean;
  /** {@link SERVICES} unless given. */
  readonly services?: Services;
}

/** Times are in milliseconds. */
export interface UpstreamOptions extends Addresses, Pick<FieldWatchOptions, 'onFieldDrift'> {
  readonly upstreamHeaders: Readonly<Record<string, string>>;
  readonly upstreamTimeoutMs: number;
  readonly upstreamRetries: number;
  readonly upstreamRequestsPerSecond: number;
  readonly upstreamMaxBytes: number;
  readonly rateLimiter: RateLimiter;
  /** Answers all requests in place of HTTP; for the demo listing without a port. */
  readonly http?: UpstreamHttp;
  /** Called when one service has taken the place of another. */
  readonly onChangeOver: (from: ListingSource, to: ListingSource) => void;
  readonly onAttempt: (source: ListingSource, path: string, outcome: string, seconds: number) => void;
  readonly onBreaker: (source: ListingSource, state: BreakerState, lane: Lane) => void;
  readonly log: Logger;
}

/** At most as many requests for routes wait as can be sent in this time. */
const MAX_WAIT_SECONDS = 30;
/** The last of them waits no longer even if every second request is for a listing. */
const MAX_ROUTE_WAIT_MS = 2 * MAX_WAIT_SECONDS * 1_000;

interface Service {
  readonly source: ListingSource;
  readonly url: string;
  readonly createListing: CreateListing;
}

/** The service to use, and its successor, if any. */
function chosenServices(addresses: Addresses): readonly [Service, Service?] {
  const { profile, url, successorUrl, isDemo, services = SERVICES } = addresses;
  function serviceAt(name: string, address: string): Service {
    const createListing = Object.hasOwn(services, name) ? services[name] : undefined;
    if (!createListing) {
      throw new RangeError(`Expected one of the services ${Object.keys(services).join(', ')}, got ${name}`);
    }
    return { source: name, url: address, createListing };
  }
  if (isDemo) return [{ ...serviceAt('v1', url), source: 'demo' }];
  if (profile !== AUTO) return [serviceAt(profile, url)];
  const v1 = serviceAt('v1', url);
  return successorUrl === undefined ? [v1] : [v1, serviceAt('value-transfer', successorUrl)];
}

/** The services whose stored rows may be served. */
export function fingerprintsOf(addresses: Addresses): ServiceFingerprints {
  // The demo listing has another port at each start, and always the same rows.
  if (addresses.isDemo) return { demo: 'demo' };
  return Object.fromEntries(
    chosenServices(addresses).flatMap((service) =>
      service ? [[service.source, fingerprint(service.url)]] : [],
    ),
  );
}

/** A digest of the settings in which gateways must agree to share snapshots. */
export function peerScope({ profile, url, successorUrl, isDemo }: Addresses): string {
  return isDemo
    ? 'demo'
    : fingerprint(JSON.stringify([profile, fingerprint(url), fingerprint(successorUrl ?? '')]));
}

/**
 * Opens the services that the addresses name, as one listing, whether one service or two stand behind it. Nothing is
 * requested yet.
 */
export function createUpstream(options: UpstreamOptions) {
  const { upstreamMaxBytes: maxBytes, log } = options;
  const opened: UpstreamHttp[] = [];

  function open({ source, url, createListing }: Service): Listing {
    const http =
      options.http ??
      createUpstreamHttp({
        service: source,
        baseUrl: url,
        headers: options.upstreamHeaders,
        timeoutMs: options.upstreamTimeoutMs,
        retries: options.upstreamRetries,
        rateLimiter: options.rateLimiter,
        maxWaiting: options.upstreamRequestsPerSecond * MAX_WAIT_SECONDS,
        maxRouteWaitMs: MAX_ROUTE_WAIT_MS,
        maxBytes,
        onAttempt: (path, outcome, seconds) => options.onAttempt(source, path, outcome, seconds),
        onBreaker: (state, lane) => options.onBreaker(source, state, lane),
        log,
      });
    opened.push(http);
    return createListing({ http, source, maxBytes, watchFields: createFieldWatch(options), log });
  }

  const [first, successor] = chosenServices(options);
  const listing = successor
    ? createFailoverListing({
        v1: open(first),
        successor: open(successor),
        onChangeOver: () => options.onChangeOver(first.source, successor.source),
        log,
      })
    : open(first);

  return {
    listing,
    /** Aborts all requests; their callers get an UpstreamError. */
    async close() {
      await Promise.all(opened.map((http) => http.close()));
    },
  };
}
