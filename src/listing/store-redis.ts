import { randomUUID } from 'node:crypto';
import * as v from 'valibot';
import type { Logger } from '../logger.js';
import type { Ceiling, LocalCeiling } from './ceiling.js';
import { UPSTREAM_ERROR_CODES } from './errors.js';
import type { Fleet, Setback, Turn } from './fleet.js';
import type { Kind } from './kinds.js';
import type { Taken } from './listing.js';
import { decodeRecord, encodeRecord, RECORD_FORMAT, RefusedRecord, type Services } from './record.js';
import { createRedisLink } from './redis-link.js';
import { CALL, DISCARD, FAIL, FORGET, HOLD, NEWEST, PLACE, RENEW, TURN, WRITE } from './redis-scripts.js';

/** What {@link createRedisFleet} takes. */
export interface RedisFleetOptions {
  readonly url: string;
  /** Only gateways with the same scope share: a mark of the upstream and its profile. */
  readonly scope: string;
  readonly services: Services;
  /** Called when sharing begins and when it ends. */
  readonly onSharing: (isShared: boolean) => void;
  readonly log: Logger;
}

/** The gateways that share through one Redis. While it cannot be used, each is on its own. */
export interface RedisFleet extends Fleet {
  /** A ceiling that holds for all of them together, or for this one while it is on its own. */
  share(local: LocalCeiling, requestsPerSecond: number): Ceiling;
  /** Lets nobody wait for other gateways any longer. */
  giveUp(): void;
  /** Disconnects, when what is under way is sent. */
  close(): Promise<void>;
}

/** How long others wait for a gateway that died in mid-refresh; one that lives renews its lease. */
const LEASE_MS = 5_000;
/** A refresh that takes longer than this and a lease is no longer waited for: others may be luckier. */
const MAX_TURN_MS = 10_000;
/** How long a gateway that has nothing waits for what others hold and Redis has lost. */
const CALL_MS = 1_000;
/** How often a gateway looks for what another is about to share, should it miss the announcement. */
const POLL_MS = 250;
/** What nobody has renewed for so long is of a fleet that is gone. */
const KEEP_MS = 30 * 86_400_000;
const KEEP_SETBACK_MS = 3_600_000;
/** A second as the upstream may measure it: more than the process's own, since the places come from afar. */
const WINDOW_MS = 1_200;

const setbackForm = v.object({
  code: v.picklist(UPSTREAM_ERROR_CODES),
  message: v.pipe(v.string(), v.maxLength(1000)),
  at: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(8.64e15)),
  failuresInARow: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  heldBack: v.optional(v.object({ signature: v.string(), times: v.pipe(v.number(), v.safeInteger()) })),
});

