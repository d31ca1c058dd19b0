/** A client that requests routes without end delays neither other clients nor the listings. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { generatedListings, tokenRow } from '../fixtures/rows.js';
import { type Answer, json, mostInASecond, type SeenRequest, status } from '../support/fake-upstream.js';
import { fixedLimits } from '../support/fixed-limits.js';
import { attack, startTarget, type Target } from '../support/hostile.js';

const PER_SECOND = 10;
/** Slack in milliseconds: on a busy machine, evenly sent requests arrive in groups. Other tests check the rate limit. */
const SLACK_MS = 500;
const ATTACKER = '127.0.0.2';
const SIZE = { chainCount: 20, tokenCount: 2_000 };
const listed = generatedListings(SIZE.chainCount, SIZE.tokenCount).tokens;
const DESTINATION = tokenRow('chain-1', '0xde57');
const routes = json({ tokens: [DESTINATION] });

interface Pair {
  readonly chainKey: string;
  readonly address: string;
}

/** The pairs of chain and token that the honest client requests. */
const HONEST = listed.slice(-30) as unknown as readonly Pair[];
const aliased = ({ chainKey, address }: Pair, nth: number) =>
  `a${nth}: tokens(srcChainKey: "${chainKey}", srcToken: "${address}") { address }`;

/** The pairs that the attacker takes from the listing. */
const FLOOD = listed.slice(0, 1_500) as unknown as readonly Pair[];

const pairQuery = (pair: Pair) => ({ query: `{ ${aliased(pair, 0)} }` });
/** Ten distinct pairs, as many as one operation may ask for. */
const TEN_UNLISTED = {
  query: `{ ${Array.from({ length: 10 }, (_, nth) => `a${nth}: tokens(srcChainKey: "ethereum", srcToken: "0xbad${nth}$N") { address }`).join(' ')} }`,
};

interface Served {
  readonly answered: number;
  readonly codes: readonly string[];
}

/**
 * Sends the honest client's requests.
 *
 * @param atOnce how many at once. If all are sent at once, one of them is always waiting, however slow this process is
 */
async function askHonestly(target: Target, atOnce = 10): Promise<Served> {
  const left = [...HONEST];
  const codes: string[] = [];
  let answered = 0;
  const client = async () => {
    for (let pair = left.shift(); pair; pair = left.shift()) {
      const { body } = await target.ask(pairQuery(pair));
      const { data, errors = [] } = JSON.parse(body);
      if (data?.a0?.[0]?.address === DESTINATION.address) answered++;
      for (const { extensions } of errors) codes.push(extensions.code);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  return { answered, codes };
}

/** How many other requests arrived between the first and the last of these. */
function othersAmong(all: readonly SeenRequest[], these: readonly SeenRequest[]): number {
  const [from, to] = [these[0]?.at ?? 0, these.at(-1)?.at ?? 0];
  return all.filter(({ at }) => at >= from && at <= to).length - these.length;
}

/** Starts the gateway with an upstream that responds to requests for routes with `answer`. */
async function start(answer: (url: URL) => Answer, env: Record<string, string> = {}) {
  const target = await startTarget({
    ...SIZE,
    env: {
      UPSTREAM_REQUESTS_PER_SECOND: `${PER_SECOND}`,
      // On a busy machine an operation may wait long behind one of the attacker.
      ...fixedLimits({ upstreamRetries: 0 }),
      ...env,
    },
  });
  const { upstream } = target;
  upstream.plan('routes', (response, request, nth) =>
    answer(new URL(request.url ?? '', 'http://fake'))(response, request, nth),
  );
  const isHonest = ({ url }: SeenRequest) => HONEST.some(({ address }) => url.includes(address));
  return {
    ...target,
    /** Waits until the listing is stale. A 404 counts only against this request, and does not open a breaker. */
    async failListing() {
      upstream.plan('tokens', status(404));
      const state = async () => (await target.ask({ query: '{ listings { state } }' })).body;
      await expect.poll(state).toContain('STALE');
    },
    routesSeen: upstream.routesAsked,
    honestSeen: () => upstream.seen.filter(isHonest),
    /** Attacks while the honest client sends its requests. Waiting requests end with the process. */
    async besiege(forMs: number, bodies: readonly object[], atOnce?: number) {
      const attacking = attack(target.address, 16, forMs, bodies, ATTACKER);
      // After this time the attacker has filled the queue.
      await sleep(1_000);
      const served = await askHonestly(target, atOnce);
      return { served, attacking };
    },
  };
}

/** Operations with ten listed pairs each, all different. */
const FLOODS = Array.from({ length: FLOOD.length / 10 }, (_, nth) => ({
  query: `{ ${FLOOD.slice(nth * 10, nth * 10 + 10)
    .map(aliased)
    .join(' ')} }`,
}));
const ALL_ANSWERED = { answered: HONEST.length, codes: [] };

describe('one client that requests routes without end', () => {
  it('a flood of requests from unlisted tokens costs the upstream nothing, and delays no other client', async () => {
    // With this setting the listing stays fresh during the test.
    const env = { TOKENS_FRESH_MS: '3600000' };
    const { besiege, routesSeen, honestSeen, upstream } = await start(() => routes, env);
    const { served, attacking } = await besiege(5_000, [TEN_UNLISTED]);
    expect(served).toEqual(ALL_ANSWERED);
    // Each of these operations asks for ten routes. A busy machine answers few of them.
    expect((await attacking).get(200)).toBeGreaterThan(10);
    expect(honestSeen()).toHaveLength(HONEST.length);
    expect(routesSeen()).toHaveLength(HONEST.length);
    expect(mostInASecond(upstream.seen, SLACK_MS)).toBeLessThanOrEqual(PER_SECOND);
  });

  it('a flood from unlisted tokens waits behind requests from listed ones while the listing is stale', async () => {
    const target = await start(() => routes, { TOKENS_FRESH_MS: '1000' });
    await target.failListing();
    const { served } = await target.besiege(8_000, [TEN_UNLISTED], HONEST.length);
    expect(served).toEqual(ALL_ANSWERED);
    expect(target.honestSeen()).toHaveLength(HONEST.length);
    // The attacker gets only the remaining requests.
    expect(mostInASecond(target.upstream.seen, SLACK_MS)).toBeLessThanOrEqual(PER_SECOND);
    expect(othersAmong(target.routesSeen(), target.honestSeen())).toBeLessThan(HONEST.length / 2);
  });

  it('a flood from listed tokens gets only its share', async () => {
    const { besiege, routesSeen, honestSeen, upstream } = await start(() => routes);
    const { served } = await besiege(6_000, FLOODS, HONEST.length);
    expect(served).toEqual(ALL_ANSWERED);
    // The attacker, one of two clients, gets half of the requests. Some more may have been sent already.
    expect(othersAmong(routesSeen(), honestSeen())).toBeLessThan(1.5 * HONEST.length);
    expect(mostInASecond(upstream.seen, SLACK_MS)).toBeLessThanOrEqual(PER_SECOND);
  });
});

it('unlisted pairs that fail while the listing is stale block neither listed pairs nor listings', async () => {
  const target = await start((url) => (url.search.includes('0xbad') ? status(500) : routes), {
    TOKENS_FRESH_MS: '1000',
  });
  await target.failListing();
  const { served } = await target.besiege(6_000, [TEN_UNLISTED]);
  expect(served).toEqual(ALL_ANSWERED);
  const { body } = await target.send({ path: '/metrics' });
  expect(body).toMatch(
    /gateway_upstream_route_breaker_state\{upstream="v1",tokens="listed",state="closed"\} 1/,
  );
});
