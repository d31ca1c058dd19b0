/** The connection to Redis. If a command fails, this and all further commands return undefined for a while. */
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { Redis, ReplyError } from 'ioredis';
import type { Logger } from '../../logger/logger.js';

export interface RedisConnectionOptions {
  readonly url: string;
  /** Each message names a topic whose snapshot or lease has changed, or whose snapshot a gateway asks for. */
  readonly channel: string;
  readonly onSharing: (isShared: boolean) => void;
  /** A command, or the first connection, counts as failed after this time; 1,000 unless given. */
  readonly timeoutMs?: number | undefined;
  readonly log: Logger;
}

/** An attempt to connect may take this long, or as long as a command, if that is longer. */
const CONNECT_MS = 2_000;
const MAX_RECONNECT_MS = 1_000;
/** After a failure, Redis is not used for this long. */
export const AWAY_MS = 1_000;
/** After AWAY_MS, commands are sent again. Redis counts as available once none has failed for this time, too (ms). */
const STEADY_MS = 2_000;
const PING_MS = 10_000;

export type RedisConnection = ReturnType<typeof createRedisConnection>;

/** Connects, and reconnects until it is closed. The methods never reject. */
export function createRedisConnection(options: RedisConnectionOptions) {
  const { url, channel, onSharing, timeoutMs = 1_000, log } = options;
  const events = new EventEmitter().setMaxListeners(0);
  let isShared: boolean | undefined;
  /** Whether the last warning has a reply of Redis. */
  let hasReply = false;
  let awayUntil = 0;
  let isClosed = false;
  // While there is no connection, commands fail at once. A command is never sent twice.
  const settings = {
    autoResubscribe: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    connectTimeout: Math.max(CONNECT_MS, timeoutMs),
  };
  const client = new Redis(url, settings);
  client.on('error', (error: Error & { readonly command?: { readonly name: string } }) => {
    goAway(error);
    // After this error ioredis would use database 0, whose gateways can be those of another upstream.
    if (error.command?.name === 'select') client.disconnect(true);
  });
  client.on('close', () => goAway(new Error('The connection is closed')));
  client.on('ready', () => {
    // After a new connection, Redis counts as available at once.
    awayUntil = -STEADY_MS;
    events.emit('tried');
    events.emit('connected');
  });
  const listener = new Redis(url, settings);
  // Ignored: the connection of `client` reports that Redis is unreachable.
  const ignore = () => {};
  listener.on('error', ignore);
  listener.on('message', (_channel: string, topic: string) => events.emit(`message:${topic}`));
  listener.on('ready', () => {
    listener.subscribe(channel).then(() => events.emit('connected'), ignore);
  });
  // Without pings a connection that only receives does not notice that Redis is gone.
  const ping = setInterval(() => listener.ping().catch(ignore), PING_MS).unref();
  /** Resolves when the first connection has succeeded or failed, but after `timeoutMs` at the latest. */
  const tried = Promise.race([once(events, 'tried'), sleep(timeoutMs, undefined, { ref: false })]);

  function goAway(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS;
    events.emit('tried');
    // The reply of a Redis that refuses the gateway, such as WRONGPASS, often follows after a closed connection.
    const isReply = reason instanceof ReplyError;
    if (isClosed || (isShared === false && (hasReply || !isReply))) return;
    hasReply = isReply;
    isShared = false;
    onSharing(false);
    log.warn(
      { reason: reason instanceof Error ? reason.message : String(reason) },
      'Redis cannot be used, and this gateway continues alone for now. If that lasts, check REDIS_URL and the server',
    );
  }

  return {
    /** Returns the reply, with Buffers in place of strings; undefined only while Redis is unavailable. */
    async call(command: string, ...args: readonly (string | number | Buffer)[]): Promise<unknown> {
      await tried;
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
    /** Calls the listener each time a connection is ready. Messages may have been missed. */
    onConnection: (listen: () => void) => void events.on('connected', listen),
    onMessage: (topic: string, listen: () => void) => void events.on(`message:${topic}`, listen),
    /** Resolves at the next message on the topic, or after this time. */
    async nextMessage(topic: string, withinMs: number): Promise<void> {
      await once(events, `message:${topic}`, { signal: AbortSignal.timeout(withinMs) }).catch(ignore);
    },
    async close(): Promise<void> {
      // Lets a refresh that was just aborted end its lease. Otherwise peers wait until the lease expires.
      await setImmediate();
      isClosed = true;
      clearInterval(ping);
      listener.disconnect();
      await client.quit().catch(() => client.disconnect());
    },
  };
}
