/** The shared rate limit: listings of one gateway do not hold up routes of another, and Redis may answer late. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createSharedRateLimiter } from '../../src/storage/redis/limits.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { stopClock } from '../support/clock.js';
import { repeat } from '../support/ends.js';
import { isRedisMissing, startRedis, type TestRedis } from '../support/redis.js';

const PER_SECOND = 5;

function createGatewayLimit({ client }: TestRedis) {
  const connection = {
    call: (command: string, ...args: readonly (string | number | Buffer)[]) =>
      client.callBuffer(command, ...args),
  };
  const limiter = createSharedRateLimiter(createRateLimiter(PER_SECOND), PER_SECOND, connection, 'x');
  return async (isListing: boolean): Promise<void> => {
    let waitMs = await limiter.acquire('v1', isListing);
    while (waitMs > 0) {
      await sleep(waitMs);
      waitMs = await limiter.acquire('v1', isListing);
    }
  };
}

it.skipIf(isRedisMissing)(
  'while one gateway always has a waiting listing, the routes of another gateway still get permits',
  async () => {
    const redis = await startRedis();
    const [permitOfOne, permitOfOther] = [createGatewayLimit(redis), createGatewayLimit(redis)];
    let listings = 0;
    repeat(() => permitOfOne(true).then(() => listings++));
    await expect.poll(() => listings).toBeGreaterThan(PER_SECOND);
    const before = listings;
    for (let route = 0; route < 6; route++) await permitOfOther(false);
    // Usually one listing is sent before each route. On a busy machine a call can be too late for its permit.
    // If routes had no reserved permits, about 40 listings would be sent before each route.
    expect(listings - before).toBeGreaterThanOrEqual(1);
    expect(listings - before).toBeLessThanOrEqual(60);
  },
);

it('a permit counts from the reply of Redis, however late that is, also beside permits of another service', async () => {
  const clock = stopClock();
  const replies: ((waitMs: number) => void)[] = [];
  const call = () => new Promise((resolve) => replies.push(resolve));
  const local = createRateLimiter(PER_SECOND);
  const limiter = createSharedRateLimiter(local, PER_SECOND, { call }, 'x');
  const first = limiter.acquire('v1', false);
  clock.advance(1_700);
  const others = Array.from({ length: PER_SECOND - 1 }, () => limiter.acquire('value-transfer', false));
  for (const reply of replies) reply(0);
  expect(await Promise.all([first, ...others])).toEqual(Array(PER_SECOND).fill(0));
  expect(local.acquire()).toBe(1_050);
});
