/** The services that can be the upstream, and the choice between them. */
import { fingerprint, type ServiceFingerprints } from '../domain/digests.js';
import type { Service, ServiceName } from '../domain/listing.js';
import type { Logger } from '../logger/logger.js';
import { createFailoverService } from './failover.js';
import { createFieldWatch, type FieldWatchOptions } from './field-watch.js';
import type { Lane } from './http/backoff.js';
import type { BreakerState } from './http/circuit-breaker.js';
import { createUpstreamHttp, type UpstreamHttp } from './http/client.js';
import type { RateLimiter } from './http/rate-limit.js';
import type { CreateService } from './service.js';
import { createV1Service } from './v1.js';
import { createValueTransferService } from './value-transfer.js';

/**
 * Every service that can be the upstream, by its name in `UPSTREAM_PROFILE` and in the `source` of its rows. To add
 * one, write its file beside `v1.ts`, and add a row here and the name to the setting.
 */
export const SERVICES: Services = {
  v1: createV1Service,
  'value-transfer': createValueTransferService,
};

export type Services = Readonly<Record<string, CreateService>>;

/** The profile that uses v1 until it is gone, and the value-transfer service from then on. */
export const AUTO = 'auto';

/** The services to use, and their addresses. */
export interface Addresses {
  /** The name of the service at `url`, or {@link AUTO}. */
  readonly profile: string;
  /** Base address with its version segment. */
  readonly url: string;
  /** Base address of the value-transfer service, for {@link AUTO}. */
  readonly successorUrl?: string | undefined;
  /** Whether the demo listings take the place of an upstream. They have the form of v1. */
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
  /** Answers all requests in place of HTTP. The demo listings use this. */
  readonly http?: UpstreamHttp;
  /** Called when one service has replaced another. */
  readonly onChangeOver: (from: ServiceName, to: ServiceName) => void;
  readonly onAttempt: (source: ServiceName, path: string, outcome: string, seconds: number) => void;
  readonly onBreaker: (source: ServiceName, state: BreakerState, lane: Lane) => void;
  readonly log: Logger;
}

/** The longest wait of a request for routes. At most as many requests wait as can be sent in this time. */
const MAX_ROUTE_WAIT_SECONDS = 20;

interface ServiceAddress {
  readonly source: ServiceName;
  readonly url: string;
  readonly createService: CreateService;
}

/** The service to use, and its successor, if any. */
function chosenServices(addresses: Addresses): readonly [ServiceAddress, ServiceAddress?] {
  const { profile, url, successorUrl, isDemo, services = SERVICES } = addresses;
  function serviceAt(name: string, address: string): ServiceAddress {
    const createService = Object.hasOwn(services, name) ? services[name] : undefined;
    if (!createService) {
      throw new RangeError(`Expected one of the services ${Object.keys(services).join(', ')}, got ${name}`);
    }
    return { source: name, url: address, createService };
  }
  if (isDemo) return [{ ...serviceAt('v1', url), source: 'demo' }];
  if (profile !== AUTO) return [serviceAt(profile, url)];
  const v1 = serviceAt('v1', url);
  return successorUrl === undefined ? [v1] : [v1, serviceAt('value-transfer', successorUrl)];
}

/** The services whose stored rows may be served, each with the fingerprint of its address. */
export function fingerprintsOf(addresses: Addresses): ServiceFingerprints {
  if (addresses.isDemo) return { demo: 'demo' };
  return Object.fromEntries(
    chosenServices(addresses).flatMap((service) =>
      service ? [[service.source, fingerprint(service.url)]] : [],
    ),
  );
}

/** A digest of the settings that must be equal for gateways to share snapshots. */
export function peerScope({ profile, url, successorUrl, isDemo }: Addresses): string {
  return isDemo
    ? 'demo'
    : fingerprint(JSON.stringify([profile, fingerprint(url), fingerprint(successorUrl ?? '')]));
}

/**
 * Creates the service for these addresses. With {@link AUTO} it is v1 with failover to its successor. It sends no
 * request yet.
 */
export function createUpstream(options: UpstreamOptions) {
  const { upstreamMaxBytes: maxBytes, log } = options;
  const opened: UpstreamHttp[] = [];

  function open({ source, url, createService }: ServiceAddress): Service {
    const http =
      options.http ??
      createUpstreamHttp({
        service: source,
        baseUrl: url,
        headers: options.upstreamHeaders,
        timeoutMs: options.upstreamTimeoutMs,
        retries: options.upstreamRetries,
        rateLimiter: options.rateLimiter,
        maxWaiting: options.upstreamRequestsPerSecond * MAX_ROUTE_WAIT_SECONDS,
        maxRouteWaitMs: 1_000 * MAX_ROUTE_WAIT_SECONDS,
        maxBytes,
        onAttempt: (path, outcome, seconds) => options.onAttempt(source, path, outcome, seconds),
        onBreaker: (state, lane) => options.onBreaker(source, state, lane),
        log,
      });
    opened.push(http);
    return createService({ http, source, maxBytes, watchFields: createFieldWatch(options), log });
  }

  const [first, successor] = chosenServices(options);
  const service = successor
    ? createFailoverService({
        v1: open(first),
        successor: open(successor),
        onChangeOver: () => options.onChangeOver(first.source, successor.source),
        log,
      })
    : open(first);

  return {
    service,
    /** Allows requests to services that have said that they are gone. */
    forgetGone() {
      for (const http of opened) http.forgetGone();
    },
    /** Aborts all requests; their callers get an UpstreamError. */
    async close() {
      await Promise.all(opened.map((http) => http.close()));
    },
  };
}
