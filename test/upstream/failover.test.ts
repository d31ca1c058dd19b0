/** With UPSTREAM_PROFILE=auto only v1 gets requests until it says that it is gone; then only its successor does. */
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { Service } from '../../src/domain/listing.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { repeat } from '../support/ends.js';
import {
  type Answer,
  first,
  json,
  late,
  reset,
  startFakeSuccessor,
  startFakeUpstream,
  status,
} from '../support/fake-upstream.js';
import { codesOf, createTestGateway, sampleOf, type TestOptions } from '../support/test-gateway.js';

const LISTINGS = ['chains', 'tokens'] as const;
const BOTH = '{ chains { chainKey name } tokens { address symbol } }';
const ROUTES = '{ tokens(srcChainKey: "a", srcToken: "0x1") { symbol } }';
const CHANGEOVERS = 'gateway_upstream_changeovers_total{from="v1",to="value-transfer"}';
const GONE = status(410, {}, '{"error":"Gone"}');

const OLD = { chains: [chainRow('a', { name: 'old' })], tokens: [tokenRow('a', '0x1', { symbol: 'OLD' })] };
const NEW = {
  chains: [{ ...successorChain(chainRow('a')), name: 'new' }],
  tokens: [{ ...successorToken(tokenRow('a', '0x1')), symbol: 'NEW' }],
};
const OLD_ROWS = { chains: [{ chainKey: 'a', name: 'old' }], tokens: [{ address: '0x1', symbol: 'OLD' }] };
const NEW_ROWS = { chains: [{ chainKey: 'a', name: 'new' }], tokens: [{ address: '0x1', symbol: 'NEW' }] };

async function serve({ config, ...options }: TestOptions = {}) {
  const v1 = await startFakeUpstream(OLD);
  const successor = await startFakeSuccessor(NEW);
  onTestFinished(successor.close);
  let service: Service | undefined;
  const gateway = await createTestGateway({
    upstream: v1,
    config: {
      upstreamRetries: 0,
      upstreamProfile: 'auto',
      upstreamSuccessorUrl: successor.url,
      // Tests recognise the successor's rows by their symbols. A changed symbol would otherwise be held back.
      holdBackTimes: 1,
      holdBackMs: 0,
      ...config,
    },
    firstPauseMs: 20,
    decorate(created) {
      service = created;
      return created;
    },
    ...options,
  });
  return {
    ...gateway,
    v1,
    successor,
    service: () => service,
    failovers: async () => [
      gateway.logged.filter(({ msg }) => msg.includes('says that it is gone')).length,
      (await sampleOf(gateway, CHANGEOVERS)) ?? 0,
    ],
    async sources() {
      const { data } = await gateway.query<{ listings: { source: string }[] }>('{ listings { source } }');
      return data?.listings.map(({ source }) => source);
    },
  };
}

it.each<[string, Answer, string]>([
  ['503', status(503), 'UPSTREAM_STATUS'],
  ['another form', json({ rows: [] }), 'UPSTREAM_MALFORMED'],
  ['an error that says something else', json({ error: 'busy' }), 'UPSTREAM_MALFORMED'],
])('only v1 gets requests while it works, also if it answers with %s', async (_name, fault, code) => {
  const { query, v1, successor } = await serve();
  v1.planBoth(fault);
  expect(codesOf(await query(BOTH))).toEqual([code, code]);
  expect(successor.count()).toBe(0);
});

it('a token with "deprecated" in its name does not cause a failover', async () => {
  const { query, v1, successor } = await serve();
  v1.plan('tokens', json({ tokens: [tokenRow('a', '0x1', { symbol: 'deprecated' })], error: null }));
  expect(await query('{ tokens { symbol } }')).toEqual({ data: { tokens: [{ symbol: 'deprecated' }] } });
  expect(successor.count()).toBe(0);
});

