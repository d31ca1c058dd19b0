import type { Config } from './config.js';
import { createGateway, type Gateway } from './gateway.js';
import { createDependencyCheck, type DependencyCheck } from './graph/dependencies.js';
import type { Logger } from './logger.js';
import type { Metrics } from './observability/metrics.js';
import { notReadyReason } from './observability/monitoring.js';
import { type OpenOptions, openSnapshots } from './open-snapshots.js';
import type { ClientLimit } from './scheduling/client-limit.js';

export interface AssembleOptions {
  readonly config: Config;
  /** The path of the GraphQL endpoint; `/graphql` unless given. */
  readonly path?: string | undefined;
  /** The address of the demo listing, used without an `upstreamUrl`. */
  readonly demoUrl: string;
  /** Asks the upstream in place of the usual client. */
  readonly http?: OpenOptions['http'];
  readonly metrics: Metrics;
  readonly log: Logger;
}

/** All parts of a gateway but its door: the port of the process, or the functions of the library. */
export interface Assembled {
  readonly gateway: Gateway;
  readonly clientLimit: ClientLimit | undefined;
  readonly checkDependencies: DependencyCheck;
  /** Why it should get no traffic now; undefined if it should. */
  notReadyReason(): string | undefined;
  /** Begins to refresh the listings. */
  start(): void;
  /** Stops refreshing, and is no longer ready. Requests are still answered. */
  stop(): void;
  /** Aborts all requests to the upstream and all waiting for other gateways. */
  giveUp(): Promise<void>;
  close(): Promise<void>;
}

/** When the parts are loaded that the first answers do without. */
const LOAD_AFTER_MS = 1_000;

/** Puts a gateway together from its settings. It asks the upstream nothing before `start`. */
export async function assemble(options: AssembleOptions): Promise<Assembled> {
  const { config, path, demoUrl, http, metrics, log } = options;
  const isDemo = config.upstreamUrl === undefined;
  const { snapshots, giveUp, close } = await openSnapshots({
    ...config,
    ...(http ? { http } : {}),
    addresses: {
      profile: config.upstreamProfile,
      url: config.upstreamUrl ?? demoUrl,
      successorUrl: config.upstreamSuccessorUrl,
      isDemo,
    },
    metrics,
    log,
  });
  metrics.watchListings(() => snapshots.status(Date.now()));
  let isStopping = false;
  const pageDocuments = config.trustedDocumentsOnly
    ? (await import('./pages/page-documents.js')).pageDocuments(config.graphiql)
    : [];
  const gateway = createGateway({
    ...config,
    path,
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
    notReadyReason: () => notReadyReason(snapshots, isStopping),
    start() {
      snapshots.start();
      const load = () =>
        gateway.load().catch((err) => log.error({ err }, 'GraphQL Yoga could not be loaded'));
      // Not before: it would delay the first answers, which need the snapshots alone.
      loading = setTimeout(load, LOAD_AFTER_MS).unref();
    },
    stop() {
      isStopping = true;
      clearTimeout(loading);
      snapshots.stop();
    },
    giveUp,
    async close() {
      clientLimit?.close();
      await close();
    },
  };
}

/** Makes the limit on the operations of each client, whose packages are loaded only if there is one. */
async function openClientLimit(
  { rateLimit, redisUrl }: Config,
  log: Logger,
): Promise<ClientLimit | undefined> {
  if (rateLimit === undefined) return undefined;
  const { createClientLimit } = await import('./scheduling/client-limit.js');
  const local = createClientLimit(rateLimit);
  if (redisUrl === undefined) return local;
  const { createSharedClientLimit } = await import('./storage/redis/client-limit.js');
  return createSharedClientLimit({ url: redisUrl, local, log });
}
