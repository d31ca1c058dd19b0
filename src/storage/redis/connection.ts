/** Connections to Redis that end, and are made again, where what comes over them is no reply of a Redis. */
import { createRequire } from 'node:module';
import { Redis, type RedisOptions } from 'ioredis';

export interface ConnectionOptions
  extends Required<Pick<RedisOptions, 'commandTimeout' | 'socketTimeout' | 'connectTimeout'>>,
    Pick<RedisOptions, 'autoResubscribe' | 'retryStrategy'> {
  /** The connection ends at a longer reply, which would be collected in memory until it is whole. */
  readonly maxReplyBytes: number;
}

/** The part of ioredis that passes on the replies of one connection. Its package has no other way to it. */
const { default: DataHandler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
  readonly default: { readonly prototype: object };
};

/** How much of a reply has arrived, for each client. */
const unfinishedBytes = new WeakMap<Redis, number>();

/*
 * ioredis throws at a whole reply of a form that it does not expect, such as a number to SUBSCRIBE. It then throws that
 * error once more from a callback of its own, where nobody can catch it and where it would end the process. With this in
 * its place the error ends the connection.
 */
Object.assign(DataHandler.prototype, {
  dispatch(this: { readonly redis: Redis }, passOn: () => void): void {
    unfinishedBytes.set(this.redis, 0);
    try {
      passOn();
    } catch (error) {
      const cause = error instanceof Error ? error.message : String(error);
      this.redis.stream.destroy(new Error(`Expected a reply of Redis, got another one: ${cause}`));
    }
  },
});

/**
 * Connects, and connects again until it is closed. A command fails at once while there is no connection, and is never
 * sent twice. The caller listens to the event `error`.
 */
export function openConnection(url: string, { maxReplyBytes, ...options }: ConnectionOptions): Redis {
  const client = new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: pauseBefore,
    ...options,
  });
  client.on('connect', () => {
    const { stream } = client;
    unfinishedBytes.set(client, 0);
    // After the listener of ioredis, which has counted from 0 again if a reply came to its end.
    stream.on('data', ({ byteLength }: Buffer) => {
      const bytes = (unfinishedBytes.get(client) ?? 0) + byteLength;
      unfinishedBytes.set(client, bytes);
      if (bytes > maxReplyBytes)
        stream.destroy(new Error(`Expected a reply of at most ${maxReplyBytes} bytes, got more`));
    });
  });
  return client;
}

/** How long to wait before this attempt in a row to connect, in milliseconds. */
export function pauseBefore(attempt: number): number {
  return Math.min(50 * 2 ** attempt, 1_000);
}
