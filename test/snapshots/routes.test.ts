/** Routes agree with the token listing, and their requests are shared fairly among clients. */
import { expect, it } from 'vitest';
import { NATIVE_PLACEHOLDER } from '../../src/domain/addresses.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { createContexts } from '../graph/executor.js';
import { DAY, MINUTE, manyRounds, stopClock, stopClocks, untilCachesSeeTheTime } from '../support/clock.js';
import { type Answer, json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { numbered, numberedRows, startGuarded } from '../support/guarded-gateway.js';
import { untilAsked } from '../support/sweep.js';
import {
  type Answered,
  codesOf,
  createTestGateway,
  isAtLeast,
  type Settings,
} from '../support/test-gateway.js';
import { FRESH, pathOf, startServer } from '../support/test-server.js';

const BIG = '0xAbCdEf0000000000000000000000000000000001';
const SHOUTED = `0x${BIG.slice(2).toUpperCase()}`;
const ZERO = `0x${'0'.repeat(40)}`;
const LISTED = [
  tokenRow('a', BIG),
  tokenRow('d', ZERO, { symbol: 'NATIVE' }),
  tokenRow('b', '0x2', { symbol: 'TWO', name: 'Two', price: { usd: 2 }, decimals: 6 }),
  ...Array.from({ length: 100 }, (_, index) => tokenRow('c', `0x${(index + 100).toString(16)}`)),
];

async function serve(routes: (address: string) => Answer, config: Settings = {}) {
  const gateway = await createTestGateway({
    listings: { chains: [chainRow('a')], tokens: LISTED, routes: (_, { url }) => routes(addressIn(url)) },
    config: { tokensFreshMs: 60_000, upstreamRetries: 0, ...config },
    hasListings: true,
  });
  return {
    ...gateway,
    asked: () => gateway.upstream.routesAsked().map(({ url }) => addressIn(url)),
    async queryAs<Data>(client: string, query: string): Promise<Answered<Data>> {
      return (await (await gateway.post({ query }, {}, client)).json()) as Answered<Data>;
    },
  };
}

const addressIn = (url = '') => url.replace(/.*srcToken=/, '');

const hexOf = (index: number) => `0x${(index + 100).toString(16)}`;

const one = () => json({ tokens: [tokenRow('b', '0x2')] });
const pair = (address: string, chainKey = 'c') =>
  `{ tokens(srcChainKey: "${chainKey}", srcToken: "${address}") { address } }`;

it('routes with long texts take more of the cache: two large answers are not kept together', async () => {
  const rows = Array.from({ length: 5_000 }, (_, nth) =>
    tokenRow('b', `0x${(nth + 1e6).toString(16)}`, { symbol: 'S'.repeat(250), name: 'N'.repeat(1_000) }),
  );
  const { query, asked } = await serve(() => json({ tokens: rows }));
  for (const address of [hexOf(0), hexOf(1), hexOf(0)])
    expect(codesOf(await query(pair(address)))).toEqual([]);
  expect(asked()).toEqual([hexOf(0), hexOf(1), hexOf(0)]);
});

it.each([
  ['an unknown address', pair('0xbad')],
  ['a listed address on another chain', pair(BIG, 'b')],
  ['the native asset of a chain that lists none', pair(ZERO, 'a')],
  ['an unknown address alone', '{ tokens(srcToken: "0xbad") { address } }'],
])('routes from an unlisted token are empty while the listing is fresh: %s', async (_name, query) => {
  const gateway = await serve(one);
  expect(await gateway.query(query)).toEqual({ data: { tokens: [] } });
  expect(gateway.asked()).toEqual([]);
});

it.each([
  ['in any letter case', pair(BIG.toLowerCase(), 'a'), BIG],
  ['as the native asset, under the zero address', pair(NATIVE_PLACEHOLDER, 'd'), ZERO],
  ['alone, in any letter case', `{ tokens(srcToken: "${SHOUTED}") { address } }`, BIG],
])('routes from a token are requested if it is listed %s', async (_name, query, sent) => {
  const gateway = await serve(one);
  expect(await gateway.query(query)).toEqual({ data: { tokens: [{ address: '0x2' }] } });
  expect(gateway.asked()).toEqual([sent]);
});

it('routes do not depend on the letter case that was asked for before the first listing', async () => {
  const upstream = await startFakeUpstream({
    chains: [chainRow('a')],
    tokens: status(404),
    routes: (_response, { url }) => (addressIn(url) === BIG ? one() : json({ tokens: [] })),
  });
  const gateway = await createTestGateway({ upstream, config: { upstreamRetries: 0 } });
  expect(await gateway.query(pair(SHOUTED, 'a'))).toEqual({ data: { tokens: [] } });
  upstream.plan('tokens', json({ tokens: LISTED }));
  await gateway.refresh();
  for (const written of [SHOUTED, BIG])
    expect(await gateway.query(pair(written, 'a'))).toEqual({ data: { tokens: [{ address: '0x2' }] } });
});

it('routes from unlisted tokens do not count towards the budget of an operation', async () => {
  const { query, asked } = await serve(one, { maxRoutesPerOperation: 1 });
  const unlisted = Array.from({ length: 5 }, (_, nth) => `a${nth}: ${pair(`0xbad${nth}`).slice(2, -2)}`);
  expect(codesOf(await query(`{ ${unlisted.join(' ')} b: ${pair('0x64').slice(2)}`))).toEqual([]);
  expect(asked()).toHaveLength(1);
});

it('routes from unlisted tokens are requested after those from listed tokens while the listing is stale', async () => {
  const gateway = await serve(one, { tokensFreshMs: 100, upstreamRequestsPerSecond: 1 });
  gateway.upstream.plan('tokens', status(404));
  await expect.poll(() => gateway.listings().tokens.state, { interval: 10 }).toBe('STALE');
  const clock = stopClock();
  const questions = ['0xbad1', '0xbad2', '0xbad3', '0xbad4', '0x64', '0x65'];
  const answers = Promise.all(questions.map((address) => gateway.query(pair(address))));
  await manyRounds();
  await untilAsked(gateway, 6, clock, 1_050);
  await answers;
  // A permit may have been left from before. Then the first request, for 0xbad1, was sent at once.
  const [first, ...others] = gateway.asked();
  expect([first, ...others].filter((address) => address !== '0xbad1').slice(0, 2)).toEqual(['0x64', '0x65']);
  expect(others.slice(0, 2)).toContain('0x65');
});

it('rows of routes with other decimals than in the listing are left out, counted and logged once', async () => {
  const rows = [tokenRow('b', '0x2', { decimals: 18 }), tokenRow('d', '0x3'), tokenRow('c', '0x64')];
  const { query, metrics, linesWith } = await serve(() => json({ tokens: rows }));
  for (let asked = 0; asked < 3; asked++) {
    const answer = await query('{ destinations(srcChainKey: "a", srcToken: "0x64") { chainKey } }');
    expect(answer).toEqual({ data: { destinations: null } });
    expect(await query(pair(BIG, 'a'))).toEqual({
      data: { tokens: [{ address: '0x3' }, { address: '0x64' }] },
    });
  }
  expect((await metrics.expose()).text).toMatch(/^gateway_route_rows_conflicting_total 1$/m);
  expect(linesWith('other decimals')).toMatchObject([
    { level: 'warn', rows: 1, first: [expect.stringMatching(/^b:0x0{39}2: 18, listed with 6$/)] },
  ]);
});

it('rows of routes are compared with the listing that the operation reads, not with a newer one', async () => {
  const other = LISTED.map((row) => (row.address === '0x2' ? { ...row, decimals: 18 } : row));
  const gateway = await serve(() => json({ tokens: [tokenRow('b', '0x2', { decimals: 18 })] }), {
    holdBackTimes: 1,
    holdBackMs: 0,
  });
  const begin = await createContexts(gateway);
  const { loaders: before } = begin();
  expect((await before.tokenByAddress('b', '0x2'))?.decimals).toBe(6);
  gateway.upstream.plan('tokens', json({ tokens: other }));
  gateway.snapshots.refreshNow();
  await expect.poll(() => gateway.snapshots.current().tokens?.byAddress('b', '0x2')?.decimals).toBe(18);
  const question = { srcChainKey: 'c', srcToken: '0x64' };
  expect((await before.routesFrom(question)).rows).toEqual([]);
  expect((await begin().loaders.routesFrom(question)).rows).toEqual([
    gateway.snapshots.current().tokens?.byAddress('b', '0x2'),
  ]);
  expect(gateway.asked()).toHaveLength(1);
});

it('a token that is not listed has the same row in all routes of one response', async () => {
  const CHANGES: Record<string, object> = { '0x64': { price: { usd: 1 } }, '0x65': { price: { usd: 2 } } };
  const { query } = await serve((from) =>
    json({ tokens: [tokenRow('d', '0x9', CHANGES[from] ?? { decimals: 18 })] }),
  );
  // One after the other, so that it is known which came first.
  for (const address of ['0x64', '0x65', '0x66']) await query(pair(address));
  const answer = await query<Record<'a' | 'b' | 'c', object[]>>(`{
      a: tokens(srcChainKey: "c", srcToken: "0x64") { id decimals price { usd } }
      b: tokens(srcChainKey: "c", srcToken: "0x65") { id decimals price { usd } }
      c: tokens(srcChainKey: "c", srcToken: "0x66") { id decimals price { usd } }
    }`);
  expect(answer.data?.a).toMatchObject([{ decimals: 6, price: { usd: 1 } }]);
  expect(answer.data?.b).toEqual(answer.data?.a);
  expect(answer.data?.c).toEqual([]);
});

it('a removed token with another symbol is left out of routes: its address is known as another token', async () => {
  const gateway = await startGuarded({ chains: [chainRow('a')], tokens: numberedRows(5) });
  await gateway.bring({ tokens: numberedRows(4) });
  gateway.upstream.plan('routes', json({ tokens: [numbered(2), numbered(5, { symbol: 'S2' })] }));
  const ask = '{ tokens(srcChainKey: "a", srcToken: "0x1") { address symbol } }';
  expect(await gateway.query(ask)).toEqual({ data: { tokens: [{ address: '0x2', symbol: 'S2' }] } });
  gateway.upstream.plan('routes', json({ tokens: [numbered(5)] }));
  await gateway.bring({}, 2 * MINUTE);
  expect(await gateway.query(ask)).toEqual({ data: { tokens: [{ address: '0x5', symbol: 'S5' }] } });
  expect(gateway.upstream.routesAsked()).toHaveLength(2);
});

it('a new address with the symbol of a removed token is left out of routes for the hold-back period, as it would be of the listing', async () => {
  const gateway = await startGuarded({ chains: [chainRow('a')], tokens: numberedRows(5) });
  const ask = '{ tokens(srcChainKey: "a", srcToken: "0x1") { address } }';
  const routed = async () => (await gateway.query<{ tokens: object[] }>(ask)).data?.tokens;
  gateway.upstream.plan('routes', json({ tokens: [numbered(9, { symbol: 's5' }), numbered(2)] }));
  expect(await routed()).toEqual([{ address: '0x9' }, { address: '0x2' }]);
  await gateway.bring({ tokens: numberedRows(4) });
  expect(await routed()).toEqual([{ address: '0x2' }]);
  await gateway.bring({}, DAY - 1);
  expect(await routed()).toEqual([{ address: '0x2' }]);
  await gateway.bring({}, 1);
  expect(await routed()).toEqual([{ address: '0x9' }, { address: '0x2' }]);
  await gateway.apply('keep a:0x5 address 0x5');
  expect(await routed()).toEqual([{ address: '0x2' }]);
});

it.each([
  ['a token that stays listed because its replacement waits', [numbered(6, { symbol: 'S5' })]],
  ['a token whose new symbol is held back', [numbered(5, { symbol: 'S5.e' })]],
])('a new address with the symbol of %s is left out of routes', async (_what, rows) => {
  const gateway = await startGuarded({ chains: [chainRow('a')], tokens: numberedRows(5) });
  await gateway.bring({ tokens: [...numberedRows(4), ...rows] });
  gateway.upstream.plan('routes', json({ tokens: [numbered(9, { symbol: 'S5' }), numbered(5)] }));
  const ask = '{ tokens(srcChainKey: "a", srcToken: "0x1") { address heldBack { served } } }';
  const [held] = [{ address: '0x5', heldBack: [{ served: expect.any(String) }] }];
  expect(await gateway.query(ask)).toEqual({ data: { tokens: [held] } });
});

it('a price in a route to a removed token is null if it is ten times higher or lower than its last price', async () => {
  const gateway = await startGuarded({ chains: [chainRow('a')], tokens: numberedRows(5) });
  await gateway.bring({ tokens: numberedRows(3) });
  await gateway.bring({});
  const sent = [numbered(4, { price: { usd: 50_000 } }), numbered(5, { price: { usd: 2 } })];
  gateway.upstream.plan('routes', json({ tokens: sent }));
  const { data } = await gateway.query<{ tokens: object[] }>(
    '{ tokens(srcChainKey: "a", srcToken: "0x1") { address price { usd } } }',
  );
  expect(data?.tokens).toEqual([
    { address: '0x4', price: null },
    { address: '0x5', price: { usd: 2 } },
  ]);
  expect(gateway.upstream.routesAsked()).toHaveLength(1);
});

it('an unlisted native asset with other decimals than in the chain listing is left out of routes', async () => {
  const { query, asked } = await serve(() =>
    json({ tokens: [tokenRow('a', ZERO, { decimals: 6 }), tokenRow('b', '0x2', { decimals: 6 })] }),
  );
  const { data } = await query<{ tokens: object[] }>(pair(BIG, 'a'));
  expect(data?.tokens).toEqual([{ address: '0x2' }]);
  expect(asked()).toEqual([BIG]);
});

it('a price unlike that of its symbol in the token listing or in the same answer is null in a route to an unlisted token', async () => {
  const prices = { '0x91': 0.2, '0x92': 0.01, '0x93': 1_000 };
  const tokens = Object.entries(prices).map(([address, usd]) => tokenRow('d', address, { price: { usd } }));
  const other = tokenRow('d', '0x94', { symbol: 'OTHER', price: { usd: 1_000 } });
  const pair = [4, 4_000].map((usd, nth) =>
    tokenRow('d', `0x9${nth + 5}`, { symbol: 'NEW', price: { usd } }),
  );
  const { query } = await serve(() => json({ tokens: [...tokens, other, ...pair] }));
  const answer = await query<{ tokens: object[] }>(
    '{ tokens(srcChainKey: "c", srcToken: "0x64") { address price { usd } } }',
  );
  expect(answer.data?.tokens).toEqual([
    { address: '0x91', price: { usd: 0.2 } },
    { address: '0x92', price: null },
    { address: '0x93', price: null },
    { address: '0x94', price: { usd: 1_000 } },
    { address: '0x95', price: null },
    { address: '0x96', price: null },
  ]);
});

it('a price in a route to an unlisted token is null while all prices of its symbol in the listing are doubted', async () => {
  const clock = stopClocks();
  const gateway = await serve(() => json({ tokens: [tokenRow('d', '0x9', { price: { usd: 2_500 } })] }));
  const wrong = LISTED.map((row) => (row.symbol === 'USDC' ? { ...row, price: { usd: 2_500 } } : row));
  for (const price of [null, { usd: 2_500 }]) {
    clock.advance(601_000);
    gateway.upstream.plan('tokens', json({ tokens: wrong }));
    await gateway.refresh();
    await untilCachesSeeTheTime();
    const answer = await gateway.query<{ token: object; tokens: object[] }>(
      '{ token(chainKey: "c", address: "0x64") { price { usd } } tokens(srcChainKey: "c", srcToken: "0x64") { price { usd } } }',
    );
    expect(answer.data).toEqual({ token: { price }, tokens: [{ price }] });
  }
});

it('a price in old routes is null when it is too old, also after the clock was set back', async () => {
  const clock = stopClocks();
  const gateway = await serve(() => json({ tokens: [tokenRow('d', '0x9', { price: { usd: 1 } })] }), {
    priceMaxAgeMs: 90_000,
  });
  const priced = '{ destinations(srcChainKey: "c", srcToken: "0x64") { asOf tokens { price { usd } } } }';
  const first = { destinations: [{ tokens: [{ price: { usd: 1 } }] }] };
  expect(await gateway.query(priced)).toMatchObject({ data: first });
  const asOf = new Date(Date.now() - 3_600_000).toISOString();
  clock.setBack(3_600_000);
  await gateway.refresh();
  // The second time, the pause that the upstream asked for is not over, and no request is sent.
  gateway.upstream.plan('routes', status(500, { 'retry-after': '600' }));
  for (const price of [{ usd: 1 }, null]) {
    clock.advance(61_000);
    await untilCachesSeeTheTime();
    const destinations = [{ asOf, tokens: [{ price }] }];
    expect(await gateway.query(priced)).toEqual({ data: { destinations } });
  }
});

const USDC = {
  ethereum: '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48',
  base: '0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
};
const rows = [
  tokenRow('ethereum', USDC.ethereum, { decimals: 18 }),
  tokenRow('base', USDC.base),
  tokenRow('d', '0x9'),
];

it.each([
  ['', LISTED],
  [', also while there is no token listing', status(404)],
])('unlisted rows of routes need the decimals of the demo data%s', async (_when, listing) => {
  const listings = { tokens: listing, routes: json({ tokens: rows }) };
  const { query } = await createTestGateway({ listings, config: { upstreamRetries: 0 } });
  expect(await query(pair('0x64'))).toEqual({
    data: { tokens: [{ address: USDC.base }, { address: '0x9' }] },
  });
});

it('clients take turns, however many requests one of them has, and share requests for the same routes', async () => {
  const { queryAs, asked } = await serve(one, { upstreamRequestsPerSecond: 5 });
  const clock = stopClock();
  const greedy = Array.from({ length: 12 }, (_, index) => queryAs('10.0.0.1', pair(hexOf(index))));
  await manyRounds();
  // The request for the second address waits as the last one of the greedy client. Both clients share it from now on,
  // and it is sent in a turn of the modest client.
  const modest = [50, 11].map((index) => queryAs('10.0.0.2', pair(hexOf(index))));
  await manyRounds();
  await untilAsked({ asked }, 13, clock, 1_050);
  await Promise.all([...greedy, ...modest]);
  expect(asked()).toHaveLength(13);
  expect(asked().slice(0, 9)).toEqual(expect.arrayContaining([hexOf(50), hexOf(11)]));
});

it('clients are refused when too many wait: first the client with most requests, logged at debug', async () => {
  const { queryAs, linesWith } = await serve(one, { upstreamRequestsPerSecond: 1 });
  const greedy = Array.from({ length: 45 }, (_, index) => queryAs('10.0.0.1', pair(hexOf(index))));
  await expect.poll(() => linesWith('was not sent').length).toBeGreaterThan(5);
  const modest = queryAs('10.0.0.2', pair(hexOf(60)));
  expect(await modest).toEqual({ data: { tokens: [{ address: '0x2' }] } });
  const refusals = linesWith('was not sent');
  for (const line of refusals) expect(line).toMatchObject({ level: 'debug', code: 'UPSTREAM_RATE_LIMITED' });
  expect(refusals.some(({ err }) => err)).toBe(false);
  // The test does not wait for the other answers: they would take half a minute.
  for (const asked of greedy) asked.catch(() => {});
});

it('routes that fail are logged in one line at warn, without a stack, however many clients wait for them', async () => {
  const { query, logged, asked, upstream } = await serve(one);
  const fail = upstream.hold('routes', status(500));
  const answering = Promise.all(Array.from({ length: 20 }, () => query(pair('0x64'))));
  await expect.poll(asked).toHaveLength(1);
  await manyRounds();
  fail();
  const answers = await answering;
  expect(new Set(answers.flatMap(codesOf))).toEqual(new Set(['UPSTREAM_STATUS']));
  expect(asked()).toHaveLength(1);
  const lines = logged.filter((line) => line.srcToken === '0x64' && isAtLeast(line, 'info'));
  expect(lines).toMatchObject([{ level: 'warn', code: 'UPSTREAM_STATUS' }]);
  expect(lines[0]).not.toHaveProperty('err');
});

it('routes that fail are requested again after five seconds, and after a success when they are no longer fresh', async () => {
  let answer = status(500);
  const { query, asked, linesWith } = await serve(() => answer, { destinationsFreshMs: 100 });
  const clock = stopClock();
  const codes = async () => codesOf(await query(pair('0x64')));
  const advance = async (ms: number) => {
    clock.advance(ms);
    await untilCachesSeeTheTime();
  };
  for (const requests of [1, 2]) {
    for (let nth = 0; nth < 20; nth++) expect(await codes()).toEqual(['UPSTREAM_STATUS']);
    await advance(4_999);
    expect(await codes()).toEqual(['UPSTREAM_STATUS']);
    expect(asked()).toHaveLength(requests);
    await advance(2);
  }
  expect(linesWith('could not be fetched')).toHaveLength(2);
  answer = one();
  expect(await codes()).toEqual([]);
  await advance(101);
  answer = status(500);
  expect(await codes()).toEqual([]);
  expect(asked()).toHaveLength(4);
});

const MANY = Array.from({ length: 45_000 }, (_, index) => tokenRow('b', `0xb${index}`));

it('an answer that is larger than the cache of routes is requested once, and replaces all others', async () => {
  const { query, asked } = await serve(
    (from) => json({ tokens: from === '0x64' ? MANY : [tokenRow('b', '0x2')] }),
    { destinationsFreshMs: 3_600_000 },
  );
  const countOf = async (address: string) => {
    const { data } = await query<{ tokens: unknown[] }>(pair(address));
    return data?.tokens.length;
  };
  expect([await countOf('0x65'), await countOf('0x65')]).toEqual([1, 1]);
  expect(asked()).toHaveLength(1);
  for (let nth = 0; nth < 3; nth++) expect(await countOf('0x64')).toBe(45_000);
  expect(asked()).toHaveLength(2);
  // The two answers evict each other: the cache never has both.
  expect([await countOf('0x65'), await countOf('0x65'), await countOf('0x64')]).toEqual([1, 1, 45_000]);
  expect(asked()).toHaveLength(4);
});

it('routes whose client has left are fetched all the same: it gets them at once when it asks again', async () => {
  const upstream = await startFakeUpstream({ tokens: LISTED, routes: one() });
  const { address, ask, executed } = await startServer({
    upstream,
    config: { ...FRESH, upstreamRequestsPerSecond: 2 },
  });
  await ask({ query: '{ tokens { symbol } }' });
  const queries = Array.from({ length: 6 }, (_, index) => pair(hexOf(index)));
  const controller = new AbortController();
  const left = queries.map((query) =>
    fetch(`${address}${pathOf({ query })}`, controller).catch(() => 'left'),
  );
  await expect.poll(executed).toBe(1 + queries.length);
  // Most of the requests to the upstream still wait.
  controller.abort();
  expect((await Promise.all(left)).at(-1)).toBe('left');
  await expect.poll(() => upstream.routesAsked()).toHaveLength(6);
  for (const query of queries)
    expect((await ask({ query })).body.toString()).toBe('{"data":{"tokens":[{"address":"0x2"}]}}');
  expect(upstream.routesAsked()).toHaveLength(6);
});