it('the operation that finds v1 gone gets the answer of the successor', async () => {
  const { query, v1, successor, sources, failovers, logged, metrics, service } = await serve();
  v1.planBoth(GONE);
  expect(await query(BOTH)).toEqual({ data: NEW_ROWS });
  expect(await sources()).toEqual(['value-transfer', 'value-transfer']);
  const ofTokens = (await metrics.expose()).text.match(/^gateway_listing_source\{listing="tokens".*/gm);
  expect(ofTokens).toEqual(['gateway_listing_source{listing="tokens",source="value-transfer"} 1']);
  expect(service()?.source).toBe('value-transfer');
  const counts = [v1, successor].flatMap((each) => [each.count('chains'), each.count('tokens')]);
  expect(counts).toEqual([1, 1, 1, 1]);
  expect(await failovers()).toEqual([1, 1]);
  expect(logged.find(({ code }) => code === 'UPSTREAM_GONE')).toMatchObject({
    level: 'warn',
    msg: expect.stringMatching(/UPSTREAM_PROFILE=value-transfer.*UPSTREAM_URL/),
  });
});

it.each(LISTINGS)('both listings change to the successor at once if v1 is gone only for %s', async (gone) => {
  const config = { chainsFreshMs: 60_000, tokensFreshMs: 60_000, [`${gone}FreshMs`]: 50 };
  const { query, v1, sources, successor, service, failovers } = await serve({ config });
  await query(BOTH);
  v1.plan(gone, GONE);
  await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
  const asked = v1.count();
  await expect.poll(() => successor.count(gone)).toBeGreaterThan(2);
  await service()?.fetch('chains');
  await service()?.fetch('tokens');
  expect(v1.count()).toBe(asked);
  expect(await failovers()).toEqual([1, 1]);
});

it.each(LISTINGS)('both listings change service even if v1, gone for %s, sends the other', async (gone) => {
  const config = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };
  const { query, v1, sources, successor } = await serve({ config });
  const other = gone === 'chains' ? 'tokens' : 'chains';
  v1.plan(gone, GONE);
  const hasSwitched = () => expect.poll(() => successor.count(gone)).toBe(1);
  v1.plan(other, () => hasSwitched().then(() => late(100, json(OLD))));
  await query(BOTH);
  await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
  expect(v1.count(other)).toBe(1);
});

it('the log names the differences between the two listings', async () => {
  const { query, v1, successor, sources, logged } = await serve({
    config: { tokensFreshMs: 50, holdBackTimes: 2, holdBackShrink: 0.3 },
  });
  const nameOf = (digit: string) => `a:0x${digit.padStart(40, '0')}`;
  v1.plan('tokens', json({ tokens: ['0x1', '0x2', '0x3'].map((address) => tokenRow('a', address)) }));
  await query(BOTH);
  const tokens = [tokenRow('a', '0x1', { decimals: 18 }), tokenRow('a', '0x4')].map(successorToken);
  successor.plan('tokens', json({ tokens }));
  v1.planBoth(GONE);
  await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
  expect(logged.some(({ msg }) => msg.includes('tokens listing is held back: it lacks 2 of 3'))).toBe(true);
  expect(
    logged.find(({ msg, listing }) => msg.includes('another service') && listing === 'tokens'),
  ).toMatchObject({
    from: 'v1',
    to: 'value-transfer',
    appeared: { count: 1, first: [nameOf('4')] },
    vanished: { count: 2, first: [nameOf('2'), nameOf('3')] },
  });
  // Changes of rows that both services have are guarded, with a log line for each.
  expect(logged.find(({ msg }) => msg.startsWith('Accepted in the tokens listing'))).toMatchObject({
    chainKey: 'a',
    address: '0x1',
    fact: 'decimals',
    served: '6',
    upstream: '18',
  });
});

it('clients notice nothing of a failover, however many send requests', async () => {
  const config = { chainsFreshMs: 20, tokensFreshMs: 20 };
  const { query, v1, sources, failovers } = await serve({ config });
  const failed: unknown[] = [];
  let answered = 0;
  const ask = async () => {
    const answer = await query(
      `{ chains { name } tokens { symbol } token(chainKey: "a", address: "0x1") { chain { name } } }`,
    );
    answered++;
    // Answers from memory alone would leave the event loop no time to read those of the services.
    await setImmediate();
    if (answer.errors) failed.push(answer);
  };
  const clients = Array.from({ length: 20 }, () => repeat(ask));
  await expect.poll(sources).toEqual(['v1', 'v1']);
  v1.planBoth(late(5, GONE));
  await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
  const before = answered;
  await expect.poll(() => answered).toBeGreaterThan(before + 100);
  await Promise.all(clients.map((stop) => stop()));
  expect(failed).toEqual([]);
  expect(await failovers()).toEqual([1, 1]);
});

