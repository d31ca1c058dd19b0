import {
  createUpstreamHttp,
  type UpstreamHttp,
  type UpstreamHttpOptions,
} from '../../src/upstream/http/client.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { createTestLog } from './test-gateway.js';

/** Options that differ from the defaults of these tests: long timeouts, no retries and a very high rate limit. */
export interface TestHttpOptions extends Partial<UpstreamHttpOptions> {
  readonly baseUrl: string;
  readonly requestsPerSecond?: number;
}

/** Creates a client of an upstream, without a gateway. */
export async function createTestHttp(options: TestHttpOptions): Promise<UpstreamHttp> {
  const { requestsPerSecond = 1000, ...rest } = options;
  const { log } = await createTestLog();
  return createUpstreamHttp({
    service: 'v1',
    headers: {},
    timeoutMs: 120_000,
    retries: 0,
    rateLimiter: createRateLimiter(requestsPerSecond),
    maxWaiting: 30 * requestsPerSecond,
    maxRouteWaitMs: 120_000,
    maxBytes: 1_000_000,
    onAttempt() {},
    onBreaker() {},
    log,
    ...rest,
  });
}
