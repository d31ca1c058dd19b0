import { setImmediate } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { tokenKey } from '../../src/domain/addresses.js';
import type { Listing } from '../../src/domain/listing.js';
import type { UpstreamError } from '../../src/domain/upstream-error.js';
import { GONE_PAUSE_MS } from '../../src/upstream/http/errors.js';
import { chainRow, successorChain, successorToken, tokenRow } from '../fixtures/rows.js';
import { startFakeSuccessor } from '../support/fake-successor.js';
import {
  type Answer,
  type FakeUpstream,
  first,
  json,
  late,
  startFakeUpstream,
  status,
} from '../support/fake-upstream.js';
import { codesOf, createTestGateway, type TestGatewayOptions } from '../support/test-gateway.js';
import { createTestHttp } from '../support/test-http.js';

const BOTH = '{ chains { chainKey name } tokens { address symbol } }';
const ROUTES = '{ tokens(srcChainKey: "a", srcToken: "0x1") { symbol } }';
const GONE = status(410, {}, '{"error":"Gone"}');

const OLD = { chains: [chainRow('a', { name: 'old' })], tokens: [tokenRow('a', '0x1', { symbol: 'OLD' })] };
const NEW = {
  chains: [{ ...successorChain(chainRow('a')), name: 'new' }],
  tokens: [{ ...successorToken(tokenRow('a', '0x1')), symbol: 'NEW' }],
};
const OLD_ROWS = { chains: [{ chainKey: 'a', name: 'old' }], tokens: [{ address: '0x1', symbol: 'OLD' }] };
const NEW_ROWS = { chains: [{ chainKey: 'a', name: 'new' }], tokens: [{ address: '0x1', symbol: 'NEW' }] };

/** The whole gateway in front of both services, each of which a test can plan. */
async function serve({ config, ...options }: TestGatewayOptions = {}) {
  const v1 = await startFakeUpstream(OLD);
  const successor = await startFakeSuccessor(NEW);
  onTestFinished(successor.close);
  let listing: Listing | undefined;
  const gateway = await createTestGateway({
    upstream: v1,
    config: {
      upstreamRetries: 0,
      upstreamProfile: 'auto',
      upstreamSuccessorUrl: successor.url,
      // Its rows are told apart by their symbols, and another symbol would be held back.
      holdBackTimes: 1,
      holdBackMs: 0,
      ...config,
    },
    firstPauseMs: 20,
    decorate(created) {
      listing = created;
      return created;
    },
    ...options,
  });
  return {
    ...gateway,
    v1,
    successor,
    listing: () => listing,
    toldOf: () => gateway.logged.filter(({ msg }) => msg.includes('says that it is gone')),
    async sources() {
      const { data } = await gateway.query<{ listings: { source: string }[] }>('{ listings { source } }');
      return data?.listings.map(({ source }) => source);
    },
  };
}

function planBoth(upstream: FakeUpstream, answer: Answer) {
  upstream.plan('chains', answer);
  upstream.plan('tokens', answer);
}

describe('as long as v1 answers', () => {
  it('it alone is asked', async () => {
    const { query, successor, sources, listing } = await serve();
    expect(await query(BOTH)).toEqual({ data: OLD_ROWS });
    expect(await sources()).toEqual(['v1', 'v1']);
    expect(listing()?.source).toBe('v1');
    expect(successor.count()).toBe(0);
  });

  it.each<[string, Answer, string]>([
    ['503', status(503), 'UPSTREAM_STATUS'],
    ['404', status(404), 'UPSTREAM_STATUS'],
    ['429', status(429), 'UPSTREAM_RATE_LIMITED'],
    ['another form', json({ rows: [] }), 'UPSTREAM_MALFORMED'],
    ['an error that says something else', json({ error: 'busy' }), 'UPSTREAM_MALFORMED'],
  ])('and with %s, too', async (_name, fault, code) => {
    const { query, v1, successor } = await serve();
    planBoth(v1, fault);
    expect(codesOf(await query(BOTH))).toEqual([code, code]);
    expect(successor.count()).toBe(0);
  });

  it('a token that has "deprecated" in its name is just that', async () => {
    const { query, v1, successor } = await serve();
    v1.plan('tokens', json({ tokens: [tokenRow('a', '0x1', { symbol: 'deprecated' })], error: null }));
    expect(await query('{ tokens { symbol } }')).toEqual({ data: { tokens: [{ symbol: 'deprecated' }] } });
    expect(successor.count()).toBe(0);
  });
});

