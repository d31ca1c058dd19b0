/** The shared rate limit: listings of one gateway do not hold up routes of another, and Redis may answer late. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createSharedRateLimiter } from '../../src/storage/redis/limits.js';
import { createRateLimiter } from '../../src/upstream/http/rate-limit.js';
import { stopClock } from '../support/clock.js';
import { isRedisMissing, startRedis, type TestRedis } from '../support/redis.js';

const PER_SECOND = 5;
/** The wait of a request for whose kind it is not the turn. */
const TURN_MS = 50;

function createGatewayLimit({ client }: TestRedis) {
  const connection = {
    call: (command: string, ...args: readonly (string | number | Buffer)[]) =>
      client.callBuffer(command, ...args),
  };
  const limiter = createSharedRateLimiter(createRateLimiter(PER_SECOND), PER_SECOND, connection, 'x');
  return (kind: 'listing' | 'route') => limiter.acquire('v1', kind === 'listing');
}

it.skipIf(isRedisMissing)(
  'while listings of one gateway and routes of another wait, they get the next permits in turn',
  async () => {
    const redis = await startRedis();
    const [acquireOfOne, acquireOfOther] = [createGatewayLimit(redis), createGatewayLimit(redis)];
    for (let permit = 0; permit < PER_SECOND; permit++) expect(await acquireOfOne('listing')).toBe(0);
    const waitMs = await acquireOfOther('route');
    expect(waitMs).toBeGreaterThan(0);
    // Time for all permits to become free again.
    await sleep(waitMs + 200);
    expect(await acquireOfOne('listing')).toBe(TURN_MS);
    expect(await acquireOfOther('route')).toBe(0);
    expect(await acquireOfOther('route')).toBe(TURN_MS);
    expect(await acquireOfOne('listing')).toBe(0);
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
