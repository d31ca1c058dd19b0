import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from '../../logger.js';
import { openConnection, pauseBefore } from './connection.js';
import { createAllowance, createThrottle } from './throttle.js';

export interface RedisLinkOptions {
  readonly url: string;
  /** Each message on this pub/sub channel is a topic that has news. */
  readonly channel: string;
  /** Called when Redis becomes available, and when it no longer is. */
  readonly onSharing: (isShared: boolean) => void;
  /** How long a command, or the first connection, may take, in milliseconds; a second unless given. */
  readonly timeoutMs?: number | undefined;
  /** The longest text in a reply. */
  readonly maxRecordBytes: number;
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
/** Subscribers are called at most once in this time for one topic. */
const NOTIFY_EVERY_MS = 100;
/** After more messages a second than this, or longer ones, the gateway unsubscribes for a while. */
const MAX_MESSAGES = 3_000;
const MAX_MESSAGE_LENGTH = 100;
const UNSUBSCRIBED_MS = 5_000;
/** The most that a reply has beside its text. */
const REPLY_HEAD_BYTES = 65_536;
/** Each new connection has to give the same text back. */
const ECHO = 'return ARGV[1]';

/** An argument of a script. */
type Argument = string | number | Buffer;

export type RedisLink = ReturnType<typeof createRedisLink>;

/**
 * Connects, and reconnects until it is closed. The connection is used while Redis is available, and never waited for.
 * Nothing rejects.
 */
export function createRedisLink(options: RedisLinkOptions) {
  const { url, channel, onSharing, timeoutMs = TIMEOUT_MS, maxRecordBytes, log } = options;
  const news = new EventEmitter().setMaxListeners(0);
  const connections = new EventEmitter();
  // The prefix keeps a message "error" from being an emitter's error event, which throws.
  const eventOf = (topic: string) => `news:${topic}`;
  const throttle = createThrottle(NOTIFY_EVERY_MS);
  const mayRead = createAllowance(MAX_MESSAGES, 1_000 / MAX_MESSAGES);
  // Bounds the log: anybody who can end connections could fill it.
  const mayLog = createAllowance(20, 10_000);
  let resubscribeTimer: NodeJS.Timeout | undefined;
  let isShared: boolean | undefined;
  /** Whether it is Redis at the other end of the connection. */
  let isKnown = false;
  let awayUntil = 0;
  let isClosed = false;

  /** How many connections in a row gave another text back. */
  let strangers = 0;
  const connectionOptions = {
    commandTimeout: timeoutMs,
    socketTimeout: 2 * timeoutMs,
    connectTimeout: Math.max(CONNECT_MS, timeoutMs),
    maxReplyBytes: maxRecordBytes + REPLY_HEAD_BYTES,
    retryStrategy: (times: number) => pauseBefore(times + strangers),
  };
  const client = openConnection(url, connectionOptions);
  const listener = openConnection(url, { ...connectionOptions, autoResubscribe: false });
  // Commands report their own failures; this reports failed connections.
  client.on('error', (error) => goAway(error));
  listener.on('error', () => {});
  listener.on('message', (_channel: string, topic: string) => {
    if (topic.length > MAX_MESSAGE_LENGTH || !mayRead()) unsubscribe();
    else notify(topic);
  });
  listener.on('ready', () => {
    listener.subscribe(channel).then(
      () => connections.emit('subscribed'),
      () => {},
    );
  });
  // Without pings a connection that only listens does not notice that Redis is gone.
  const ping = setInterval(() => listener.ping().catch(() => {}), PING_MS).unref();
  client.on('ready', greet);
  client.on('close', () => {
    isKnown = false;
    goAway(new Error('The connection is closed'));
  });

  /**
   * Makes sure that it is Redis that answers. Something else can answer each command with a number, which a script would
   * return to say that a request has to wait.
   */
  async function greet(): Promise<void> {
    const { stream } = client;
    const text = randomUUID();
    const reply = await client.eval(ECHO, 0, text).catch((error: unknown) => error);
    if (reply === text) {
      strangers = 0;
      isKnown = true;
      // Available at once, without the steady time.
      awayUntil = -STEADY_MS;
      connections.emit('known');
      connections.emit('tried');
    } else {
      strangers++;
      const got = reply instanceof Error ? reply.message : 'another reply';
      stream.destroy(new Error(`Expected Redis to return the argument of a script, got ${got}`));
    }
  }

  /** Calls the subscribers of the topic in this process. */
  function notify(topic: string): void {
    const event = eventOf(topic);
    if (news.listenerCount(event) > 0) throttle(event, () => news.emit(event));
  }

  /** Unsubscribes for a while: a flood of messages would take all CPU time. Polling still finds what is shared, only later. */
  function unsubscribe(): void {
    listener.disconnect();
    // `disconnect` alone goes on reading until Redis has closed the connection.
    listener.stream?.destroy();
    if (resubscribeTimer || isClosed) return;
    resubscribeTimer = setTimeout(() => {
      resubscribeTimer = undefined;
      listener.connect().catch(() => {});
    }, UNSUBSCRIBED_MS).unref();
    log[mayLog() ? 'warn' : 'debug'](
      'Redis is flooded with messages: they are not listened to for a while. Look at who else may publish there',
    );
  }

  function goAway(reason: unknown): void {
    awayUntil = performance.now() + AWAY_MS;
    connections.emit('tried');
    if (isShared === false || isClosed) return;
    isShared = false;
    onSharing(false);
    const text = reason instanceof Error ? reason.message : String(reason);
    log[mayLog() ? 'warn' : 'debug'](
      { reason: text },
      'Redis cannot be used: this gateway goes on alone, and returns when it can be. If that lasts, look at REDIS_URL and at the server',
    );
  }

  /** Runs a script. The reply is undefined while Redis is not available, and only then. */
  function run(script: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return replyTo(() => client.eval(script, keys.length, ...keys, ...args));
  }

  /** As `run`, with Buffers in place of strings in the reply: a long text is not decoded at once. */
  function runForBytes(script: string, keys: readonly string[], args: readonly Argument[]): Promise<unknown> {
    return replyTo(() => client.callBuffer('eval', script, keys.length, ...keys, ...args));
  }

  async function replyTo(send: () => Promise<unknown>): Promise<unknown> {
    if (!isKnown || performance.now() < awayUntil || isClosed) return undefined;
    try {
      const reply = await send();
      // A full Redis refuses some commands only: one success does not mean that it is back.
      if (isShared === undefined || (!isShared && performance.now() > awayUntil + STEADY_MS)) {
        isShared = true;
        onSharing(true);
        log[mayLog() ? 'info' : 'debug']('Sharing snapshots through Redis');
      }
      return reply;
    } catch (error) {
      goAway(error);
      return undefined;
    }
  }

  return {
    run,
    runForBytes,
    /** Resolves when the first connection has succeeded or failed, and within a second in any case. */
    isTried: Promise.race([
      once(connections, 'tried'),
      sleep(timeoutMs, undefined, { ref: false }),
    ]) as Promise<unknown>,
    /** Calls the listener after each connection for commands. */
    onConnection: (listen: () => void) => void connections.on('known', listen),
    /** Calls the listener after each subscription. Messages sent before it were missed. */
    onSubscription: (listen: () => void) => void connections.on('subscribed', listen),
    /** Calls the listener at each news on the topic. */
    subscribe: (topic: string, listen: () => void) => void news.on(eventOf(topic), listen),
    notify,
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
      clearTimeout(resubscribeTimer);
      listener.disconnect();
      await client.quit().catch(() => client.disconnect());
    },
  };
}
