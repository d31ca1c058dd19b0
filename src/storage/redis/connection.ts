/** Connections to Redis that end, and are made again, where a reply over them is none of a Redis. */
import { createRequire } from 'node:module';
import { Redis, type RedisOptions } from 'ioredis';

type ConnectionOptions = Required<Pick<RedisOptions, 'commandTimeout' | 'socketTimeout' | 'connectTimeout'>> &
  Pick<RedisOptions, 'autoResubscribe'>;

const MAX_RECONNECT_MS = 1_000;

/** The part of ioredis that passes on the replies of one connection. Its package has no other way to it. */
const { default: DataHandler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
  readonly default: { readonly prototype: object };
};

/*
 * ioredis throws at a whole reply of a form that it does not expect, such as a number to SUBSCRIBE. It then throws that
 * error once more from a callback of its own, where nobody can catch it and where it would end the process. With this in
 * its place the error ends the connection.
 */
Object.assign(DataHandler.prototype, {
  dispatch(this: { readonly redis: Redis }, passOn: () => void): void {
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
export function openConnection(url: string, options: ConnectionOptions): Redis {
  return new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
    ...options,
  });
}
