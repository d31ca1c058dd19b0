import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ServiceFingerprints } from '../../domain/fingerprint.js';
import { type Fetched, sentAtOf } from '../../domain/listing.js';
import type { LeaseResult, Peers, RefreshLease, SharedFailure } from '../../snapshots/peers.js';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import type { StoredKind } from '../../upstream/listing-kinds.js';
import { bytesOf, decodeRecord, encodeRecord, InvalidRecord, RECORD_FORMAT } from '../record.js';
import { createRedisLink, type RedisLinkOptions } from './link.js';
import { createSharedRateLimiter } from './rate-limit.js';
import {
  DISCARD,
  FAIL,
  FORGET,
  IS_WANTED,
  LAST_SCOPE,
  LEASE,
  NEWEST,
  REMEMBER_SCOPE,
  RENEW,
  REQUEST,
  WRITE,
} from './scripts.js';
import { createSeal } from './seal.js';
import { decodeSharedFailure, encodeSharedFailure } from './shared-failure.js';
import { createAllowance, createThrottle } from './throttle.js';
import { createPatience, createReadBackoff } from './trust.js';
import { upload } from './upload.js';

export interface RedisPeersOptions extends Omit<RedisLinkOptions, 'channel'> {
  /** Only gateways with the same scope share: a fingerprint of the upstream and its profile. */
  readonly scope: string;
  /** With a secret everything that steers a gateway carries an HMAC; anything without a valid one is refused. */
  readonly secret?: string | undefined;
  readonly services: ServiceFingerprints;
  /** Longer records are neither written nor read. */
  readonly maxRecordBytes: number;
}

/** The gateways that share through one Redis. While Redis is not available, each is on its own. */
export interface RedisPeers extends Peers {
  /** Makes a rate limit of all of them together; it is that of this gateway alone while Redis is not available. */
  share(local: LocalRateLimiter, requestsPerSecond: number): RateLimiter;
  /** Ends all waiting for peers. */
  giveUp(): void;
  /** Disconnects after the writes under way. */
  close(): Promise<void>;
}

/** How long a lease lasts that is not renewed: peers wait this long for a gateway that died in mid-refresh. */
const LEASE_MS = 5_000;
/** How long a lease is renewed. Peers do not wait longer for a slow refresh. */
const MAX_LEASE_MS = 10_000;
/** How long a gateway without a snapshot waits for a peer to write one that Redis has lost. */
const REQUEST_MS = 1_000;
/** How often a gateway polls for a peer's result, should it miss the message. */
const POLL_MS = 250;
/** How long a listing waits for a peer that hangs; the jitter keeps gateways from giving up at the same moment. */
const WAIT_MS = MAX_LEASE_MS + LEASE_MS + 1_000;
const WAIT_JITTER_MS = 8_000;
/** A requested snapshot is written at most once in this time. */
const OFFER_EVERY_MS = 1_000;
/** How long peers can keep this gateway from an attempt of its own. */
const OBEYED_MS = 3_600_000;
/** Newer than any snapshot, so that none is read. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** The length of an upload that was not made. */
const NOTHING = -1;
/** Snapshots that nobody renews expire after this. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_FAILURE_MS = 3_600_000;
/** How long `close` waits for writes. */
const WRITTEN_WITHIN_MS = 1_000;

