/** Puts a gateway together from its settings, for the process and for the library. */
import type { Config } from './config/config.js';
import { createDemoHttp } from './demo/listings.js';
import { createGateway } from './gateway.js';
import { createDependencyCheck } from './graph/dependencies.js';
import type { Logger } from './logger/logger.js';
import type { Metrics } from './observability/metrics.js';
import { notReadyReason } from './observability/monitoring.js';
import { openSnapshots } from './open-snapshots.js';
import type { ClientLimit } from './scheduling/client-limit.js';

/**
 * This long after the start, GraphQL Yoga is loaded, unless a request has needed it before. Loading it at the
 * start would delay the first responses, and most responses do not need Yoga.
 */
const LOAD_AFTER_MS = 1_000;

/**
 * Puts together all parts of a gateway except its entry, which is the port of the process or the functions of the
 * library. Call `start` next, so that the listings are refreshed.
 */
export async function assemble({ config, metrics, log }: { config: Config; metrics: Metrics; log: Logger }) {
  const isDemo = config.upstreamUrl === undefined;
  const { snapshots, refreshOnRequest, giveUp, close } = await openSnapshots({
    ...config,
    ...(isDemo ? { http: createDemoHttp() } : {}),
    addresses: {
      profile: config.upstreamProfile,
      url: config.upstreamUrl ?? 'demo',
      successorUrl: config.upstreamSuccessorUrl,
      isDemo,
    },
    metrics,
    log,
  });
  metrics.watchListings(() => snapshots.status(Date.now()));
  let isStopping = false;
  const pageDocuments = config.trustedDocumentsOnly
    ? await (await import('./pages/page-documents.js')).pageDocuments(config.graphiql)
    : [];
  const gateway = createGateway({
    ...config,
    pageDocuments,
    snapshots,
    metrics,
    log,
    isDemo,
    isStopping: () => isStopping,
  });
  const clientLimit = await openClientLimit(config, log);
  let loading: NodeJS.Timeout | undefined;
  return {
    gateway,
    clientLimit,
    checkDependencies: createDependencyCheck(snapshots),
    /** Why the gateway should get no traffic now. Undefined if it is ready. */
    notReadyReason: () => notReadyReason(snapshots, isStopping),
    /** Starts to refresh the listings, and loads GraphQL Yoga a little later. */
    start() {
      snapshots.start();
      const load = () =>
        gateway.load().catch((err) => log.error({ err }, 'GraphQL Yoga could not be loaded'));
      loading = setTimeout(load, LOAD_AFTER_MS).unref();
    },
    /** Stops refreshing, and makes the gateway not ready. The gateway still responds to requests. */
    stop() {
      isStopping = true;
      clearTimeout(loading);
      snapshots.stop();
    },
    refreshOnRequest,
    giveUp,
    async close() {
      clientLimit?.close();
      await close();
    },
  };
}

/** Creates the limit on the operations of each client. The packages for it are loaded only if `RATE_LIMIT` is set. */
async function openClientLimit(
  { rateLimit, redisUrl }: Config,
  log: Logger,
): Promise<ClientLimit | undefined> {
  if (rateLimit === undefined) return undefined;
  const { createClientLimit } = await import('./scheduling/client-limit.js');
  const local = createClientLimit(rateLimit);
  if (redisUrl === undefined) return local;
  const { createSharedClientLimit } = await import('./storage/redis/client-limit.js');
  return createSharedClientLimit(redisUrl, local, log);
}
