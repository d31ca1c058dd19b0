import { setTimeout as sleep } from 'node:timers/promises';
import type { Listing } from './domain/listing.js';
import type { Logger } from './logger.js';
import { createSnapshots, type Snapshots, type SnapshotsOptions } from './snapshots/snapshots.js';
import { openDiskStore } from './storage/disk.js';
import { maxRecordBytes } from './storage/record.js';
import { createCeiling } from './upstream/http/rate-limit.js';
import {
  type Addresses,
  createUpstream,
  peerScope,
  servicesOf,
  type UpstreamOptions,
} from './upstream/services.js';

/** Whoever wants to know what happens between the gateway and its upstream. */
export interface Observer {
  /** One attempt: which service, which operation, `ok` or the error's code, how long in seconds. */
  upstreamRequest(...attempt: Parameters<UpstreamOptions['onAttempt']>): void;
  breaker(...change: Parameters<UpstreamOptions['onBreaker']>): void;
  changedOver(...change: Parameters<UpstreamOptions['onChangeOver']>): void;
  /** The end of a refresh: `taken`, `shared`, `held_back` and for what, or an error's code. */
  refresh(listing: string, outcome: string, heldBackFor: readonly string[]): void;
  /** So many routes were left out, since the token listing gives the same tokens other decimals. */
  conflictingRouteRows(count: number): void;
  /** Whether snapshots are shared with other gateways now; never called where no sharing is set. */
  sharing(isShared: boolean): void;
}

/** What {@link openSnapshots} takes. */
export interface OpenOptions
  extends Omit<SnapshotsOptions, 'listing' | 'fleet' | 'disk' | 'onRefresh' | 'onConflictingRouteRows'>,
    Omit<UpstreamOptions, keyof Addresses | 'ceiling' | 'onAttempt' | 'onBreaker' | 'onChangeOver'> {
  readonly addresses: Addresses;
  /** Where the listings outlive the process; nowhere if undefined. */
  readonly snapshotDir: string | undefined;
  /** Through which they are shared; not at all if undefined. */
  readonly redisUrl: string | undefined;
  /** Known to all that share, and to nobody else; with none, whoever can write to Redis is believed. */
  readonly redisSecret: string | undefined;
  /** How long Redis may take for a command, in milliseconds; a second unless given. */
  readonly redisTimeoutMs?: number | undefined;
  readonly observer: Observer;
  /** Stands between the services and the snapshots. */
  readonly decorate?: (listing: Listing) => Listing;
  readonly log: Logger;
}

/** Snapshots with all that stands behind them. */
export interface OpenSnapshots {
  readonly snapshots: Snapshots;
  /** Ends the questions to the upstream, and the waiting for other gateways; who waits gets an UpstreamError. */
  giveUp(): Promise<void>;
  /** Ends everything. */
  close(): Promise<void>;
}

/** How long a listing may still be written to disk at the end, in milliseconds. */
const WRITTEN_WITHIN_MS = 1_000;

/**
 * Puts the upstream half together, and takes up what was kept on disk; it asks the upstream nothing yet.
 *
 * @throws what `node:fs` throws where `snapshotDir` is not the path of a directory
 */
export async function openSnapshots(options: OpenOptions): Promise<OpenSnapshots> {
  const {
    addresses,
    snapshotDir,
    redisUrl,
    redisSecret,
    upstreamRequestsPerSecond,
    observer,
    decorate,
    log,
  } = options;
  const maxBytes = maxRecordBytes(options.upstreamMaxBytes);
  const services = servicesOf(addresses);
  const disk =
    snapshotDir === undefined
      ? undefined
      : await openDiskStore({ directory: snapshotDir, services, maxBytes, log });
  const fleet =
    redisUrl === undefined
      ? undefined
      : // Loaded only where it is wanted: it would cost a tenth of the time to the first answer.
        (await import('./storage/redis/peers.js')).createRedisFleet({
          url: redisUrl,
          scope: peerScope(addresses),
          secret: redisSecret,
          timeoutMs: options.redisTimeoutMs,
          maxRecordBytes: maxBytes,
          services,
          onSharing: observer.sharing,
          log,
        });
  const ceiling = createCeiling(upstreamRequestsPerSecond);
  const upstream = createUpstream({
    ...options,
    ...addresses,
    ceiling: fleet?.share(ceiling, upstreamRequestsPerSecond) ?? ceiling,
    onChangeOver(from, to) {
      observer.changedOver(from, to);
      snapshots.hurry();
    },
    onAttempt: observer.upstreamRequest,
    onBreaker: observer.breaker,
  });
  const snapshots = createSnapshots({
    ...options,
    listing: decorate?.(upstream.listing) ?? upstream.listing,
    fleet,
    disk,
    onRefresh: observer.refresh,
    onConflictingRouteRows: observer.conflictingRouteRows,
  });
  await snapshots.restore();
  return {
    snapshots,
    async giveUp() {
      fleet?.giveUp();
      await upstream.close();
    },
    async close() {
      snapshots.stop();
      await upstream.close();
      await fleet?.close();
      if (disk) await Promise.race([disk.settled(), sleep(WRITTEN_WITHIN_MS, undefined, { ref: false })]);
    },
  };
}