describe('once v1 says that it is gone', () => {
  it.each<[string, Answer]>([
    ['410', GONE],
    ['410 without a body', (response) => response.writeHead(410).end()],
    ['"deprecated" and 400', status(400, {}, 'This API is deprecated.')],
    ['"Deprecated" and 404', status(404, {}, '{"error":"Deprecated"}')],
    ['"deprecated" and 422', status(422, {}, '{"error":"deprecated"}')],
    ['"API_DEPRECATED" and 500', status(500, {}, '{"code":"API_DEPRECATED"}')],
    ['"deprecated" and 503', status(503, {}, '<h1>deprecated</h1>')],
    ['an error that is "deprecated"', json({ error: 'v1 is deprecated, use the successor' })],
    ['an error whose message is that', json({ error: { message: 'DEPRECATED' } })],
  ])('with %s, the successor answers within the same call', async (_name, answer) => {
    const { query, v1, successor, sources, toldOf, changeOvers, listing } = await serve();
    planBoth(v1, answer);
    expect(await query(BOTH)).toEqual({ data: NEW_ROWS });
    expect(await sources()).toEqual(['value-transfer', 'value-transfer']);
    expect(listing()?.source).toBe('value-transfer');
    expect([v1.count('chains'), v1.count('tokens')]).toEqual([1, 1]);
    expect([successor.count('chains'), successor.count('tokens')]).toEqual([1, 1]);
    expect(toldOf()).toMatchObject([
      {
        level: 40,
        code: 'UPSTREAM_GONE',
        msg: expect.stringMatching(/UPSTREAM_PROFILE=value-transfer.*UPSTREAM_URL/),
      },
    ]);
    expect(changeOvers()).toBe(1);
  });

  it.each(['chains', 'tokens'] as const)(
    'on %s alone, both come from its successor at once',
    async (gone) => {
      const config = { chainsFreshMs: 60_000, tokensFreshMs: 60_000, [`${gone}FreshMs`]: 50 };
      const { query, v1, sources, successor, listing, changeOvers } = await serve({ config });
      await query(BOTH);
      v1.plan(gone, GONE);
      await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
      const asked = v1.count();
      await expect.poll(() => successor.count(gone)).toBeGreaterThan(2);
      await listing()?.chains();
      await listing()?.tokens({});
      expect(v1.count()).toBe(asked);
      expect(changeOvers()).toBe(1);
    },
  );

  it('the log says what differs between the two listings', async () => {
    const { query, v1, successor, sources, logged } = await serve({
      config: { tokensFreshMs: 50, holdBackTimes: 2, holdBackShrink: 0.3 },
    });
    v1.plan('tokens', json({ tokens: ['0x1', '0x2', '0x3'].map((address) => tokenRow('a', address)) }));
    await query(BOTH);
    const tokens = [tokenRow('a', '0x1', { decimals: 18 }), tokenRow('a', '0x4')].map(successorToken);
    successor.plan('tokens', json({ tokens }));
    planBoth(v1, GONE);
    await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
    expect(logged.some(({ msg }) => msg.includes('tokens listing is held back: it lacks 2 of 3'))).toBe(true);
    expect(
      logged.find(({ msg, listing }) => msg.includes('another service') && listing === 'tokens'),
    ).toMatchObject({
      from: 'v1',
      to: 'value-transfer',
      appeared: { count: 1, first: [tokenKey('a', '0x4')] },
      vanished: { count: 2, first: [tokenKey('a', '0x2'), tokenKey('a', '0x3')] },
    });
    // What has changed of rows that both have is guarded, and each has a line of its own.
    expect(logged.find(({ msg }) => msg.startsWith('Accepted in the tokens listing'))).toMatchObject({
      chainKey: 'a',
      address: '0x1',
      fact: 'decimals',
      served: '6',
      upstream: '18',
    });
  });

  it('no client sees that, however many ask', async () => {
    const config = { chainsFreshMs: 20, tokensFreshMs: 20 };
    const { query, v1, sources, toldOf, changeOvers } = await serve({ config });
    let asking = true;
    onTestFinished(() => {
      asking = false;
    });
    const failed: unknown[] = [];
    let answered = 0;
    const clients = Array.from({ length: 20 }, async () => {
      while (asking) {
        const answer = await query(
          `{ chains { name } tokens { symbol } token(chainKey: "a", address: "0x1") { chain { name } } }`,
        );
        answered++;
        // Without this the answers at hand would leave no time for those of the services.
        await setImmediate();
        if (answer.errors) failed.push(answer);
      }
    });
    await expect.poll(sources).toEqual(['v1', 'v1']);
    planBoth(v1, late(5, GONE));
    await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
    const before = answered;
    await expect.poll(() => answered).toBeGreaterThan(before + 100);
    asking = false;
    await Promise.all(clients);
    expect(failed).toEqual([]);
    expect(toldOf()).toHaveLength(1);
    expect(changeOvers()).toBe(1);
  });

  it('nor where it was so from the start', async () => {
    const { query, v1, successor, toldOf } = await serve();
    planBoth(v1, GONE);
    const answers = await Promise.all(Array.from({ length: 50 }, () => query(BOTH)));
    for (const answer of answers) expect(answer).toEqual({ data: NEW_ROWS });
    expect([v1.count(), successor.count()]).toEqual([2, 2]);
    expect(toldOf()).toHaveLength(1);
  });

  it('what it fails with after that is not seen, either', async () => {
    const { query, v1, listing } = await serve();
    let fail = () => {};
    v1.plan('tokens', (...asked) => {
      fail = () => status(503)(...asked);
    });
    v1.plan('chains', GONE);
    const tokens = query('{ tokens { symbol } }');
    await expect.poll(() => v1.count('tokens')).toBe(1);
    await query('{ chains { name } }');
    expect(listing()?.source).toBe('value-transfer');
    fail();
    expect(await tokens).toEqual({ data: { tokens: [{ symbol: 'NEW' }] } });
  });

  it('a token without its chain is BAD_USER_INPUT', async () => {
    const { query, v1 } = await serve();
    const document = '{ tokens(srcToken: "0x1") { symbol } }';
    expect(await query(document)).toEqual({ data: { tokens: [{ symbol: 'OLD' }] } });
    planBoth(v1, GONE);
    await query('{ chains { name } }');
    expect(codesOf(await query('{ tokens(srcToken: "0x2") { symbol } }'))).toEqual(['BAD_USER_INPUT']);
  });
});

