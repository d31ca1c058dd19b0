/** A change of the operator's rules, or of the chains that they name, applies at once and everywhere. */
import { expect, it, onTestFinished } from 'vitest';
import { chainRow, idOf, tokenRow } from '../fixtures/rows.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { onDisk, stopGuarded } from '../support/guarded-gateway.js';
import {
  address,
  chains,
  expectNothingHidden,
  HIDDEN,
  ORDER,
  RULES,
  SHOWN,
  start,
  startUpstream,
  tokens,
} from '../support/hiding-gateway.js';

it('a change of the rules is in tokenChanges and chainChanges', async () => {
  const gateway = await start('');
  const { query } = gateway;
  await gateway.servedChains();
  const since = async (cursors: { tokens?: string; chains?: string } = {}) => {
    const { data } = await query<Record<'tokens' | 'chains', { cursor: string; isReset: boolean }>>(
      `query ($tokens: String, $chains: String) {
          tokens: tokenChanges(since: $tokens) { cursor isReset changed { id } removedIds }
          chains: chainChanges(since: $chains) { cursor isReset changed { id } removedIds }
        }`,
      cursors,
    );
    return { ...data, cursors: { tokens: data?.tokens.cursor ?? '', chains: data?.chains.cursor ?? '' } };
  };
  const { cursors: before } = await since();
  await gateway.apply(RULES);
  const hidden = await since(before);
  const removedIds = expect.arrayContaining([idOf('Token', 'base', HIDDEN.byKey)]);
  expect(hidden.tokens).toMatchObject({ isReset: false, changed: [], removedIds });
  expect(hidden.chains).toMatchObject({ isReset: false, changed: [], removedIds: [HIDDEN.ids[0]] });
  await gateway.apply('');
  const shown = await since(hidden.cursors);
  expect(shown.chains).toMatchObject({ isReset: false, changed: [{ id: HIDDEN.ids[0] }], removedIds: [] });
  expect(shown.tokens).toMatchObject({ isReset: false, removedIds: [] });
  expect(shown.cursors).toEqual(before);
});

it('a change of the rules that hides nine of ten rows, or shows them again, does not count as shrinking', async () => {
  const many = Array.from({ length: 40 }, (_, at) =>
    tokenRow(at < 4 ? 'base' : 'ethereum', address(String(at + 1)), { symbol: `T${at}` }),
  );
  const upstream = await startFakeUpstream({ chains, tokens: many });
  const gateway = await start('', { upstream });
  await gateway.servedChains();
  expect(await gateway.served()).toHaveLength(40);
  for (const [rules, rows] of [
    ['chains base', 4],
    ['', 40],
    [`chains base\nhide base:${address('1')}`, 3],
  ] as const) {
    await gateway.apply(rules);
    expect(await gateway.served()).toHaveLength(rows);
    await gateway.refresh();
    expect(await gateway.served()).toHaveLength(rows);
    expect(gateway.snapshots.status(Date.now())).toMatchObject([
      { lastFailure: null, isHeldBack: false },
      { lastFailure: null, isHeldBack: false },
    ]);
  }
});

it('rules that name rows which are not listed are logged once, when there are both listings', async () => {
  const wrong = `hide ${HIDDEN.byKey}\nhide base:${HIDDEN.byKey},\nhide base:${HIDDEN.byKey}`;
  const gateway = await start(`${wrong}\nchains base arbitrum ethereum`);
  const warned = () => gateway.linesWith('LISTING_RULES names');
  await gateway.servedChains();
  expect(warned()).toEqual([]);
  await gateway.served();
  await gateway.refresh();
  const line = { level: 'warn', count: 2, first: [HIDDEN.byKey, `base:${HIDDEN.byKey},`] };
  expect(warned()).toMatchObject([line]);
  await gateway.apply(RULES);
  expect(warned()).toMatchObject([line, { count: 1, first: [`base:${HIDDEN.unlisted}`] }]);
  await gateway.apply(`keep ethereum:${address('e1')} decimals 6\nhide eip155:8453`);
  expect(warned()).toHaveLength(2);
});

