/** The header x-stale-listings names exactly the stale listings that a response was made from, with their ages. */
import { expect, it } from 'vitest';
import { stopDate } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from '../support/test-gateway.js';

const HEADER = 'x-stale-listings';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';

/** Creates a gateway whose listings have this age, in seconds. */
async function createAged(seconds: number, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const gateway = await createTestGateway(options);
  await gateway.query('{ chains { name } tokens { name } }');
  const takenAt = gateway.snapshots.status(Date.now()).map((listing) => listing.takenAt ?? 0);
  // Only the clock is moved, not the timers: no refresh runs.
  const date = stopDate();
  date.advance(Math.max(...takenAt) + seconds * 1000 - Date.now());
  return gateway;
}

async function headerOf({ post }: TestGateway, query: string): Promise<string | null> {
  const response = await post({ query });
  await response.text();
  return response.headers.get(HEADER);
}

const CHAINS = expect.stringMatching(/^chains;age=34\d$/);
const TOKENS = expect.stringMatching(/^tokens;age=34\d$/);
const BOTH = expect.stringMatching(/^chains;age=34\d, tokens;age=34\d$/);

const ROUTES = `tokens(srcChainKey: "ethereum", srcToken: "${USDC}")`;

it.each<[seconds: number, query: string, expected: unknown, config?: TestGatewayOptions['config']]>([
  [340, '{ chains { name } }', CHAINS],
  [340, '{ chain(chainKey: "nope") { name } }', CHAINS],
  [340, '{ tokens { name } }', TOKENS],
  [340, `{ token(chainKey: "ethereum", address: "${USDC}") { name } }`, TOKENS],
  [340, '{ tokens { name chain { name } } }', BOTH],
  [340, '{ tokens { name chain { name } } }', CHAINS, { tokensFreshMs: 1_000_000 }],
  [91, '{ tokens { name chain { name } } }', expect.stringMatching(/^tokens;age=9\d$/)],
  [340, '{ chains { tokenCount } }', BOTH],
  [340, '{ chain(chainKey: "nope") { tokens { name } } }', CHAINS],
  [340, `{ ${ROUTES} { name } }`, TOKENS],
  [340, `{ ${ROUTES} { name chain { name } } }`, BOTH],
  [340, '{ listings { name state ageSeconds rows } }', null],
  [340, '{ __typename }', null],
  [340, '{ nonsense }', null],
  [340, 'query ($skip: Boolean = true) { tokens @skip(if: $skip) { name } __typename }', null],
])(
  'x-stale-listings names the listings that were read and are stale after %i s: %s %#',
  async (seconds, query, expected, config = {}) => {
    expect(await headerOf(await createAged(seconds, { config }), query)).toEqual(expected);
  },
);

it('x-stale-listings has the age of `listings`, in whole seconds, and is readable by pages of other origins', async () => {
  const { post } = await createAged(91);
  const response = await post(
    { query: '{ tokens { name } listings { ageSeconds } }' },
    { origin: 'https://any.example' },
  );
  const { data } = (await response.json()) as { data: { listings: { ageSeconds: number }[] } };
  expect(response.headers.get(HEADER)).toBe(`tokens;age=${data.listings[1]?.ageSeconds}`);
  expect(response.headers.get('access-control-expose-headers')?.split(', ')).toContain(HEADER);
});

it('x-stale-listings names the token listing also if it decides that there are no routes', async () => {
  const gateway = await createAged(340);
  gateway.upstream.plan('tokens', json({ tokens: [] }));
  expect(await headerOf(gateway, `{ ${ROUTES.replace('ethereum', 'base')} { name } }`)).toEqual(TOKENS);
});

it('x-stale-listings does not name a listing that is missing', async () => {
  const gateway = await createTestGateway();
  gateway.upstream.plan('tokens', status(404));
  expect(await headerOf(gateway, '{ tokens { name } }')).toBeNull();
});
