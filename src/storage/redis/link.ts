/** The connection to Redis: used while Redis is available, and never waited for. */
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../logger.js';
import { openConnection } from './connection.js';

export interface RedisLinkOptions {
  readonly url: string;
  /** Each message on this pub/sub channel is a topic that has news. */
  readonly channel: string;
  /** Called when Redis becomes available, and when it no longer is. */
  readonly onSharing: (isShared: boolean) => void;
  /** How long a command, or the first connection, may take, in milliseconds; a second unless given. */
  readonly timeoutMs?: number | undefined;
  readonly log: Logger;
}

/** A slower Redis counts as not available. */
const TIMEOUT_MS = 1_000;
/** How long it may take to connect, unless commands may take longer. */
const CONNECT_MS = 2_000;
/** After a failure Redis is not used for this time. */
const AWAY_MS = 1_000;
/** Redis counts as available again when nothing has failed for this long after that. */
const STEADY_MS = 2_000;
const PING_MS = 10_000;

export type RedisLink = ReturnType<typeof createRedisLink>;

/** Connects, and reconnects until it is closed. Nothing rejects. */
export function createRedisLink({ url, channel, onSharing, timeoutMs = TIMEOUT_MS, log }: RedisLinkOptions) {
  const news = new EventEmitter().setMaxListeners(0);
  const connections = new EventEmitter();
  // The prefix keeps a message "error" from being an emitter's error event, which throws.
  const eventOf = (topic: string) => `news:${topic}`;
  let isShared: boolean | undefined;
  let awayUntil = 0;
  let isClosed = false;
  const options = {
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    connectTimeout: Math.max(CONNECT_MS, timeoutMs),
  };
  const client = openConnection(url, options);
  const listener = openConnection(url, { ...options, autoResubscribe: false });
  client.on('error', goAway);
  client.on('close', () => goAway(new Error('The connection is closed')));
  client.on('ready', () => {
    // Available at once, without the steady time.
    awayUntil = -STEADY_MS;
    connections.emit('tried');
    connections.emit('connected');
  });
  // Commands report their own failures.
  listener.on('error', () => {});
  listener.on('message', (_channel: string, topic: string) => news.emit(eventOf(topic)));
  listener.on('ready', () => {
    listener.subscribe(channel).then(
      () => connections.emit('connected'),
      () => {},
    );
  });
  // Without pings a connection that only listens does not notice that Redis is gone.
  const ping = setInterval(() => listener.ping().catch(() => {}), PING_MS).unref();

  function goAway(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS;
    connections.emit('tried');
    if (isShared === false || isClosed) return;
    isShared = false;
    onSharing(false);
    const text = reason instanceof Error ? reason.message : String(reason);
    log.warn(
      { reason: text },
      'Redis cannot be used: this gateway goes on alone, and returns when it can be. If that lasts, look at REDIS_URL and at the server',
    );
  }

  return {
    /**
     * Sends one command.
     *
     * @returns the reply, with Buffers in place of strings; undefined while Redis is not available, and only then
     */
    async call(command: string, ...args: readonly (string | number | Buffer)[]): Promise<unknown> {
      if (client.status !== 'ready' || performance.now() < awayUntil || isClosed) return undefined;
      try {
        const reply = await client.callBuffer(command, ...args);
        // A full Redis refuses some commands only: one success does not mean that it is back.
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
    /** Resolves when the first connection has succeeded or failed, and within a second in any case. */
    isTried: Promise.race([
      once(connections, 'tried'),
      sleep(timeoutMs, undefined, { ref: false }),
    ]) as Promise<unknown>,
    /** Calls the listener when commands can be sent again, and when messages come again: some may have been missed. */
    onConnection: (listen: () => void) => void connections.on('connected', listen),
    /** Calls the listener at each news on the topic. */
    onNews: (topic: string, listen: () => void) => void news.on(eventOf(topic), listen),
    /** Resolves at the next news on the topic, and at the latest after this time (milliseconds). */
    async nextNews(topic: string, withinMs: number): Promise<void> {
      await once(news, eventOf(topic), { signal: AbortSignal.timeout(withinMs) }).catch(() => {});
    },
    /** Disconnects after the commands under way are sent. */
    async close(): Promise<void> {
      // The end of a lease may still have to be sent: peers wait for it.
      await setImmediate();
      isClosed = true;
      clearInterval(ping);
      listener.disconnect();
      await client.quit().catch(() => client.disconnect());
    },
  };
}
