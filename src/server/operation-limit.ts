/** Refuses operations of clients that exceed `RATE_LIMIT`. */
import type { Config } from '../config/config.js';

import type { Refusal } from '../http/refusal.js';
import type { Logger } from '../logger/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { ClientLimit } from '../scheduling/client-limit.js';
import type { Exchange } from './exchange.js';

/** Creates the function that counts an operation, and returns a refusal if its client has exceeded the limit. */
export function createOperationLimit(
  limit: ClientLimit,
  trustedProxies: Config['trustedProxies'],
  metrics: Pick<Metrics, 'rateLimited'>,
  log: Logger,
) {
  const forwarded = trustedProxies.length > 0 ? UNTRUSTED_PROXY : NO_TRUSTED_PROXY;
  /** Warnings for a refusal that can hit many clients, because the gateway counts them as one. Each is written once. */
  const warnings = new Set([forwarded, UNKNOWN_CLIENT]);

  return async ({ client, isForwarded }: Exchange): Promise<Refusal | undefined> => {
    const waitMs = await limit.take(client ?? '');
    if (waitMs <= 0) return undefined;
    metrics.rateLimited(client ?? '');
    const warning = client === undefined ? UNKNOWN_CLIENT : isForwarded ? forwarded : '';
    if (warnings.delete(warning)) log.warn({ client }, warning);
    return refusal(limit, waitMs);
  };
}

const NO_TRUSTED_PROXY =
  'RATE_LIMIT refused a request with X-Forwarded-For. If a reverse proxy of yours sent it, set TRUSTED_PROXIES: all its clients count as one until then';
const UNTRUSTED_PROXY =
  'RATE_LIMIT refused a request whose X-Forwarded-For could not be used. If the client of this line is a proxy of yours and is not in TRUSTED_PROXIES, add it. If it is in TRUSTED_PROXIES, it sends no address of its client in that header';
const UNKNOWN_CLIENT =
  'RATE_LIMIT refused a request whose client is unknown: all such requests count as one client. Call fetch(request, { client }), where client is the address of the connection';

/** The name of the only policy in the `RateLimit` headers. */
const POLICY = '"operations"';

/** The headers follow draft-ietf-httpapi-ratelimit-headers-10. */
function refusal({ rate: { perSecond, burst } }: ClientLimit, waitMs: number): Refusal {
  const seconds = Math.ceil(waitMs / 1_000);
  return {
    status: 429,
    message: `Too many operations: one client may send ${perSecond} a second, and ${burst} at once (RATE_LIMIT). Send this one again in ${seconds} s. Responses from the cache are not counted.`,
    code: 'RATE_LIMITED',
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `${POLICY};q=${burst};w=${Math.ceil(burst / perSecond)}`,
      ratelimit: `${POLICY};r=0;t=${seconds}`,
    },
  };
}
