/** Shares listings, routes and the right to request them between gateways, through one Redis. */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import * as v from 'valibot';
import type { ServiceFingerprints } from '../../domain/digests.js';
import { type Fetched, sentAtOf } from '../../domain/listing.js';
import type { ClientLimit } from '../../scheduling/client-limit.js';
import {
  type LeaseResult,
  type Peers,
  type RefreshLease,
  type SharedFailure,
  sharedFailureForm,
} from '../../snapshots/stores.js';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import type { StoredKind } from '../../upstream/listing-kinds.js';
import { decodeListing, encodeListing, RECORD_FORMAT } from '../stored-listing.js';
import { createRedisConnection, type RedisConnectionOptions } from './connection.js';
import { createSharedClientLimit, createSharedRateLimiter } from './limits.js';

export interface RedisPeersOptions extends Omit<RedisConnectionOptions, 'channel'> {
  /** Only gateways with the same scope share. */
  readonly scope: string;
  readonly services: ServiceFingerprints;
}

/** Peers wait at most this long for a gateway that died during a refresh. */
const LEASE_MS = 5_000;
/** A gateway renews its lease for at most this long. If its refresh takes longer, a peer gets the lease. */
const MAX_LEASE_MS = 10_000;
/** If Redis has lost a snapshot, a gateway that has none waits this long for a peer to write it again. */
const REQUEST_MS = 1_000;
/** A gateway that waits for a peer polls this often (milliseconds), in case it misses the message. */
const POLL_MS = 250;
/** A refresh waits this long while peers hold the lease. Then it begins without the lease. */
const WAIT_MS = MAX_LEASE_MS + LEASE_MS + 1_000;
/** A random part of this is added to {@link WAIT_MS}, so that not all gateways give up at the same moment. */
const WAIT_JITTER_MS = 8_000;
/** Listings expire after this time: a start within 30 days still finds one. Routes expire sooner. */
const KEEP_MS = 30 * 86_400_000;
/** A failure stays stored this long after the pause that it caused. */
const KEEP_FAILURE_MS = 3_600_000;
const WRITTEN_WITHIN_MS = 1_000;

// Each of these scripts is atomic. A topic has four KEYS, in this order: its snapshot, the last failure, the pause after
// that failure, and the lease. The snapshot is a Redis hash: its field `text` has the stored listing, and its field
// `takenAt` the time when the listing was requested.

/**
 * Acquires a lease. ARGV gateway, lease in ms, time of the known snapshot, time of a refused snapshot. Returns one of
 * `['newer', text]`, `['early', failure, ms left]`, `['ours', failure]`, `['theirs']`.
 */
const LEASE = `
local at = tonumber(redis.call('HGET', KEYS[1], 'takenAt') or '')
if at and at > tonumber(ARGV[3]) and at ~= tonumber(ARGV[4]) then return { 'newer', redis.call('HGET', KEYS[1], 'text') } end
local left = redis.call('PTTL', KEYS[3])
if left > 0 then return { 'early', redis.call('GET', KEYS[2]), left } end
local isOurs = redis.call('SET', KEYS[4], ARGV[1], 'NX', 'PX', ARGV[2]) or redis.call('GET', KEYS[4]) == ARGV[1]
return isOurs and { 'ours', redis.call('GET', KEYS[2]) } or { 'theirs' }
`;

/** Renews a lease. ARGV gateway, lease in ms. */
const RENEW = `if redis.call('GET', KEYS[4]) == ARGV[1] then redis.call('PEXPIRE', KEYS[4], ARGV[2]) end`;

/**
 * Writes a snapshot unless a newer one is stored. A stored one whose time is in the future counts as older. ARGV text,
 * takenAt, ms until the snapshot expires, channel, topic, the gateway whose lease ends or an empty text.
 */
