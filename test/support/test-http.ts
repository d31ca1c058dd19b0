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
}

/** Creates a client of an upstream, without a gateway. */
export async function createTestHttp(options: TestHttpOptions): Promise<UpstreamHttp> {
  const { upstreamRequestsPerSecond = 1000 } = options;
  const { log } = await createTestLog();
  return createUpstreamHttp({
    service: 'v1',
    upstreamHeaders: {},
    upstreamTimeoutMs: 120_000,
    upstreamRetries: 0,
    upstreamRequestsPerSecond,
    rateLimiter: createRateLimiter(upstreamRequestsPerSecond),
    maxRouteWaitMs: 120_000,
    upstreamMaxBytes: 1_000_000,
    metrics: { upstreamRequest() {}, breaker() {} },
    log,
    ...options,
  });
}
