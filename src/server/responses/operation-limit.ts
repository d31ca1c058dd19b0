import type { ErrorCode } from '../../domain/errors.js';
import { GRAPHQL_PATH } from '../../http/paths.js';
import { urlOf } from '../../http/request-target.js';
import type { Logger } from '../../logger.js';
import type { ClientLimit } from '../../scheduling/client-limit.js';
import type { Exchange } from '../http-server.js';
import type { ServerRefusal } from '../refusals.js';

/** Counts an operation that is about to be executed; the refusal if its client has had too many. */
export type OperationLimit = (exchange: Exchange) => Promise<ServerRefusal | undefined>;

/** The name of the one policy in the headers. */
const POLICY = '"operations"';

/**
 * Limits the operations that each client may have executed. Cached responses do not get here; pages, health checks,
 * metrics and preflight requests are not counted.
 *
 * @param hasPlayground whether the endpoint answers browsers with a page
 */
export function createOperationLimit(
  limit: ClientLimit,
  hasPlayground: boolean,
  log: Pick<Logger, 'warn'>,
): OperationLimit {
  let hasWarned = false;

  /** Once: any client can send the header. */
  function warnOfProxy({ client, connection, request }: Exchange): void {
    if (hasWarned || client !== connection.client || !request.headers['x-forwarded-for']) return;
    hasWarned = true;
    log.warn(
      { client },
      'RATE_LIMIT refused a request with X-Forwarded-For. If a reverse proxy of yours sent it, set TRUSTED_PROXIES: all its clients count as one until then',
    );
  }

  return async (exchange) => {
    if (!isOperation(exchange, hasPlayground)) return undefined;
    const waitMs = await limit.take(exchange.client);
    if (waitMs <= 0) return undefined;
    warnOfProxy(exchange);
    return refusal(limit, waitMs);
  };
}

function isOperation({ request }: Exchange, hasPlayground: boolean): boolean {
  const { method, headers } = request;
  if (method === 'OPTIONS' || !urlOf(request)?.pathname.startsWith(GRAPHQL_PATH)) return false;
  return !hasPlayground || method !== 'GET' || !headers.accept?.includes('text/html');
}

/** Its headers are those of draft-ietf-httpapi-ratelimit-headers-10. */
function refusal({ rate: { perSecond, burst } }: ClientLimit, waitMs: number): ServerRefusal {
  const seconds = Math.ceil(waitMs / 1_000);
  const windowSeconds = Math.ceil(burst / perSecond);
  return {
    status: 429,
    message: `Too many operations: one client may have ${perSecond} a second executed, and ${burst} at once (RATE_LIMIT). Send this one again in ${seconds} s. Responses from the cache are not counted.`,
    code: 'RATE_LIMITED' satisfies ErrorCode,
    headers: {
      'retry-after': String(seconds),
      'ratelimit-policy': `${POLICY};q=${burst};w=${windowSeconds}`,
      ratelimit: `${POLICY};r=0;t=${seconds}`,
      'access-control-expose-headers': 'x-request-id, retry-after, ratelimit, ratelimit-policy',
    },
  };
}
