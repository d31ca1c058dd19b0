/** The services that can be the upstream, the choice between them, and the failover from v1 to its successor. */
import type { Config } from '../config/config.js';
import { fingerprint, type ServiceFingerprints } from '../domain/digests.js';
import { GatewayError } from '../domain/errors.js';
import type { Service, ServiceName } from '../domain/listing.js';
import { afterFailover, UpstreamError } from '../domain/upstream-error.js';
import { createUpstreamHttp, type UpstreamHttp, type UpstreamHttpOptions } from './http/client.js';
import { valueTransferToken } from './listing-kinds.js';
import { createRestService, type FieldWatchMetrics, type ServiceForm } from './service.js';

const SERVICES = {
  v1: {
    forms: {},
    flag: 'isBridgeable',
    isPaged: false,
    routeQuery: ({ srcChainKey, srcToken }) => ({ srcChainKey, srcToken }),
  },
  /** The successor of v1. */
  'value-transfer': {
    forms: { tokens: valueTransferToken },
    flag: 'isSupported',
    isPaged: true,
    routeQuery({ srcChainKey, srcToken }) {
      const message =
        'Expected "srcChainKey" beside "srcToken", got none: one address can exist on several chains. Give the chainKey of its chain.';
      if (srcChainKey === undefined) throw new GatewayError('BAD_USER_INPUT', message);
      return { transferrableFromChainKey: srcChainKey, transferrableFromTokenAddress: srcToken };
    },
  },
} as const satisfies Record<Exclude<Config['upstreamProfile'], 'auto'>, ServiceForm>;

export interface UpstreamOptions extends Omit<UpstreamHttpOptions, 'service' | 'baseUrl'> {
  /** Answers all requests in place of HTTP. The demo listings use this. */
  readonly http?: UpstreamHttp;
  /** Called at most once, when a request causes the failover; not called by `switchTo`. */
  readonly onChangeOver: (from: ServiceName, to: ServiceName) => void;
  readonly metrics: UpstreamHttpOptions['metrics'] & FieldWatchMetrics;
}

interface ServiceAddress {
  readonly source: ServiceName;
  readonly url: string;
  readonly form: ServiceForm;
}

/** The service that gets the requests, and its successor, if it has one. The demo data has the form of v1. */
function chosenServices(config: Config): readonly [ServiceAddress, ...ServiceAddress[]] {
  const { upstreamProfile: profile, upstreamUrl: url, upstreamSuccessorUrl: successorUrl } = config;
  if (url === undefined) return [{ source: 'demo', url: 'demo', form: SERVICES.v1 }];
  const source = profile === 'auto' ? 'v1' : profile;
  const first = { source, url, form: SERVICES[source] };
  if (profile !== 'auto' || successorUrl === undefined) return [first];
  const successor = 'value-transfer';
  return [first, { source: successor, url: successorUrl, form: SERVICES[successor] }];
}

/** The services whose stored rows may be served. */
export function fingerprintsOf(config: Config): ServiceFingerprints {
  return Object.fromEntries(chosenServices(config).map(({ source, url }) => [source, fingerprint(url)]));
}

/** A digest of the settings that must be equal for gateways to share snapshots. */
export function peerScope({ upstreamProfile, upstreamUrl = '', upstreamSuccessorUrl = '' }: Config) {
  const services = [upstreamProfile, fingerprint(upstreamUrl), fingerprint(upstreamSuccessorUrl)];
  return fingerprint(JSON.stringify(services));
}

export function createUpstream(options: UpstreamOptions) {
  const opened: UpstreamHttp[] = [];

  function open({ source, url, form }: ServiceAddress): Service {
    const http = options.http ?? createUpstreamHttp({ ...options, service: source, baseUrl: url });
    opened.push(http);
    return createRestService(form, { ...options, http, source });
  }

  const [first, successor] = chosenServices(options);
  const service = open(first);
  return {
    service: successor ? createFailoverService(service, open(successor), options) : service,
    async close() {
      await Promise.all(opened.map((http) => http.close()));
    },
  };
}

const ADVICE =
  'When it suits you, set UPSTREAM_PROFILE=value-transfer, and UPSTREAM_URL to the address of the successor';

/**
 * After v1 has said that a listing is gone, and the successor has sent it, only the successor is used. `switchTo` has the
 * same effect. If the successor fails, too, the next call tries v1 first again.
 */
function createFailoverService(
  v1: Service,
  successor: Service,
  { onChangeOver, log }: UpstreamOptions,
): Service {
  let hasSwitched = false;

  async function withFailover<Answer>(ask: (service: Service) => Promise<Answer>, switches: boolean) {
    if (hasSwitched) return ask(successor);
    try {
      return await ask(v1);
    } catch (error) {
      const isGone = error instanceof UpstreamError && error.code === 'UPSTREAM_GONE';
      // If another call has switched meanwhile, every failed call is repeated at the successor, not only a "gone" one.
      if (!isGone && !hasSwitched) throw error;
      const answer = await ask(successor).catch((thrown: unknown) => {
        throw isGone && thrown instanceof UpstreamError ? afterFailover(thrown, error) : thrown;
      });
      if (isGone && switches && !hasSwitched) {
        hasSwitched = true;
        log.warn(
          { code: error.code, detail: error.detail },
          `The v1 service says that it is gone, and its successor has answered: the listings are from the value-transfer service from now on. ${ADVICE}`,
        );
        onChangeOver(v1.source, successor.source);
      }
      return answer;
    }
  }

  return {
    get source() {
      return (hasSwitched ? successor : v1).source;
    },
    fetch: (name) => withFailover((service) => service.fetch(name), true),
    // "Gone" in answer to a request for routes does not cause a switch: the rest of the service may still work.
    routes: (request, clients) => withFailover((service) => service.routes(request, clients), false),
    forgetGone() {
      for (const each of [v1, successor]) each.forgetGone?.();
    },
    switchTo(source) {
      if (source !== successor.source || hasSwitched) return;
      hasSwitched = true;
      log.info(
        `The listings are from the value-transfer service already, as an earlier start or another gateway has found: v1 gets no more requests. ${ADVICE}`,
      );
    },
  };
}