const PUT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local at = tonumber(redis.call('HGET', KEYS[1], 'takenAt') or '')
local isNew = not (at and at > tonumber(ARGV[2]) and at <= now)
if isNew then
  redis.call('HSET', KEYS[1], 'text', ARGV[1], 'takenAt', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
end
if ARGV[6] ~= '' then
  redis.call('DEL', KEYS[2], KEYS[3])
  if redis.call('GET', KEYS[4]) == ARGV[6] then redis.call('DEL', KEYS[4]) end
end
if isNew then redis.call('PUBLISH', ARGV[4], ARGV[5]) end
`;

/**
 * Ends a lease without a snapshot, unless it has expired. ARGV gateway, channel, topic, failure or an empty text, ms
 * until the failure expires, ms until the next attempt.
 */
const FAIL = `
if redis.call('GET', KEYS[4]) ~= ARGV[1] then return end
if ARGV[4] ~= '' then
  redis.call('SET', KEYS[2], ARGV[4], 'PX', ARGV[5])
  redis.call('SET', KEYS[3], '1', 'PX', ARGV[6])
end
redis.call('DEL', KEYS[4])
redis.call('PUBLISH', ARGV[2], ARGV[3])
`;

const failureJson = v.pipe(v.string(), v.parseJson(), sharedFailureForm);

function readFailure(text: unknown): SharedFailure | undefined {
  const { success, output } = v.safeParse(failureJson, String(text));
  return success ? output : undefined;
}

/** While Redis is unavailable, each gateway continues alone. */
export function createRedisPeers(options: RedisPeersOptions) {
  const { scope, services, log } = options;
  const gateway = randomUUID();
  // The braces are a hash tag: they keep the keys on one node of a cluster.
  const prefixOf = (ofScope: string) => `{chains-and-tokens-gateway:${RECORD_FORMAT}:${ofScope}}`;
  const prefix = prefixOf(scope);
  const channel = `${prefix}:news`;
  const snapshotKey = (topic: string, ofScope = scope) => `${prefixOf(ofScope)}:${topic}:snapshot`;
  const backOffKeys = (topic: string) => [`${prefix}:${topic}:failure`, `${prefix}:${topic}:pause`];
  /** Holds the scope that shared the topic last. All scopes use the same key: after a change, they find the last facts. */
  const scopeKey = (topic: string) => `chains-and-tokens-gateway:${RECORD_FORMAT}:last-scope:${topic}`;
  const connection = createRedisConnection({ ...options, channel });
  const { call } = connection;
  /** By topic: writes the snapshot that is served here, if Redis has none or an older one. */
  const offered = new Map<string, () => Promise<void>>();
  /** By listing: the last text from Redis that was refused. Its rows are not served, but the guard compares with them. */
  const refused = new Map<string, Buffer>();
  const writes = new Set<Promise<void>>();
  let hasGivenUp = false;
  // Redis may have lost the snapshots while it was away.
  connection.onConnection(() => {
    for (const offer of offered.values()) offer();
  });

  function run(script: string, topic: string, ...args: readonly (string | number | Buffer)[]) {
    const keys = [snapshotKey(topic), ...backOffKeys(topic), `${prefix}:${topic}:lease`];
    return call('EVAL', script, keys.length, ...keys, ...args);
  }

  /** Writes a snapshot. Never rejects. @param holder the gateway whose lease this ends; empty for none */
  function put<Row>(
    topic: string,
    kind: StoredKind<Row>,
    fetched: Fetched<Row>,
    keepMs = KEEP_MS,
    holder = '',
  ): Promise<void> {
    const written = encodeListing(kind, fetched, services)
      .then(async (text) => {
        await run(PUT, topic, text, sentAtOf(fetched), keepMs, channel, topic, holder);
        if (fetched.guard) await call('SET', scopeKey(topic), scope, 'PX', KEEP_MS);
      })
      .catch((err) => log.error({ err, topic }, 'A snapshot could not be encoded for other gateways'))
      .finally(() => writes.delete(written));
    writes.add(written);
    return written;
  }

  /** @param of see {@link decodeListing} */
  async function read<Row>(kind: StoredKind<Row>, text: unknown, of: ServiceFingerprints | undefined) {
    if (!Buffer.isBuffer(text)) return undefined;
    try {
      return await decodeListing(kind, text, of, Date.now());
    } catch (error) {
      if (of) refused.set(kind.name, text);
      const [listing, reason] = [kind.name, (error as Error).message];
      log.warn({ listing, reason }, `The ${listing} listing in Redis is refused: ${reason}`);
      return undefined;
    }
  }

  function ourLease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    peerFailure: SharedFailure | undefined,
  ): RefreshLease<Row> {
    const until = performance.now() + MAX_LEASE_MS;
    const renewal = setInterval(() => {
      if (performance.now() < until) run(RENEW, topic, gateway, LEASE_MS);
    }, LEASE_MS / 3).unref();
    return {
      is: 'ours',
      peerFailure,
      succeed: (fetched, keepMs) =>
        put(topic, kind, fetched, keepMs, gateway).finally(() => clearInterval(renewal)),
      async fail(failure, retryInMs = 1) {
        clearInterval(renewal);
        const text = failure ? JSON.stringify(failure) : '';
        const pauseMs = Math.max(1, Math.ceil(retryInMs));
        await run(FAIL, topic, gateway, channel, topic, text, pauseMs + KEEP_FAILURE_MS, pauseMs);
        // Offers the served snapshot again: Redis may have lost it, and this refresh writes no new one.
        await offered.get(topic)?.();
      },
    };
  }

  async function lease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    knownAt: number,
    withinMs = WAIT_MS + Math.random() * WAIT_JITTER_MS,
  ): Promise<LeaseResult<Row>> {
    const until = performance.now() + withinMs;
    let refusedAt = 0;
    let hasRequested = false;
    while (!hasGivenUp && performance.now() < until) {
      const reply = await run(LEASE, topic, gateway, LEASE_MS, knownAt, refusedAt);
      const [is, text, leftMs] = Array.isArray(reply) ? (reply as unknown[]) : [];
      switch (String(is)) {
        case 'newer': {
          const fetched = await read(kind, text, services);
          if (fetched && sentAtOf(fetched) > knownAt) return { is: 'fetched', fetched };
          // The refused listing stays in Redis until a newer one replaces it: perhaps only this gateway's clock is wrong.
          refusedAt = (await storedAt(topic)) ?? 0;
          break;
        }
        case 'early': {
          const peerFailure = readFailure(text);
          if (!peerFailure) await call('DEL', ...backOffKeys(topic));
          else if (knownAt > 0 || hasRequested)
            return { is: 'too early', peerFailure, leftMs: Number(leftMs) };
          else {
            hasRequested = true;
            call('PUBLISH', channel, topic);
            await connection.nextMessage(topic, REQUEST_MS);
          }
          break;
        }
        case 'theirs':
          await connection.nextMessage(topic, POLL_MS);
          break;
        default:
          return ourLease(topic, kind, readFailure(text));
      }
    }
    return ourLease(topic, kind, undefined);
  }

  /** When the snapshot in Redis was requested; 0 without one, undefined without Redis. */
  async function storedAt(topic: string): Promise<number | undefined> {
    const reply = await call('HGET', snapshotKey(topic), 'takenAt');
    return reply === undefined ? undefined : Number(reply ?? 0);
  }

  const peers: Peers = {
    lease,
    async newest(topic, kind, newerThan) {
      const at = await storedAt(topic);
      if (at === undefined) return undefined;
      if (at < newerThan) offered.get(topic)?.();
      if (at <= newerThan) return undefined;
      const text = await call('HGET', snapshotKey(topic), 'text');
      if (!Buffer.isBuffer(text) || refused.get(kind.name)?.equals(text)) return undefined;
      return read(kind, text, services);
    },
    async readOthers<Row>(topic: string, kind: StoredKind<Row>) {
      const reply = await call('GET', scopeKey(topic));
      if (reply === undefined) return undefined;
      const last = String(reply ?? scope);
      const other = last === scope ? undefined : await call('HGET', snapshotKey(topic, last), 'text');
      const texts = [refused.get(kind.name), other];
      const fetched = await Promise.all(texts.map((text) => read<Row>(kind, text, undefined)));
      return fetched.filter((each) => each !== undefined);
    },
    async endPause(topic) {
      await call('DEL', ...backOffKeys(topic));
    },
    subscribe(topic, listener) {
      connection.onMessage(topic, listener);
      // Without a connection, this gateway may have missed messages.
      connection.onConnection(listener);
    },
    offer(topic, kind, fetched, isRevised) {
      if (isRevised) put(topic, kind, fetched);
      offered.set(topic, async () => {
        const at = await storedAt(topic);
        if (at !== undefined && at < sentAtOf(fetched)) await put(topic, kind, fetched);
      });
    },
  };
  return {
    ...peers,
    share: (local: LocalRateLimiter, requestsPerSecond: number): RateLimiter =>
      createSharedRateLimiter(local, requestsPerSecond, connection, prefix),
    limitClients: (local: ClientLimit) => createSharedClientLimit(local, connection, log),
    giveUp() {
      hasGivenUp = true;
    },
    async close(): Promise<void> {
      hasGivenUp = true;
      await Promise.race([Promise.all(writes), sleep(WRITTEN_WITHIN_MS, undefined, { ref: false })]);
      await connection.close();
    },
  };
}