/** Connects; it goes on trying for as long as it is not closed. */
export function createRedisFleet({ url, scope, services, onSharing, log }: RedisFleetOptions): RedisFleet {
  const gateway = randomUUID();
  // The braces keep the keys together where Redis is a cluster.
  const prefix = `{chains-and-tokens-gateway:${RECORD_FORMAT}:${scope}}`;
  const channel = `${prefix}:news`;
  const held = new Map<string, () => Promise<unknown>>();
  const link = createRedisLink({ url, channel, onSharing, log });
  const { run } = link;
  link.onConnection(() => {
    // It may have lost what it held, or never had it; and what was announced meanwhile was not heard.
    for (const [topic, offer] of held) offer().then(() => link.tell(topic));
  });

  const keysOf = (topic: string) =>
    ['snapshot', 'setback', 'pause', 'lease'].map((part) => `${prefix}:${topic}:${part}`);

  async function write<Row>(
    topic: string,
    kind: Kind<Row>,
    taken: Taken<Row>,
    keepMs: number,
    endsTurn: boolean,
  ): Promise<void> {
    try {
      const text = encodeRecord(kind, taken, services);
      const args = [gateway, taken.takenAt, text, keepMs, channel, topic, endsTurn ? 1 : 0];
      await run(WRITE, keysOf(topic), args);
    } catch (err) {
      log.error({ err, topic }, 'A snapshot could not be written down for other gateways');
    }
  }

  /** The snapshot in a reply; one that may not be served is told, and cleared away unless it may be later. */
  async function read<Row>(
    topic: string,
    kind: Kind<Row>,
    text: unknown,
    takenAt: unknown,
  ): Promise<Taken<Row> | 'early' | undefined> {
    const now = Date.now();
    try {
      const taken = await decodeRecord(kind, String(text), services, now);
      // By the one it is found to be newer, by the other it is served.
      if (taken.takenAt !== Number(takenAt))
        throw new RefusedRecord('it is of another time than is said of it');
      return taken;
    } catch (error) {
      if (!(error instanceof RefusedRecord)) throw error;
      const reason = error.message;
      log.warn({ topic, reason }, `What Redis holds of the ${kind.name} listing is refused: ${reason}`);
      if (error.isEarly && Number(takenAt) > now) return 'early';
      await run(DISCARD, keysOf(topic), [String(takenAt)]);
      return undefined;
    }
  }

  function ourTurn<Row>(topic: string, kind: Kind<Row>, setback: Setback | undefined): Turn<Row> {
    const keys = keysOf(topic);
    const until = performance.now() + MAX_TURN_MS;
    const renewal = setInterval(() => {
      if (performance.now() < until) run(RENEW, keys.slice(3), [gateway, LEASE_MS]);
    }, LEASE_MS / 3).unref();
    return {
      is: 'ours',
      setback,
      async succeed(taken, keepMs = KEEP_MS) {
        clearInterval(renewal);
        await write(topic, kind, taken, keepMs, true);
      },
      async fail(met, retryInMs = 1) {
        clearInterval(renewal);
        const text = met ? JSON.stringify(met) : '';
        const keepMs = retryInMs + KEEP_SETBACK_MS;
        await run(FAIL, keys.slice(1), [gateway, text, keepMs, Math.max(1, retryInMs), channel, topic]);
        // Redis may have lost it; nobody will bring it anew for now.
        await held.get(topic)?.();
      },
    };
  }

  async function turn<Row>(
    topic: string,
    kind: Kind<Row>,
    knownAt: number,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<Turn<Row>> {
    await link.isTried;
    const keys = keysOf(topic);
    const until = performance.now() + withinMs;
    let newerThan = knownAt;
    let hasCalled = false;
    while (!link.isEnding && performance.now() < until) {
      const ran = await run(TURN, keys, [gateway, LEASE_MS, newerThan]);
      const [is, first, second] = Array.isArray(ran?.reply) ? (ran.reply as unknown[]) : [];
      if (is === 'taken') {
        const taken = await read(topic, kind, first, second);
        // What is from the future stays, and is not to be met again.
        if (taken === 'early') newerThan = Number(second);
        else if (taken) return { is, taken };
      } else if (is === 'early') {
        const setback = readSetback(first);
        if (knownAt === 0 && !hasCalled) {
          hasCalled = true;
          run(CALL, [], [channel, topic]);
          await link.nextNews(topic, CALL_MS);
        } else if (setback) return { is: 'too early', setback, leftMs: Number(second) };
        // Nobody can say why it is too early: then it is not.
        else await run(FORGET, keys.slice(1, 3), []);
      } else if (is === 'theirs') {
        await link.nextNews(topic, POLL_MS);
      } else {
        return ourTurn(topic, kind, is === 'ours' ? readSetback(first) : undefined);
      }
    }
    return ourTurn(topic, kind, undefined);
  }

  return {
    turn,
    async newest(topic, kind, newerThan) {
      const ran = await run(NEWEST, keysOf(topic).slice(0, 1), [newerThan]);
      if (ran?.reply === 'none') await held.get(topic)?.();
      if (!Array.isArray(ran?.reply)) return undefined;
      const [text, takenAt] = ran.reply as unknown[];
      const taken = await read(topic, kind, text, takenAt);
      return taken === 'early' ? undefined : taken;
    },
    onNews: link.onNews,
    holds(topic, kind, taken) {
      held.set(topic, () => write(topic, kind, taken, KEEP_MS, false));
    },
    share(local, requestsPerSecond) {
      const holdOf = (service: string) => `${prefix}:hold:${service}`;
      return {
        async take(service, isFirst) {
          const waitMs = local.take(service, isFirst);
          if (waitMs > 0) return waitMs;
          const args = [requestsPerSecond, WINDOW_MS, randomUUID(), isFirst ? 1 : 0];
          const keys = [`${prefix}:places`, holdOf(service), `${prefix}:first`];
          const ran = await run(PLACE, keys, args);
          // Until Redis has answered the place has grown old, and it is now that the request is sent.
          local.giveBack();
          const sharedWaitMs = Number(ran?.reply ?? 0);
          return sharedWaitMs > 0 ? sharedWaitMs : local.take(service, isFirst);
        },
        hold(service, ms) {
          run(HOLD, [holdOf(service)], [Math.ceil(ms)]);
        },
      };
    },
    giveUp: link.giveUp,
    close: link.close,
  };
}

function readSetback(text: unknown): Setback | undefined {
  try {
    const { success, output } = v.safeParse(setbackForm, JSON.parse(String(text)));
    return success ? { ...output, heldBack: output.heldBack } : undefined;
  } catch {
    return undefined;
  }
}
