/** The services that can be the upstream, and the choice between them. */
import { fingerprint, type ServiceFingerprints } from '../domain/digests.js';
import { GatewayError } from '../domain/errors.js';
import type { Service, ServiceName } from '../domain/listing.js';
import { createFailoverService } from './failover.js';
import { createFieldWatch, type FieldWatchMetrics } from './field-watch.js';
import {
  createUpstreamHttp,
  type UpstreamHttp,
  type UpstreamHttpOptions,
  type UpstreamMetrics,
} from './http/client.js';
import { valueTransferToken } from './listing-kinds.js';
import { type CreateService, createRestService } from './service.js';

/** Every service that can be the upstream, by its name in `UPSTREAM_PROFILE` and in the `source` of its rows. */
export const SERVICES: Services = {
  /** `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
  v1: createRestService({
    forms: {},
    isPaged: false,
    routeQuery: ({ srcChainKey, srcToken }) => ({ srcChainKey, srcToken }),
  }),
  /**
   * The successor of v1: `GET {base}/chains` and
   * `GET {base}/tokens?transferrableFromChainKey&transferrableFromTokenAddress`, both in pages.
   */
  'value-transfer': createRestService({
    forms: { tokens: valueTransferToken },
    isPaged: true,
    routeQuery({ srcChainKey, srcToken }) {
      if (srcChainKey === undefined) {
        throw new GatewayError(
          'BAD_USER_INPUT',
          'Expected "srcChainKey" beside "srcToken", got none: one address can exist on several chains. Give the chainKey of its chain.',
        );
      }
      return { transferrableFromChainKey: srcChainKey, transferrableFromTokenAddress: srcToken };
    },
  }),
};

/** Services by name, like {@link SERVICES}. */
export type Services = Readonly<Record<string, CreateService>>;

/** The profile that uses v1 until it is gone, and the value-transfer service from then on. */
export const AUTO = 'auto';

/** The services to use. */
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

export interface UpstreamOptions extends Addresses, Omit<UpstreamHttpOptions, 'service' | 'baseUrl'> {
  /** Answers all requests in place of HTTP. The demo listings use this. */
  readonly http?: UpstreamHttp;
  /** Called when one service has replaced another. */
  readonly onChangeOver: (from: ServiceName, to: ServiceName) => void;
  readonly metrics: UpstreamMetrics & FieldWatchMetrics;
}

interface ServiceAddress {
  readonly source: ServiceName;
  readonly url: string;
  readonly createService: CreateService;
}

/** The service to use, and its successor, if any. */
function chosenServices(addresses: Addresses): [ServiceAddress, ServiceAddress?] {
  const { profile, url, successorUrl, isDemo, services = SERVICES } = addresses;
  function serviceAt(source: string, address: string): ServiceAddress {
    const createService = Object.hasOwn(services, source) ? services[source] : undefined;
    if (createService) return { source, url: address, createService };
    throw new RangeError(`Expected one of the services ${Object.keys(services).join(', ')}, got ${source}`);
  }
  if (isDemo) return [{ ...serviceAt('v1', url), source: 'demo' }];
  if (profile !== AUTO) return [serviceAt(profile, url)];
  const v1 = serviceAt('v1', url);
  return successorUrl === undefined ? [v1] : [v1, serviceAt('value-transfer', successorUrl)];
}

/** The services whose stored rows may be served: by name, the fingerprints of their addresses. */
export function fingerprintsOf(addresses: Addresses): ServiceFingerprints {
  if (addresses.isDemo) return { demo: 'demo' };
  const services = chosenServices(addresses).filter((service) => service !== undefined);
  return Object.fromEntries(services.map(({ source, url }) => [source, fingerprint(url)]));
}

/** A digest of the settings that must be equal for gateways to share snapshots. */
export function peerScope({ profile, url, successorUrl = '', isDemo }: Addresses): string {
  if (isDemo) return 'demo';
  return fingerprint(JSON.stringify([profile, fingerprint(url), fingerprint(successorUrl)]));
}

/** Creates the service for these addresses. With {@link AUTO} it is v1 with failover to its successor. */
export function createUpstream(options: UpstreamOptions) {
  const { upstreamMaxBytes: maxBytes, metrics, log } = options;
  const opened: UpstreamHttp[] = [];

  function open({ source, url, createService }: ServiceAddress): Service {
    const http = options.http ?? createUpstreamHttp({ ...options, service: source, baseUrl: url });
    opened.push(http);
    return createService({ http, source, maxBytes, watchFields: createFieldWatch(metrics, log), log });
  }

  const [first, successor] = chosenServices(options);
  const service = open(first);
  return {
    service: successor
      ? createFailoverService(service, open(successor), log, () =>
          options.onChangeOver(first.source, successor.source),
        )
      : service,
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
