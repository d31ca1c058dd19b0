/** Connects the upstream, the storage and the snapshots. */
import { setTimeout as sleep } from 'node:timers/promises';
import { readEmbeddedFacts } from './demo/listings.js';
import type { Service } from './domain/listing.js';
import type { Logger } from './logger/logger.js';
import type { Metrics } from './observability/metrics.js';
import { createSnapshots, type SnapshotsOptions } from './snapshots/snapshots.js';
import { openDiskStore } from './storage/disk.js';
import { openRulesFile } from './storage/rules-file.js';
import { createRateLimiter } from './upstream/http/rate-limit.js';
import {
  type Addresses,
  createUpstream,
  fingerprintsOf,
  peerScope,
  type UpstreamOptions,
} from './upstream/services.js';

export interface OpenOptions
  extends Omit<SnapshotsOptions, 'service' | 'peers' | 'disk' | 'embedded' | 'rules' | 'metrics'>,
    Omit<UpstreamOptions, keyof Addresses | 'rateLimiter' | 'onChangeOver' | 'metrics'> {
  readonly addresses: Addresses;
  readonly snapshotDir: string | undefined;
  readonly listingRules: string | undefined;
  readonly redisUrl: string | undefined;
  /** A Redis command that takes longer than this (ms) fails; 1,000 unless given. */
  readonly redisTimeoutMs?: number | undefined;
  readonly metrics: Omit<Metrics, 'connectionCut' | 'watchListings' | 'expose'>;
  readonly decorate?: (service: Service) => Service;
  readonly log: Logger;
}

/** The default of `ROUTES_SWEEP_MS` for demo data: the routes of about two tokens are then requested each second. */
const DEMO_SWEEP_MS = 180_000;
/** `close` waits at most this long for writes to the disk, which usually take far less. */
const WRITTEN_WITHIN_MS = 1_000;

/**
 * Connects upstream, storage and snapshots, and restores the listings from disk.
 *
 * @throws an error of `node:fs` if `snapshotDir` is not the path of a directory, or if the file of rules is
 *   unreadable; ListingRulesError if its rules are invalid
 */
export async function openSnapshots(options: OpenOptions) {
  const { addresses, snapshotDir, listingRules, redisUrl, metrics, log } = options;
  const { upstreamRequestsPerSecond, decorate = (service) => service } = options;
  const services = fingerprintsOf(addresses);
  const disk = snapshotDir ? await openDiskStore(snapshotDir, services, log, metrics.stored) : undefined;
  // Loaded only if needed: loading it makes the time until the first response a tenth longer.
  const redis = redisUrl ? await import('./storage/redis/peers.js') : undefined;
  const redisPeers = redis?.createRedisPeers({
    url: redisUrl ?? '',
    scope: peerScope(addresses),
    timeoutMs: options.redisTimeoutMs,
    services,
    onSharing: metrics.sharing,
    log,
  });
  const rulesFile = listingRules
    ? await openRulesFile(listingRules, (rules) => snapshots.applyRules(rules), log)
    : undefined;
  const rateLimiter = createRateLimiter(upstreamRequestsPerSecond);
  const upstream = createUpstream({
    ...options,
    ...addresses,
    rateLimiter: redisPeers?.share(rateLimiter, upstreamRequestsPerSecond) ?? rateLimiter,
    onChangeOver(from, to) {
      metrics.changedOver(from, to);
      snapshots.refreshNow();
    },
  });
  const snapshots = createSnapshots({
    ...options,
    routesSweepMs: options.routesSweepMs ?? (addresses.isDemo ? DEMO_SWEEP_MS : undefined),
    service: decorate(upstream.service),
    peers: redisPeers,
    disk,
    embedded: readEmbeddedFacts,
    rules: rulesFile?.rules,
  });
  metrics.watchHeldBack(snapshots.heldBack);
  if (snapshots.sweepStatus) metrics.sweep.watch(snapshots.sweepStatus);
  await snapshots.restore();
  return {
    snapshots,
    /** Refreshes both listings now, even if the upstream has said that it is gone. Other pauses still apply. */
    refreshOnRequest() {
      upstream.forgetGone();
      return snapshots.refreshOnRequest();
    },
    /** Aborts all requests to the upstream, and no longer waits for other gateways. Callers get an UpstreamError. */
    async giveUp() {
      redisPeers?.giveUp();
      await upstream.close();
    },
    /** Stops refreshing, closes the upstream and Redis, and waits a little for writes to the disk. */
    async close() {
      rulesFile?.close();
      snapshots.stop();
      await upstream.close();
      await redisPeers?.close();
      if (disk) await Promise.race([disk.settled(), sleep(WRITTEN_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
