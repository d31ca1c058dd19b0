import { randomUUID } from 'node:crypto';
import type { ServiceFingerprints } from '../../domain/fingerprint.js';
import type { Fetched } from '../../domain/listing.js';
import type { Logger } from '../../logger.js';
import type { LeaseResult, Peers, RefreshLease, SharedFailure } from '../../snapshots/peers.js';
import type { LocalRateLimiter, RateLimiter } from '../../upstream/http/rate-limit.js';
import type { ListingKind } from '../../upstream/listing-kinds.js';
import { decodeRecord, encodeRecord, InvalidRecord, RECORD_FORMAT } from '../record.js';
import { createRedisLink } from './link.js';
import { createSharedRateLimiter } from './rate-limit.js';
import { DISCARD, FAIL, FORGET, LEASE, NEWEST, RENEW, REQUEST, WRITE } from './scripts.js';
import { createSeal } from './seal.js';
import { decodeSharedFailure, encodeSharedFailure } from './shared-failure.js';
import { createAllowance, createThrottle } from './throttle.js';
import { createPatience, createReadBackoff } from './trust.js';

/** What {@link createRedisPeers} takes. */
export interface RedisPeersOptions {
  readonly url: string;
  /** Only gateways with the same scope share: a mark of the upstream and its profile. */
  readonly scope: string;
  /** With it everything that steers a gateway carries an HMAC, and what lacks it is refused; none if undefined. */
  readonly secret?: string | undefined;
  readonly services: ServiceFingerprints;
  /** Longer records are neither written nor read. */
  readonly maxRecordBytes: number;
  /** For how long what others met is obeyed without an attempt of one's own, in milliseconds; an hour unless given. */
  readonly obeyedMs?: number;
  /** Called when sharing begins and when it ends. */
  readonly onSharing: (isShared: boolean) => void;
  readonly log: Logger;
}

/** The gateways that share through one Redis. While it cannot be used, each is on its own. */
export interface RedisPeers extends Peers {
  /** A ceiling that holds for all of them together, or for this one while it is on its own. */
  share(local: LocalRateLimiter, requestsPerSecond: number): RateLimiter;
  /** Lets nobody wait for other gateways any longer. */
  giveUp(): void;
  /** Disconnects, when what is under way is sent. */
  close(): Promise<void>;
}

