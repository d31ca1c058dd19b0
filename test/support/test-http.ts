import {
  createUpstreamHttp,
  type UpstreamHttp,
  type UpstreamHttpOptions,
} from '../../src/upstream/http/client.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { createTestLog } from './test-gateway.js';

/** What differs from an impatient door with a ceiling far away. */
export interface TestHttpOptions extends Partial<UpstreamHttpOptions> {
  readonly baseUrl: string;
  readonly requestsPerSecond?: number;
}

/** The door to an upstream, by itself. */
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