describe('a successor that fails at the change-over', () => {
  it('changes nothing: the last good listing stays until the successor answers, and v1 is left alone for an hour', async () => {
    const { query, v1, successor, snapshots, sources, toldOf, changeOvers, listing } = await serve({
      config: { tokensFreshMs: 50 },
    });
    expect(await query(BOTH)).toEqual({ data: OLD_ROWS });
    successor.plan('tokens', status(503));
    v1.plan('tokens', GONE);
    const asked = v1.count('tokens');
    await expect.poll(() => successor.count('tokens')).toBeGreaterThan(2);
    expect(await query(BOTH)).toEqual({ data: OLD_ROWS });
    expect(await sources()).toEqual(['v1', 'v1']);
    expect(listing()?.source).toBe('v1');
    expect(snapshots.status(Date.now())[1].lastFailure?.code).toBe('UPSTREAM_STATUS');
    expect(v1.count('tokens')).toBe(asked + 1);
    expect([toldOf().length, changeOvers()]).toEqual([0, 0]);
    successor.plan('tokens', json({ tokens: NEW.tokens, pagination: {} }));
    await expect.poll(sources).toEqual(['value-transfer', 'value-transfer']);
    expect([toldOf().length, changeOvers()]).toEqual([1, 1]);
  });

  it('is what clients see where there is no listing yet, until it answers', async () => {
    const { query, v1, successor, sources } = await serve();
    successor.plan('tokens', first(1, status(503), json({ tokens: NEW.tokens })));
    v1.plan('tokens', GONE);
    expect(codesOf(await query('{ tokens { symbol } }'))).toEqual(['UPSTREAM_STATUS']);
    await expect.poll(async () => (await query('{ tokens { symbol } }')).errors).toBeUndefined();
    expect((await sources())?.[1]).toBe('value-transfer');
    expect(v1.count('tokens')).toBe(1);
  });

  it('fails as itself after it, and v1 is not asked', async () => {
    const { query, v1, successor, listing } = await serve();
    planBoth(v1, GONE);
    await query('{ chains { name } }');
    const asked = v1.count();
    successor.plan('tokens', status(503));
    await expect(listing()?.tokens({})).rejects.toMatchObject({ code: 'UPSTREAM_STATUS', status: 503 });
    expect(v1.count()).toBe(asked);
  });
});

