import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Logger } from '../../logger.js';
import { createAllowance, createThrottle } from './throttle.js';

/** What {@link createRedisLink} takes. */
export interface RedisLinkOptions {
  readonly url: string;
  /** What is published there is news: each message names its topic. */
  readonly channel: string;
  /** Called when Redis can be used, and when it no longer can. */
  readonly onSharing: (isShared: boolean) => void;
  readonly log: Logger;
}

/** A connection to Redis that is used where it is there, and waited for by nobody. Nothing rejects. */
export interface RedisLink {
  /** What the script returns; undefined while Redis cannot be used. */
  run(
    script: string,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<{ readonly reply: unknown } | undefined>;
  /** Resolves when the first connection is there or has failed, and soon in any case. */
  readonly isTried: Promise<unknown>;
  /** Calls whenever a connection has been made. */
  onConnection(listener: () => void): void;
  /** Calls at each news on the topic. */
  subscribe(topic: string, listener: () => void): void;
  /** Calls those that listen for news on the topic, as if there were some. */
  notify(topic: string): void;
  /** Resolves at the next news on the topic, and at the latest after this time (milliseconds). */
  nextNews(topic: string, withinMs: number): Promise<void>;
  /** Whether it is about to close, and nothing is waited for. */
  readonly isEnding: boolean;
  /** Says that it is. */
  giveUp(): void;
  /** Disconnects, when what is under way is sent. */
  close(): Promise<void>;
}

/** A Redis that takes longer is as good as none. */
const COMMAND_TIMEOUT_MS = 1_000;
/** For so long it is not asked again after it has failed. */
const AWAY_MS = 1_000;
/** It is back when nothing has failed for so long beyond that. */
const STEADY_MS = 2_000;
const FIRST_CONNECTION_MS = 1_000;
const PING_MS = 10_000;
/** However much news there is on one topic, it is told once in this time. */
const TOLD_EVERY_MS = 100;
/** More messages a second than this, or longer ones, are no news: they are not listened to for a while. */
const MAX_MESSAGES = 3_000;
const MAX_MESSAGE_LENGTH = 100;
const DEAF_MS = 5_000;

/** Connects; it goes on trying for as long as it is not closed. */
export function createRedisLink({ url, channel, onSharing, log }: RedisLinkOptions): RedisLink {
  const news = new EventEmitter().setMaxListeners(0);
  // Messages are whatever others publish, and one event of emitters is an error.
  const eventOf = (topic: string) => `news:${topic}`;
  const told = createThrottle(TOLD_EVERY_MS);
  const mayHear = createAllowance(MAX_MESSAGES, 1_000 / MAX_MESSAGES);
  // Whoever can end connections could otherwise fill the log.
  const maySay = createAllowance(20, 10_000);
  let deafTimer: NodeJS.Timeout | undefined;
  let isShared: boolean | undefined;
  let awayUntil = 0;
  let isEnding = false;
  let isClosed = false;

  const client = new Redis(url, {
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: 2 * COMMAND_TIMEOUT_MS,
    connectTimeout: 2_000,
    // Whoever asks does not wait for a connection, but goes on alone.
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (times) => Math.min(50 * 2 ** times, 1_000),
  });
  const listener = client.duplicate({ autoResubscribe: false });
  // Each failure meets whoever asked; a connection that cannot be had is told here.
  client.on('error', (error) => goAway(error));
  listener.on('error', () => {});
  listener.on('message', (_channel: string, topic: string) => {
    if (topic.length > MAX_MESSAGE_LENGTH || !mayHear()) deafen();
    else notify(topic);
  });
  listener.on('ready', () => listener.subscribe(channel).catch(() => {}));
  // A connection that only listens would not find out by itself that nobody is there.
  const ping = setInterval(() => listener.ping().catch(() => {}), PING_MS).unref();
  const isTried = Promise.race([
    once(client, 'ready').catch(() => {}),
    sleep(FIRST_CONNECTION_MS, undefined, { ref: false }),
  ]);
  client.on('ready', () => {
    // As if nothing had failed for long.
    awayUntil = -STEADY_MS;
  });

  function notify(topic: string): void {
    const event = eventOf(topic);
    if (news.listenerCount(event) > 0) told.run(event, () => news.emit(event));
  }

  /** What is shared is found without news, too, only later; a flood of messages would take all the time there is. */
  function deafen(): void {
    listener.disconnect();
    // It would only say goodbye, and go on reading until Redis has heard that.
    listener.stream?.destroy();
    if (deafTimer || isClosed) return;
    deafTimer = setTimeout(() => {
      deafTimer = undefined;
      listener.connect().catch(() => {});
    }, DEAF_MS).unref();
    log[maySay() ? 'warn' : 'debug'](
      'Redis is flooded with messages: they are not listened to for a while. Look at who else may publish there',
    );
  }

  function goAway(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS;
    if (isShared === false || isClosed) return;
    isShared = false;
    onSharing(false);
    const text = reason instanceof Error ? reason.message : String(reason);
    log[maySay() ? 'warn' : 'debug'](
      { reason: text },
      'Redis cannot be used: this gateway goes on alone, and returns when it can be. If that lasts, look at REDIS_URL and at the server',
    );
  }

  async function run(script: string, keys: readonly string[], args: readonly (string | number)[]) {
    if (performance.now() < awayUntil || isClosed) return undefined;
    try {
      const reply: unknown = await client.eval(script, keys.length, ...keys, ...args);
      // A Redis that is full refuses some and not others: that is no return.
      if (isShared === undefined || (!isShared && performance.now() > awayUntil + STEADY_MS)) {
        isShared = true;
        onSharing(true);
        log[maySay() ? 'info' : 'debug']('Sharing snapshots through Redis');
      }
      return { reply };
    } catch (error) {
      goAway(error);
      return undefined;
    }
  }

  return {
    run,
    isTried,
    onConnection(listen) {
      client.on('ready', listen);
    },
    subscribe(topic, listen) {
      news.on(eventOf(topic), listen);
    },
    notify,
    async nextNews(topic, withinMs) {
      await once(news, eventOf(topic), { signal: AbortSignal.timeout(withinMs) }).catch(() => {});
    },
    get isEnding() {
      return isEnding;
    },
    giveUp() {
      isEnding = true;
    },
    async close() {
      // What ends a turn of ours is still to be sent: others wait for it.
      await setImmediate();
      isEnding = true;
      isClosed = true;
      clearInterval(ping);
      clearTimeout(deafTimer);
      told.stop();
      listener.disconnect();
      await client.quit().catch(() => client.disconnect());
    },
  };
}