it('clients do not see later errors of v1', async () => {
  const { query, v1, service } = await serve();
  const fail = v1.hold('tokens', status(503));
  v1.plan('chains', GONE);
  const tokens = query('{ tokens { symbol } }');
  await expect.poll(() => v1.count('tokens')).toBe(1);
  await query('{ chains { name } }');
  expect(service()?.source).toBe('value-transfer');
  fail();
  expect(await tokens).toEqual({ data: { tokens: [{ symbol: 'NEW' }] } });
});

it('a successor that fails changes nothing: the last good listing stays until it answers, and v1 gets no requests', async () => {
  const { query, v1, successor, listings, sources, failovers, service } = await serve({
    config: { tokensFreshMs: 50 },
  });
  expect(await query(BOTH)).toEqual({ data: OLD_ROWS });
  successor.plan('tokens', status(503));
  v1.plan('tokens', GONE);
  const asked = v1.count('tokens');
  await expect.poll(() => successor.count('tokens')).toBeGreaterThan(2);
  expect(await query(BOTH)).toEqual({ data: OLD_ROWS });
  expect(await sources()).toEqual(['v1', 'v1']);
  expect(service()?.source).toBe('v1');
  expect(listings().tokens.lastFailure?.code).toBe('UPSTREAM_STATUS');
  expect(v1.count('tokens')).toBe(asked + 1);
  expect(await failovers()).toEqual([0, 0]);
  successor.plan('tokens', json({ tokens: NEW.tokens, pagination: {} }));
  await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
  expect(await failovers()).toEqual([1, 1]);
});

it('a successor that fails gives clients its error if there is no listing yet, until it answers; the log names both addresses', async () => {
  const { query, v1, successor, sources, logged } = await serve();
  successor.plan('tokens', first(1, reset, json({ tokens: NEW.tokens })));
  v1.plan('tokens', GONE);
  expect(codesOf(await query('{ tokens { symbol } }'))).toEqual(['UPSTREAM_UNREACHABLE']);
  const line = logged.find(({ code }) => code === 'UPSTREAM_UNREACHABLE');
  expect(line?.detail).toContain(`${successor.url}/tokens: UND_ERR_SOCKET`);
  expect(line?.detail).toContain(`; asked because of: ${v1.url}/tokens: HTTP 410`);
  expect(line?.msg).toContain('Check the address (UPSTREAM_URL or UPSTREAM_SUCCESSOR_URL)');
  await expect.poll(async () => (await query('{ tokens { symbol } }')).errors).toBeUndefined();
  expect((await sources())?.[1]).toBe('value-transfer');
  expect(v1.count('tokens')).toBe(1);
});

it('the successor gets all requests after the failover, also those for routes, and gives its own errors', async () => {
  const { query, v1, successor, service } = await serve();
  v1.planBoth(GONE);
  await query(BOTH);
  const asked = v1.count();
  expect(await query(ROUTES)).toEqual({ data: { tokens: [{ symbol: 'NEW' }] } });
  successor.plan('tokens', status(503));
  await expect(service()?.fetch('tokens')).rejects.toMatchObject({ code: 'UPSTREAM_STATUS', status: 503 });
  expect(v1.count()).toBe(asked);
});

it('a request for routes that v1 says is gone is answered by the successor, and the listings stay with v1', async () => {
  const { query, v1, successor, sources, failovers, service } = await serve();
  await query(BOTH);
  v1.plan('routes', GONE);
  // The row has the symbol of the listing, which is still from v1.
  expect(await query(ROUTES)).toEqual({ data: { tokens: [{ symbol: 'OLD' }] } });
  expect(await sources()).toEqual(['v1', 'v1']);
  expect((await service()?.fetch('tokens'))?.source).toBe('v1');
  expect(await failovers()).toEqual([0, 0]);
  expect(successor.seen.map(({ url }) => url)).toEqual([
    '/v1/tokens?transferrableFromChainKey=a&transferrableFromTokenAddress=0x1',
  ]);
});

it.each<[number, unknown, string[]]>([
  [422, { tokens: [] }, []],
  [400, { tokens: null }, ['UPSTREAM_STATUS']],
])('HTTP %i that repeats "deprecated" from a client does not count as gone', async (code, data, codes) => {
  const { query, v1, successor } = await serve();
  v1.plan('routes', status(code, {}, '{"error":"unsupported token (deprecated)"}'));
  const answer = await query('{ tokens(srcToken: "(Deprecated)") { symbol } }');
  expect([answer.data, codesOf(answer)]).toEqual([data, codes]);
  expect(v1.routesAsked()).toHaveLength(1);
  expect(successor.count()).toBe(0);
});
