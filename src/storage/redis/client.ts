/** Makes clients of Redis that reconnect, even after a reply that is not a valid one of Redis. */
import { createRequire } from 'node:module';
import { Redis, type RedisOptions } from 'ioredis';

type ClientOptions = Required<Pick<RedisOptions, 'commandTimeout' | 'socketTimeout' | 'connectTimeout'>> &
  Pick<RedisOptions, 'autoResubscribe'>;

/** The longest pause before a new attempt to connect, so that gateways share again soon after Redis is back. */
const MAX_RECONNECT_MS = 1_000;

/** The part of ioredis that handles the replies of one connection. The package does not export it. */
const { default: DataHandler } = createRequire(import.meta.url)('ioredis/built/DataHandler.js') as {
  readonly default: { readonly prototype: object };
};

/*
 * ioredis throws if a complete reply has an unexpected form, such as a number in reply to SUBSCRIBE. It then throws the
 * error again from its own callback, where nobody can catch it and it would end the process. This replacement closes
 * the connection instead.
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
 * Opens a client, which reconnects until it is closed. While there is no connection, commands fail at once. A command
 * is never sent twice. The caller must listen to the event `error`.
 */
export function openClient(url: string, options: ClientOptions): Redis {
  return new Redis(url, {
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: (attempt: number) => Math.min(50 * 2 ** attempt, MAX_RECONNECT_MS),
    ...options,
  });
}