/** Connects, and reconnects until it is closed. */
export function createRedisPeers(options: RedisPeersOptions): RedisPeers {
  const { scope, secret, services, maxRecordBytes, log } = options;
  const gateway = randomUUID();
  // The braces are a hash tag: they keep the keys on one node of a cluster.
  const prefixOf = (ofScope: string) => `{chains-and-tokens-gateway:${RECORD_FORMAT}:${ofScope}}`;
  const prefix = prefixOf(scope);
  /** Where the last scope is remembered, whatever the upstream: its facts outlive a change of the upstream. */
  const scopeKey = (topic: string) => `chains-and-tokens-gateway:${RECORD_FORMAT}:last-scope:${topic}`;
  const seal = createSeal(secret, scope);
  const channel = `${prefix}${seal.keyPart}:news`;
  const offered = new Map<string, () => Promise<unknown>>();
  const throttleOffer = createThrottle(OFFER_EVERY_MS);
  const reads = createReadBackoff();
  const pauses = createPatience(OBEYED_MS);
  // Bounds the log: bad records can be written faster than a log is read.
  const mayLog = createAllowance(10, 60_000);
  const link = createRedisLink({ ...options, channel });
  const { run, runForBytes } = link;
  link.onConnection(() => {
    // Redis may have lost the snapshots.
    for (const topic of offered.keys()) writeOffer(topic);
  });
  // Either connection may be ready first, and snapshots are read over the one for commands.
  link.onConnection(notifyAll);
  link.onSubscription(notifyAll);

  const keysOf = (topic: string) =>
    ['snapshot', 'setback', 'pause', 'lease'].map((part) => `${prefix}${seal.keyPart}:${topic}:${part}`);

  /** Looks for newer snapshots on all topics: messages may have been missed. */
  function notifyAll(): void {
    for (const topic of offered.keys()) link.notify(topic);
  }

  /** Writes the snapshot that is served here, for peers that have none. */
  function writeOffer(topic: string): void {
    throttleOffer(topic, () => offered.get(topic)?.());
  }

  /** Writes that are under way: the end of the process waits for them. */
  const writes = new Set<Promise<void>>();
  let hasGivenUp = false;

  /** Writes a snapshot to Redis. It never rejects. */
  function write<Row>(
    topic: string,
    kind: StoredKind<Row>,
    fetched: Fetched<Row>,
    keepMs: number,
    endsLease = false,
  ): Promise<void> {
    const written = encodeRecord(kind, fetched, services, seal.digestFor(topic))
      .then(async (record) => {
        const bytes = bytesOf(record);
        if (bytes > maxRecordBytes) {
          const message = 'A snapshot is too large to be shared: raise UPSTREAM_MAX_BYTES';
          log[mayLog() ? 'warn' : 'debug']({ topic, bytes, maxRecordBytes }, message);
          return;
        }
        const isWanted = (await run(IS_WANTED, keysOf(topic).slice(0, 1), [sentAtOf(fetched)])) === 1;
        if (!isWanted && !endsLease) return;
        const uploaded = `${prefix}${seal.keyPart}:${topic}:upload:${randomUUID()}`;
        if (isWanted && !(await upload(run, uploaded, record))) return;
        const args = [gateway, sentAtOf(fetched), isWanted ? bytes : NOTHING, keepMs, channel, topic];
        const keys = [...keysOf(topic), uploaded];
        const outcome = await run(WRITE, keys, [...args, Number(endsLease)]);
        if (isWanted && fetched.guard) await run(REMEMBER_SCOPE, [scopeKey(topic)], [scope, KEEP_MS]);
        if (outcome === 'lost') {
          const message =
            'Redis has lost a snapshot before it was whole: look at its memory and its eviction policy';
          log[mayLog() ? 'warn' : 'debug']({ topic, bytes }, message);
        }
      })
      .catch((err) => log.error({ err, topic }, 'A snapshot could not be encoded for other gateways'))
      .finally(() => writes.delete(written));
    writes.add(written);
    return written;
  }

  /** Decodes a reply. An invalid record is logged, and deleted unless it is only too early. */
  async function read<Row>(
    topic: string,
    kind: StoredKind<Row>,
    text: unknown,
    dated: unknown,
  ): Promise<Fetched<Row> | 'early' | undefined> {
    const now = Date.now();
    try {
      if (!Buffer.isBuffer(text) || text.length === 0)
        throw new InvalidRecord('it is empty, or larger than an answer of the upstream may be');
      const fetched = await decodeRecord(kind, text, services, now, seal.digestFor(topic));
      // Peers find it by the one time and serve it with the other.
      if (sentAtOf(fetched) !== Number(dated))
        throw new InvalidRecord('its time is not the one that Redis gives for it');
      if (sentAtOf(fetched) < now - KEEP_MS) throw new InvalidRecord('it is older than snapshots are stored');
      reads.good(topic);
      pauses.reset(topic);
      return fetched;
    } catch (error) {
      if (!(error instanceof InvalidRecord)) throw error;
      const reason = error.message;
      reads.refused(topic);
      log[mayLog() ? 'warn' : 'debug'](
        { topic, reason },
        `What Redis holds of the ${kind.name} listing is refused: ${reason}`,
      );
      if (error.isEarly && Number(dated) > now) return 'early';
      await run(DISCARD, keysOf(topic), [String(dated)]);
      return undefined;
    }
  }

  function ourLease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    peerFailure: SharedFailure | undefined,
  ): RefreshLease<Row> {
    const keys = keysOf(topic);
    const until = performance.now() + MAX_LEASE_MS;
    pauses.reset(topic);
    const renewal = setInterval(() => {
      if (performance.now() < until) run(RENEW, keys.slice(3), [gateway, LEASE_MS]);
    }, LEASE_MS / 3).unref();
    return {
      is: 'ours',
      peerFailure,
      succeed(fetched, keepMs = KEEP_MS) {
        return write(topic, kind, fetched, keepMs, true).finally(() => clearInterval(renewal));
      },
      async fail(failure, retryInMs = 1) {
        clearInterval(renewal);
        const text = failure ? encodeSharedFailure(seal, topic, failure, retryInMs) : '';
        const keepMs = retryInMs + KEEP_FAILURE_MS;
        await run(FAIL, keys.slice(1), [gateway, text, keepMs, Math.max(1, retryInMs), channel, topic]);
        // Redis may have lost the snapshot, and no refresh will write a new one for now.
        writeOffer(topic);
      },
    };
  }

  async function lease<Row>(
    topic: string,
    kind: StoredKind<Row>,
    knownAt: number,
    withinMs = WAIT_MS + Math.random() * WAIT_JITTER_MS,
  ): Promise<LeaseResult<Row>> {
    await link.isTried;
    const keys = keysOf(topic);
    const until = performance.now() + withinMs;
    let newerThan = knownAt;
    let hasRequested = false;
    let ignoresPause = false;
    while (!hasGivenUp && performance.now() < until) {
      const readsFrom = reads.mayRead(topic) ? newerThan : NEVER;
      const args = [gateway, LEASE_MS, readsFrom, maxRecordBytes, ignoresPause ? 1 : 0];
      const reply = await runForBytes(LEASE, keys, args);
      const [found, first, second] = Array.isArray(reply) ? (reply as unknown[]) : [];
      const is = String(found);
      if (is === 'newer') {
        const fetched = await read(topic, kind, first, second);
        // A record from the future stays in Redis, and is not read again.
        if (fetched === 'early') newerThan = Number(second);
        else if (fetched) return { is: 'fetched', fetched };
      } else if (is === 'early') {
        const dated = decodeSharedFailure(seal, topic, String(first));
        if (knownAt === 0 && !hasRequested) {
          hasRequested = true;
          run(REQUEST, [], [channel, topic]);
          await link.nextNews(topic, REQUEST_MS);
          continue;
        }
        const leftMs = Math.min(Number(second), dated?.pauseMs ?? 0, pauses.leftMs(topic));
        if (dated && leftMs > 0) return { is: 'too early', peerFailure: dated.failure, leftMs };
        // The pause has no readable reason, or has lasted too long: ignore it.
        ignoresPause = true;
        if (!dated) await run(FORGET, keys.slice(1, 3), []);
      } else if (is === 'theirs') {
        await link.nextNews(topic, POLL_MS);
      } else {
        const dated = is === 'ours' ? decodeSharedFailure(seal, topic, String(first)) : undefined;
        return ourLease(topic, kind, dated?.failure);
      }
    }
    return ourLease(topic, kind, undefined);
  }

  return {
    lease,
    async newest(topic, kind, newerThan) {
      if (!reads.mayRead(topic)) return undefined;
      const reply = await runForBytes(NEWEST, keysOf(topic).slice(0, 1), [newerThan, maxRecordBytes]);
      if (String(reply) === 'none') writeOffer(topic);
      if (!Array.isArray(reply)) return undefined;
      const [text, dated] = reply as unknown[];
      const fetched = await read(topic, kind, text, dated);
      return fetched === 'early' ? undefined : fetched;
    },
    async readOthers<Row>(topic: string, kind: StoredKind<Row>) {
      await link.isTried;
      const other = String((await run(LAST_SCOPE, [scopeKey(topic)], [])) ?? '');
      if (other === '' || other === scope) return [];
      const otherSeal = createSeal(secret, other);
      const reply = await runForBytes(
        NEWEST,
        [`${prefixOf(other)}${otherSeal.keyPart}:${topic}:snapshot`],
        [0, maxRecordBytes],
      );
      const [text] = Array.isArray(reply) ? (reply as unknown[]) : [];
      if (!Buffer.isBuffer(text)) return [];
      try {
        return [await decodeRecord<Row>(kind, text, undefined, Date.now(), otherSeal.digestFor(topic))];
      } catch (error) {
        if (!(error instanceof InvalidRecord)) throw error;
        log[mayLog() ? 'warn' : 'debug'](
          { topic, reason: error.message },
          'What Redis holds of another upstream is refused',
        );
        return [];
      }
    },
    subscribe: link.subscribe,
    offer(topic, kind, fetched) {
      offered.set(topic, () => write(topic, kind, fetched, KEEP_MS));
    },
    share: (local, requestsPerSecond) =>
      createSharedRateLimiter({ local, requestsPerSecond, link, seal, prefix }),
    giveUp() {
      hasGivenUp = true;
    },
    async close() {
      hasGivenUp = true;
      await Promise.race([Promise.all(writes), sleep(WRITTEN_WITHIN_MS, undefined, { ref: false })]);
      await link.close();
    },
  };
}