it.each([
  ['chains', true],
  ['tokens', true],
  ['chains', false],
] as const)(
  'rules that change while %s are checked apply all together, also to first listings (after others: %s)',
  async (name, hasListings) => {
    const row = name === 'chains' ? 'base' : `base:${SHOWN}`;
    const kept = name === 'chains' ? 'chainId 9' : 'decimals 9';
    let onFetched = () => {};
    // So many that other tasks run during the check.
    const many = Array.from({ length: 2_000 }, (_, at) => String(at + 1_000));
    const listing =
      name === 'chains'
        ? many.map((key) => chainRow(key))
        : many.map((at) => tokenRow('base', address(at), { symbol: at }));
    const upstream = await startFakeUpstream({
      chains,
      tokens,
      [name]: [...{ chains, tokens }[name], ...listing],
    });
    const gateway = await start(`hide ${row}`, {
      upstream,
      hasListings,
      decorate: (service) =>
        Object.assign(Object.create(service), {
          async fetch(fetching: 'tokens') {
            const fetched = await service.fetch(fetching);
            if (fetching === name) onFetched();
            return fetched;
          },
        }),
    });
    const seen = new Set<number | undefined>();
    const looks = new AbortController();
    onTestFinished(() => looks.abort());
    const look = () => {
      const { chains, tokens } = gateway.snapshots.current();
      const value =
        name === 'chains' ? chains?.byKey('base')?.chainId : tokens?.byAddress('base', SHOWN)?.decimals;
      seen.add(value);
      if (value === undefined && !looks.signal.aborted) setImmediate(look);
    };
    // The check of the listing begins before these calls, and ends after them.
    onFetched = () =>
      void setImmediate(() => {
        void gateway.apply(`keep ${row} ${kept}`);
        look();
      });
    gateway.snapshots.refreshNow();
    await expect.poll(() => seen.size).toBe(2);
    expect([...seen]).toEqual([undefined, 9]);
  },
);

it('an operation that waits for routes reads them with the rules of its token listing', async () => {
  const upstream = await startUpstream();
  const gateway = await start(`hide base:${HIDDEN.byKey}`, { upstream, hasListings: true });
  const row = tokenRow('base', HIDDEN.byKey, { decimals: 18 });
  const release = upstream.hold('routes', json({ tokens: [row, tokenRow('base', SHOWN)] }));
  const answer = gateway.query(
    `{ destinations(srcChainKey: "ethereum", srcToken: "${address('e1')}") { tokens { address decimals } } }`,
  );
  await expect.poll(() => upstream.routesAsked().length).toBe(1);
  await gateway.apply('');
  release();
  expect(await answer).toEqual({ data: { destinations: [{ tokens: [{ address: SHOWN, decimals: 6 }] }] } });
});

it('a new listing in which the rules match other rows does not delay refreshes', async () => {
  const upstream = await startUpstream();
  const gateway = await start(`hide eip155:${HIDDEN.chainId}`, {
    upstream,
    config: { chainsFreshMs: 20, tokensFreshMs: 400, holdBackMs: 0, holdBackShrink: 1 },
  });
  gateway.snapshots.start();
  // In each response another chain has this chainId, so that the rule hides another chain each time.
  upstream.plan('chains', (_response, _request, nth) =>
    json({ chains: [...chains.slice(1), chainRow(`swap-${nth}`, { chainId: HIDDEN.chainId })] }),
  );
  await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(5);
});

it('a change of the rules applies to routes that arrived before the first token listing', async () => {
  const gateway = await start('', { upstream: await startUpstream({ tokens: status(500) }) });
  const document = `{ destinations(srcChainKey: "base", srcToken: "${SHOWN}") { tokens { address } } }`;
  const ask = async () => JSON.stringify(await gateway.query(document));
  expect(await ask()).toContain(HIDDEN.byCaip);
  await gateway.apply(`hide ethereum:${HIDDEN.byCaip}`);
  expect(await ask()).toContain(address('e1'));
  expect(await ask()).not.toContain(HIDDEN.byCaip);
});