/** How long others wait for a gateway that died in mid-refresh; one that lives renews its lease. */
const LEASE_MS = 5_000;
/** A refresh that takes longer than this and a lease is no longer waited for: others may be luckier. */
const MAX_LEASE_MS = 10_000;
/** How long a gateway that has nothing waits for what others hold and Redis has lost. */
const REQUEST_MS = 1_000;
/** How often a gateway looks for what another is about to share, should it miss the announcement. */
const POLL_MS = 250;
/** How long a listing waits for others: one that hangs, and its lease; not all of them give up at the same moment. */
const WAIT_MS = MAX_LEASE_MS + LEASE_MS + 1_000;
const WAIT_JITTER_MS = 8_000;
/** However often what is held here is asked for, it is written once in this time. */
const OFFER_EVERY_MS = 1_000;
const OBEYED_MS = 3_600_000;
/** Newer than any snapshot: none is read then. */
const NEVER = Number.MAX_SAFE_INTEGER;
/** What nobody has renewed for so long is of a peers that is gone. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_FAILURE_MS = 3_600_000;

/** Connects; it goes on trying for as long as it is not closed. */
export function createRedisPeers(options: RedisPeersOptions): RedisPeers {
  const { url, scope, secret, services, maxRecordBytes, obeyedMs = OBEYED_MS, onSharing, log } = options;
  const gateway = randomUUID();
  // The braces keep the keys together where Redis is a cluster.
  const prefix = `{chains-and-tokens-gateway:${RECORD_FORMAT}:${scope}}`;
  const seal = createSeal(secret, scope);
  const channel = `${prefix}${seal.keyPart}:news`;
  const offered = new Map<string, () => Promise<unknown>>();
  const offers = createThrottle(OFFER_EVERY_MS);
  const reads = createReadBackoff();
  const pauses = createPatience(obeyedMs);
  // Rubbish can be written faster than a log is read.
  const maySay = createAllowance(10, 60_000);
  const link = createRedisLink({ url, channel, onSharing, log });
  const { run } = link;
  link.onConnection(() => {
    // It may have lost what it held, or never had it; and what was announced meanwhile was not heard.
    for (const topic of offered.keys()) {
      writeOffer(topic);
      link.notify(topic);
    }
  });

  const keysOf = (topic: string) =>
    ['snapshot', 'setback', 'pause', 'lease'].map((part) => `${prefix}${seal.keyPart}:${topic}:${part}`);

  /** Writes what is held here, for those that have lost it. */
  function writeOffer(topic: string): void {
    offers.run(topic, () => offered.get(topic)?.());
  }

  async function write<Row>(
    topic: string,
    kind: ListingKind<Row>,
    fetched: Fetched<Row>,
    keepMs: number,
    endsLease: boolean,
  ): Promise<void> {
    try {
      const text = encodeRecord(kind, fetched, services, seal.digestFor(topic));
      const bytes = Buffer.byteLength(text);
      if (bytes > maxRecordBytes) {
        const facts = { topic, bytes, maxRecordBytes };
        log[maySay() ? 'warn' : 'debug'](
          facts,
          'A snapshot is too large to be shared: raise UPSTREAM_MAX_BYTES',
        );
        return;
      }
      const args = [gateway, fetched.takenAt, text, keepMs, channel, topic, endsLease ? 1 : 0];
      await run(WRITE, keysOf(topic), args);
    } catch (err) {
      log.error({ err, topic }, 'A snapshot could not be written down for other gateways');
    }
  }

  /** The snapshot in a reply; one that may not be served is told, and cleared away unless it may be later. */
  async function read<Row>(
    topic: string,
    kind: ListingKind<Row>,
    text: unknown,
    takenAt: unknown,
  ): Promise<Fetched<Row> | 'early' | undefined> {
    const now = Date.now();
    try {
      if (text === '')
        throw new InvalidRecord('it is empty, or larger than an answer of the upstream may be');
      const fetched = await decodeRecord(kind, String(text), services, now, seal.digestFor(topic));
      // By the one it is found to be newer, by the other it is served.
      if (fetched.takenAt !== Number(takenAt))
        throw new InvalidRecord('it is of another time than is said of it');
      if (fetched.takenAt < now - KEEP_MS) throw new InvalidRecord('it is older than anything is kept');
      reads.good(topic);
      pauses.reset(topic);
      return fetched;
    } catch (error) {
      if (!(error instanceof InvalidRecord)) throw error;
      const reason = error.message;
      reads.refused(topic);
      log[maySay() ? 'warn' : 'debug'](
        { topic, reason },
        `What Redis holds of the ${kind.name} listing is refused: ${reason}`,
      );
      if (error.isEarly && Number(takenAt) > now) return 'early';
      await run(DISCARD, keysOf(topic), [String(takenAt)]);
      return undefined;
    }
  }

  function ourLease<Row>(
    topic: string,
    kind: ListingKind<Row>,
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
      async succeed(fetched, keepMs = KEEP_MS) {
        clearInterval(renewal);
        await write(topic, kind, fetched, keepMs, true);
      },
      async fail(failure, retryInMs = 1) {
        clearInterval(renewal);
        const text = failure ? encodeSharedFailure(seal, topic, failure, retryInMs) : '';
        const keepMs = retryInMs + KEEP_FAILURE_MS;
        await run(FAIL, keys.slice(1), [gateway, text, keepMs, Math.max(1, retryInMs), channel, topic]);
        // Redis may have lost it; nobody will bring it anew for now.
        writeOffer(topic);
      },
    };
  }

  async function lease<Row>(
    topic: string,
    kind: ListingKind<Row>,
    knownAt: number,
    withinMs = WAIT_MS + Math.random() * WAIT_JITTER_MS,
  ): Promise<LeaseResult<Row>> {
    await link.isTried;
    const keys = keysOf(topic);
    const until = performance.now() + withinMs;
    let newerThan = knownAt;
    let hasRequested = false;
    let isNeverEarly = false;
    while (!link.isEnding && performance.now() < until) {
      const readsFrom = reads.mayRead(topic) ? newerThan : NEVER;
      const args = [gateway, LEASE_MS, readsFrom, maxRecordBytes, isNeverEarly ? 1 : 0];
      const ran = await run(LEASE, keys, args);
      const [is, first, second] = Array.isArray(ran?.reply) ? (ran.reply as unknown[]) : [];
      if (is === 'taken') {
        const fetched = await read(topic, kind, first, second);
        // What is from the future stays, and is not to be met again.
        if (fetched === 'early') newerThan = Number(second);
        else if (fetched) return { is: 'fetched', fetched };
      } else if (is === 'early') {
        const told = decodeSharedFailure(seal, topic, String(first));
        if (knownAt === 0 && !hasRequested) {
          hasRequested = true;
          run(REQUEST, [], [channel, topic]);
          await link.nextNews(topic, REQUEST_MS);
          continue;
        }
        const leftMs = Math.min(Number(second), told?.pauseMs ?? 0, pauses.leftMs(topic));
        if (told && leftMs > 0) return { is: 'too early', peerFailure: told.failure, leftMs };
        // Nobody can say why it is too early, or others have said so for too long: then it is not.
        isNeverEarly = true;
        if (!told) await run(FORGET, keys.slice(1, 3), []);
      } else if (is === 'theirs') {
        await link.nextNews(topic, POLL_MS);
      } else {
        const told = is === 'ours' ? decodeSharedFailure(seal, topic, String(first)) : undefined;
        return ourLease(topic, kind, told?.failure);
      }
    }
    return ourLease(topic, kind, undefined);
  }

  return {
    lease,
    async newest(topic, kind, newerThan) {
      if (!reads.mayRead(topic)) return undefined;
      const ran = await run(NEWEST, keysOf(topic).slice(0, 1), [newerThan, maxRecordBytes]);
      if (ran?.reply === 'none') writeOffer(topic);
      if (!Array.isArray(ran?.reply)) return undefined;
      const [text, takenAt] = ran.reply as unknown[];
      const fetched = await read(topic, kind, text, takenAt);
      return fetched === 'early' ? undefined : fetched;
    },
    subscribe: link.subscribe,
    offer(topic, kind, fetched) {
      offered.set(topic, () => write(topic, kind, fetched, KEEP_MS, false));
    },
    share: (local, requestsPerSecond) =>
      createSharedRateLimiter({ local, requestsPerSecond, link, seal, prefix }),
    giveUp: link.giveUp,
    async close() {
      offers.stop();
      await link.close();
    },
  };
}
