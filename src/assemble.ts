/** Puts a gateway together from its settings, for the process and for the library. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Config, servesDemo } from './config/config.js';
import { createDemoHttp, readDemoFacts } from './demo/listings.js';
import type { Service } from './domain/listing.js';
import { createGateway } from './gateway.js';
import { createDependencyCheck } from './graph/dependencies.js';
import type { Logger } from './logger/logger.js';
import type { Metrics } from './observability/metrics.js';
import { createMonitoring, notReadyReason } from './observability/monitoring.js';
import { createClientLimit } from './scheduling/client-limit.js';
import { createSnapshots, type Snapshots } from './snapshots/snapshots.js';
import { NO_PEERS } from './snapshots/stores.js';
import { openDiskStore } from './storage/disk.js';
import { openRulesFile } from './storage/rules-file.js';
import { createRateLimiter } from './upstream/http/rate-limit.js';
import { createUpstream, fingerprintsOf, peerScope } from './upstream/services.js';

export interface AssembleOptions {
  readonly config: Config;
  readonly metrics: Metrics;
  readonly log: Logger;
  /** Only tests set this and the next two options. */
  readonly firstPauseMs?: number | undefined;
  readonly redisTimeoutMs?: number | undefined;
  readonly decorate?: ((service: Service) => Service) | undefined;
}

/** The default of `ROUTES_SWEEP_MS` for demo data: the routes of about two tokens are then requested each second. */
const DEMO_SWEEP_MS = 180_000;
/** `close` waits at most this long for writes to the disk. */
const WRITTEN_WITHIN_MS = 1_000;
/** GraphQL Yoga is loaded this long after the start: before, loading it would delay responses that do not need it. */
const LOAD_AFTER_MS = 1_000;

/**
 * Also restores the listings from disk. Call `start` next, so that they are refreshed.
 *
 * @throws an error of `node:fs` if `snapshotDir` is not the path of a directory, or if the file of rules is
 *   unreadable; ListingRulesError if its rules are invalid
 */
export async function assemble(options: AssembleOptions) {
  const { config, metrics, log, decorate = (service) => service } = options;
  const { snapshotDir, listingRules, redisUrl, upstreamRequestsPerSecond } = config;
  const isDemo = servesDemo(config);
  const services = fingerprintsOf(config);
  const disk = snapshotDir ? await openDiskStore(snapshotDir, services, log, metrics.stored) : undefined;
  // Redis is loaded only if it is used: otherwise the first response would take a tenth longer.
  const redis = redisUrl ? await import('./storage/redis/peers.js') : undefined;
  const redisPeers = redis?.createRedisPeers({
    url: redisUrl ?? '',
    scope: peerScope(config),
    timeoutMs: options.redisTimeoutMs,
    services,
    onSharing: metrics.sharing,
    log,
  });
  const applyRules: Snapshots['applyRules'] = (rules) => snapshots.applyRules(rules);
  const rulesFile = listingRules ? await openRulesFile(listingRules, applyRules, log) : undefined;
  const rateLimiter = createRateLimiter(upstreamRequestsPerSecond);
  const upstream = createUpstream({
    ...config,
    ...(isDemo ? { http: createDemoHttp() } : {}),
    rateLimiter: redisPeers?.share(rateLimiter, upstreamRequestsPerSecond) ?? rateLimiter,
    onChangeOver(from, to) {
      metrics.changedOver(from, to);
      snapshots.refreshNow();
    },
    metrics,
    log,
  });
  const snapshots = createSnapshots({
    ...config,
    firstPauseMs: options.firstPauseMs,
    routesSweepMs: config.routesSweepMs ?? (isDemo ? DEMO_SWEEP_MS : undefined),
    service: decorate(upstream.service),
    peers: redisPeers ?? NO_PEERS,
    disk,
    demoFacts: readDemoFacts(),
    rules: rulesFile?.rules,
    metrics,
    log,
  });
  metrics.watchSnapshots(snapshots);
  await snapshots.restore();

  let isStopping = false;
  const notReady = () => notReadyReason(snapshots, isStopping);
  const monitoring = createMonitoring(notReady, isDemo, metrics, log);
  const pageDocuments = config.trustedDocumentsOnly
    ? await (await import('./pages/page-documents.js')).pageDocuments(config.graphiql)
    : [];
  const gateway = createGateway({ ...config, pageDocuments, snapshots, monitoring, metrics, log });
  const localLimit = config.rateLimit && createClientLimit(config.rateLimit);
  const clientLimit = localLimit && (redisPeers?.limitClients(localLimit) ?? localLimit);
  let loading: NodeJS.Timeout | undefined;
  return {
    gateway,
    snapshots,
    monitoring,
    clientLimit,
    checkDependencies: createDependencyCheck(snapshots),
    notReadyReason: notReady,
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
    /** Asks for both listings now, even if the upstream has said that it is gone. See `refreshOnRequest` of a refresher. */
    refreshOnRequest() {
      upstream.service.forgetGone?.();
      return snapshots.refreshOnRequest();
    },
    /** Aborts all requests to the upstream, so each rejects with an UpstreamError. Stops waiting for other gateways. */
    async giveUp() {
      redisPeers?.giveUp();
      await upstream.close();
    },
    async close() {
      rulesFile?.close();
      snapshots.stop();
      await upstream.close();
      await redisPeers?.close();
      if (disk) await Promise.race([disk.settled(), sleep(WRITTEN_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