it('rules by CAIP apply before the first chain listing, by the chains of the demo data', async () => {
  const hidden = [tokenRow('gnosis', address('9')), tokenRow('base', HIDDEN.byKey, { symbol: 'X' })];
  const listed = [...hidden, tokenRow('base', SHOWN)];
  const upstream = await startUpstream({ chains: status(500), tokens: listed });
  // The last rule names no token: native assets have no CAIP-19 identifier.
  const rules = `hide eip155:100\nhide eip155:8453/erc20:${HIDDEN.byKey}\nhide eip155:1/slip44:60`;
  const gateway = await start(rules, { upstream });
  expect(await gateway.served()).toEqual([SHOWN]);
});

/** So many that the rules need some time. */
const MANY = [
  ...tokens,
  ...Array.from({ length: 2_000 }, (_, at) =>
    tokenRow('gnosis', address(String(at + 1_000)), { symbol: `G${at}` }),
  ),
];

it('no token is served before the first chain listing if a rule names a chain by a CAIP-2 identifier that the demo data lacks', async () => {
  const upstream = await startUpstream({ chains: status(500), tokens: MANY });
  const gateway = await start(RULES, { upstream });
  expect(await gateway.query('{ tokens { address } }')).toMatchObject({
    data: { tokens: null },
    errors: [{ extensions: { code: 'UPSTREAM_STATUS' } }],
  });
  await gateway.refresh();
  const routes = `{ destinations(srcChainKey: "base", srcToken: "${SHOWN}") { tokens { address } } }`;
  expect(await gateway.query(routes)).toMatchObject({
    errors: [{ extensions: { code: 'UPSTREAM_STATUS' } }],
  });
  let rows: number | undefined;
  const look = () => {
    rows = gateway.snapshots.current().tokens?.rows.length;
    if (rows === undefined) setImmediate(look);
  };
  look();
  upstream.plan('chains', json({ chains }));
  await expect.poll(() => gateway.servedChains()).toEqual(ORDER);
  expectNothingHidden(String(await gateway.served()), 'tokens');
  await expect.poll(() => rows).toBe(4);
});

it('a query that waits for both first listings gets what the rules leave, whichever listing comes first', async () => {
  const upstream = await startUpstream({ tokens: MANY });
  for (const chainsLast of [true, false]) {
    const release = upstream.hold('chains', json({ chains }));
    const gateway = await start(RULES, { upstream });
    const asked = upstream.count('tokens');
    gateway.snapshots.start();
    const answer = gateway.served();
    await expect.poll(() => upstream.count('tokens')).toBeGreaterThan(asked);
    if (chainsLast) await expect.poll(() => gateway.listings().tokens.state).not.toBe('EMPTY');
    release();
    expect(await answer).toHaveLength(4);
    await expect.poll(() => gateway.served()).toHaveLength(4);
  }
});

it('rules by CAIP apply to a chain that is no longer listed, also after a restart with very many chains', async () => {
  const { config } = onDisk();
  const hide = `hide eip155:${HIDDEN.chainId}`;
  const many = Array.from({ length: 3_000 }, (_none, nth) => chainRow(`c${nth}`, { chainId: 200_000 + nth }));
  const upstream = await startUpstream({ chains: [...chains, ...many] });
  const gateway = await start(hide, { upstream, config });
  await gateway.servedChains();
  expect(await gateway.served()).not.toContain(HIDDEN.ofChain);
  upstream.plan('chains', json({ chains: [...chains.slice(1), ...many] }));
  await gateway.refresh();
  await gateway.apply(`${hide}\n# the same`);
  expect((await gateway.servedChains())?.slice(0, 3)).toEqual(['arbitrum', 'ethereum', 'base']);
  expect(await gateway.served()).not.toContain(HIDDEN.ofChain);
  await stopGuarded(gateway, config.snapshotDir);
  const next = await start(hide, { upstream, config });
  expect(await next.served()).not.toContain(HIDDEN.ofChain);
  expect(await next.served()).toContain(SHOWN);
});
