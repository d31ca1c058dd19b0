import type { Logger } from '../logger.js';
import type { ClientLimit, Rate } from '../scheduling/client-limit.js';

export interface OpenClientLimitOptions {
  /** The operations that each client may have executed; undefined: there is no limit. */
  readonly rateLimit: Rate | undefined;
  /** The Redis server through which gateways count together; undefined: each counts on its own. */
  readonly redisUrl: string | undefined;
  readonly log: Logger;
}

/** Makes the limit on the operations of each client, whose packages are loaded only if there is one. */
export async function openClientLimit(options: OpenClientLimitOptions): Promise<ClientLimit | undefined> {
  const { rateLimit, redisUrl, log } = options;
  if (rateLimit === undefined) return undefined;
  const { createClientLimit } = await import('../scheduling/client-limit.js');
  const local = createClientLimit(rateLimit);
  if (redisUrl === undefined) return local;
  const { createSharedClientLimit } = await import('./redis/client-limit.js');
  return createSharedClientLimit({ url: redisUrl, local, log });
}
