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

it.each<[string, unknown]>([
  ['{ chains { name } }', CHAINS],
  ['{ chain(chainKey: "nope") { name } }', CHAINS],
  ['{ tokens { name } }', TOKENS],
  [`{ token(chainKey: "ethereum", address: "${USDC}") { name } }`, TOKENS],
  ['{ tokens { name chain { name } } }', BOTH],
  ['{ chains { tokenCount } }', BOTH],
  ['{ chain(chainKey: "nope") { tokens { name } } }', CHAINS],
  ['{ listings { name state ageSeconds rows } }', null],
  ['{ __typename }', null],
  ['{ nonsense }', null],
  ['query ($skip: Boolean = true) { tokens @skip(if: $skip) { name } __typename }', null],
])('x-stale-listings names the stale listings that were read: %s', async (query, expected) => {
  expect(await headerOf(await createAged(340), query)).toEqual(expected);
});

it('x-stale-listings does not name fresh listings', async () => {
  const query = '{ tokens { name chain { name } } }';
  expect(await headerOf(await createAged(91), query)).toMatch(/^tokens;age=9\d$/);
  const slowly = { config: { tokensFreshMs: 1_000_000 } };
  expect(await headerOf(await createAged(340, slowly), query)).toMatch(/^chains;age=34\d$/);
});

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

it('x-stale-listings names the listings behind routes (tokens) and joined chains', async () => {
  const gateway = await createAged(340);
  const routes = `tokens(srcChainKey: "ethereum", srcToken: "${USDC}")`;
  expect(await headerOf(gateway, `{ ${routes} { name } }`)).toEqual(TOKENS);
  expect(await headerOf(gateway, `{ ${routes} { name chain { name } } }`)).toEqual(BOTH);
  // Whether the token is listed decides an empty result, too, so the header names the token listing.
  gateway.upstream.plan('tokens', json({ tokens: [] }));
  expect(await headerOf(gateway, `{ ${routes.replace('ethereum', 'base')} { name } }`)).toEqual(TOKENS);
});

it('x-stale-listings does not name a listing that is missing', async () => {
  const gateway = await createTestGateway();
  gateway.upstream.plan('tokens', status(404));
  expect(await headerOf(gateway, '{ tokens { name } }')).toBeNull();
});