describe('a request for routes that v1 says is gone', () => {
  it('is answered by the successor, and leaves the listings where they are', async () => {
    const { query, v1, successor, sources, toldOf, changeOvers, listing } = await serve();
    await query(BOTH);
    v1.plan('tokens', (response, request, nth) =>
      (request.url?.includes('srcToken') ? GONE : json({ tokens: OLD.tokens }))(response, request, nth),
    );
    // The row is as the listing has it, and that is still the one of v1.
    expect(await query(ROUTES)).toEqual({ data: { tokens: [{ symbol: 'OLD' }] } });
    expect(await sources()).toEqual(['v1', 'v1']);
    expect(listing()?.source).toBe('v1');
    expect((await listing()?.tokens({}))?.source).toBe('v1');
    expect([toldOf().length, changeOvers()]).toEqual([0, 0]);
    expect(successor.seen.map(({ url }) => url)).toEqual([
      '/v1/tokens?transferrableFromChainKey=a&transferrableFromTokenAddress=0x1',
    ]);
  });

  it('goes to the successor alone once the listings are from there', async () => {
    const { query, v1 } = await serve();
    planBoth(v1, GONE);
    await query(BOTH);
    const asked = v1.count();
    expect(await query(ROUTES)).toEqual({ data: { tokens: [{ symbol: 'NEW' }] } });
    expect(v1.count()).toBe(asked);
  });
});

describe('to switch', () => {
  it('the successor is to change over at once, without telling others', async () => {
    const { query, v1, listing, logged, toldOf, changeOvers } = await serve();
    listing()?.switchTo?.('value-transfer');
    listing()?.switchTo?.('value-transfer');
    expect(listing()?.source).toBe('value-transfer');
    expect(await query(BOTH)).toEqual({ data: NEW_ROWS });
    expect(v1.count()).toBe(0);
    expect(logged.filter(({ msg }) => msg.includes('v1 gets no more requests'))).toMatchObject([
      { level: 30 },
    ]);
    expect([toldOf().length, changeOvers()]).toEqual([0, 0]);
  });

  it('v1 is to stay there, and never to go back', async () => {
    const { v1, query, listing } = await serve();
    listing()?.switchTo?.('v1');
    listing()?.switchTo?.('demo');
    expect(listing()?.source).toBe('v1');
    planBoth(v1, GONE);
    await query(BOTH);
    listing()?.switchTo?.('v1');
    expect(listing()?.source).toBe('value-transfer');
  });
});

describe('a service that is gone', () => {
  it.each<[string, Answer, number]>([
    ['410', GONE, 410],
    ['410 with a short Retry-After', status(410, { 'retry-after': '5' }), 410],
    ['"deprecated" and 503', status(503, {}, 'deprecated'), 503],
    ['an error that says "deprecated"', json({ error: { message: 'deprecated' } }), 200],
  ])('with %s is to be left alone for an hour, and is asked once', async (_name, answer, code) => {
    const fault = await faultOf(answer);
    expect(fault).toMatchObject({ code: 'UPSTREAM_GONE', status: code, retryAfterMs: GONE_PAUSE_MS });
    expect(fault.message).toContain(`(HTTP ${code})`);
    expect(fault.message).not.toContain('127.0.0.1');
    expect(GONE_PAUSE_MS).toBe(3_600_000);
  });

  it.each<[string, Answer]>([
    ['a redirect', status(301, {}, 'deprecated')],
    ['503 and a longer word', status(503, {}, 'undeprecatedly')],
  ])('does not say so with %s', async (_name, answer) => {
    expect(await faultOf(answer)).toMatchObject({ code: 'UPSTREAM_STATUS', retryAfterMs: undefined });
  });
});

/** what the client of an upstream makes of this answer. */
async function faultOf(answer: Answer): Promise<UpstreamError> {
  const upstream = await startFakeUpstream();
  onTestFinished(upstream.close);
  upstream.plan('tokens', answer);
  const http = await createTestHttp({ baseUrl: upstream.url });
  const fault = await http.getJson({ path: 'tokens', first: true }).then(
    () => {
      throw new Error('Expected an error, got an answer');
    },
    (error: UpstreamError) => error,
  );
  expect(upstream.count()).toBe(1);
  return fault;
}
