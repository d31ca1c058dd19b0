/** The connection to Redis. While Redis is unavailable, commands return undefined at once. */
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../logger/logger.js';
import { openClient } from './client.js';

export interface RedisConnectionOptions {
  readonly url: string;
  /** The pub/sub channel. Each message on it names a topic that has changed. */
  readonly channel: string;
  /** Called when Redis becomes available or unavailable. */
  readonly onSharing: (isShared: boolean) => void;
  /** How long a command, or the first connection, may take, in milliseconds; a second unless given. */
  readonly timeoutMs?: number | undefined;
  readonly log: Logger;
}

/** If a command takes longer than this, Redis counts as unavailable. */
const TIMEOUT_MS = 1_000;
/** How long connecting may take; or as long as a command may take, if that is longer. */
const CONNECT_MS = 2_000;
/** How long Redis is not used after a failure. */
const AWAY_MS = 1_000;
/** After AWAY_MS, Redis counts as available again once no command has failed for this long. */
const STEADY_MS = 2_000;
/** How often the subscribed connection sends a ping, to notice that Redis is gone. */
const PING_MS = 10_000;

export type RedisConnection = ReturnType<typeof createRedisConnection>;

/** Connects, and reconnects until it is closed. The methods never reject. */
export function createRedisConnection({
  url,
  channel,
  onSharing,
  timeoutMs = TIMEOUT_MS,
  log,
}: RedisConnectionOptions) {
  const messages = new EventEmitter().setMaxListeners(0);
  const states = new EventEmitter();
  // The prefix is needed because an emitter throws at the event "error", and a message can be "error".
  const eventOf = (topic: string) => `message:${topic}`;
  let isShared: boolean | undefined;
  let awayUntil = 0;
  let isClosed = false;
  const options = {
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    connectTimeout: Math.max(CONNECT_MS, timeoutMs),
  };
  const client = openClient(url, options);
  const listener = openClient(url, { ...options, autoResubscribe: false });
  client.on('error', goAway);
  client.on('close', () => goAway(new Error('The connection is closed')));
  client.on('ready', () => {
    // A new connection counts as available at once.
    awayUntil = -STEADY_MS;
    states.emit('tried');
    states.emit('connected');
  });
  // Ignored: the connection of `client` reports that Redis is unreachable.
  listener.on('error', () => {});
  listener.on('message', (_channel: string, topic: string) => messages.emit(eventOf(topic)));
  listener.on('ready', () => {
    listener.subscribe(channel).then(
      () => states.emit('connected'),
      () => {},
    );
  });
  // Without pings a connection that only receives does not notice that Redis is gone.
  const ping = setInterval(() => listener.ping().catch(() => {}), PING_MS).unref();

  function goAway(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS;
    states.emit('tried');
    if (isShared === false || isClosed) return;
    isShared = false;
    onSharing(false);
    const text = reason instanceof Error ? reason.message : String(reason);
    log.warn(
      { reason: text },
      'Redis cannot be used: this gateway continues alone until it can be used again. If that lasts, check REDIS_URL and the server',
    );
  }

  return {
    /**
     * Sends one command.
     *
     * @returns the reply, with Buffers in place of strings; undefined only while Redis is unavailable
     */
    async call(command: string, ...args: readonly (string | number | Buffer)[]): Promise<unknown> {
      if (client.status !== 'ready' || performance.now() < awayUntil || isClosed) return undefined;
      try {
        const reply = await client.callBuffer(command, ...args);
        // A full Redis refuses only some commands: one success does not mean that it is available again.
        if (isShared === undefined || (!isShared && performance.now() > awayUntil + STEADY_MS)) {
          isShared = true;
          onSharing(true);
          log.info('Sharing snapshots through Redis');
        }
        return reply;
      } catch (error) {
        goAway(error);
        return undefined;
      }
    },
    /** Resolves when the first connection has succeeded or failed, but after `timeoutMs` at the latest. */
    isTried: Promise.race([
      once(states, 'tried'),
      sleep(timeoutMs, undefined, { ref: false }),
    ]) as Promise<unknown>,
    /** Calls the listener when commands or messages work again. Messages may have been missed until then. */
    onConnection: (listen: () => void) => void states.on('connected', listen),
    /** Calls the listener at each message on the topic. */
    onMessage: (topic: string, listen: () => void) => void messages.on(eventOf(topic), listen),
    /** Resolves at the next message on the topic, or after this time (milliseconds). */
    async nextMessage(topic: string, withinMs: number): Promise<void> {
      await once(messages, eventOf(topic), { signal: AbortSignal.timeout(withinMs) }).catch(() => {});
    },
    /** Disconnects once the commands in progress are sent. */
    async close(): Promise<void> {
      // Gives other code the time to send the end of its lease, for which peers wait.
      await setImmediate();
      isClosed = true;
      clearInterval(ping);
      listener.disconnect();
      await client.quit().catch(() => client.disconnect());
    },
  };
}
