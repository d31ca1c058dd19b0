/** The header x-stale-listings names exactly the stale listings that a response was made from, with their ages. */
import { expect, it } from 'vitest';
import { stopDate } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import { startServer, type TestServer, type TestServerOptions } from '../support/test-server.js';

const HEADER = 'x-stale-listings';
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';

/** Creates a gateway whose listings have this age, in seconds. */
async function createAged(seconds: number, options: TestServerOptions = {}): Promise<TestServer> {
  const gateway = await startServer({ hasListings: true, ...options });
  const takenAt = gateway.snapshots.status(Date.now()).map((listing) => listing.takenAt ?? 0);
  // Only the clock is moved, not the timers: no refresh runs.
  const date = stopDate();
  date.advance(Math.max(...takenAt) + seconds * 1000 - Date.now());
  return gateway;
}

/** The header of a response by the operation writer and, in an event stream, by GraphQL Yoga: the same in both. */
async function headerOf({ ask }: TestServer, query: string): Promise<string | undefined> {
  const byYoga = await ask({ query, headers: { accept: 'text/event-stream' } });
  expect(byYoga.headers['content-type']).toMatch('text/event-stream');
  const { headers } = await ask({ query });
  expect(byYoga.headers[HEADER]).toBe(headers[HEADER]);
  return headers[HEADER] as string | undefined;
}

const CHAINS = expect.stringMatching(/^chains;age=34\d$/);
const TOKENS = expect.stringMatching(/^tokens;age=34\d$/);
const BOTH = expect.stringMatching(/^chains;age=34\d, tokens;age=34\d$/);

const ROUTES = `tokens(srcChainKey: "ethereum", srcToken: "${USDC}")`;

it.each<[seconds: number, query: string, expected: unknown, config?: TestServerOptions['config']]>([
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
  [340, '{ listings { name state ageSeconds rows } }', undefined],
  [340, '{ __typename }', undefined],
  [340, '{ nonsense }', undefined],
  [340, 'query ($skip: Boolean = true) { tokens @skip(if: $skip) { name } __typename }', undefined],
])(
  'x-stale-listings names the listings that were read and are stale after %i s: %s %#',
  async (seconds, query, expected, config = {}) => {
    expect(await headerOf(await createAged(seconds, { config }), query)).toEqual(expected);
  },
);

it('x-stale-listings has the age of `listings`, in whole seconds, and is readable by pages of other origins', async () => {
  const { ask } = await createAged(91);
  const { headers, body } = await ask({
    query: '{ tokens { name } listings { ageSeconds } }',
    headers: { origin: 'https://any.example' },
  });
  const { data } = JSON.parse(body.toString()) as { data: { listings: { ageSeconds: number }[] } };
  expect(headers[HEADER]).toBe(`tokens;age=${data.listings[1]?.ageSeconds}`);
  expect(String(headers['access-control-expose-headers']).split(', ')).toContain(HEADER);
});

it('x-stale-listings names the token listing also if it decides that there are no routes', async () => {
  const gateway = await createAged(340);
  gateway.upstream.plan('tokens', json({ tokens: [] }));
  expect(await headerOf(gateway, `{ ${ROUTES.replace('ethereum', 'base')} { name } }`)).toEqual(TOKENS);
});

it('x-stale-listings does not name a listing that is missing', async () => {
  const gateway = await startServer();
  gateway.upstream.plan('tokens', status(404));
  expect(await headerOf(gateway, '{ tokens { name } }')).toBeUndefined();
});
