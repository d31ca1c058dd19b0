/** A rule that hides rows hides them everywhere that a client can look, at once and also after a change. */
import { writeFileSync } from 'node:fs';
import { type GraphQLNamedType, getNamedType, isAbstractType, isCompositeType, isObjectType } from 'graphql';
import { expect, it, onTestFinished } from 'vitest';
import { withFederation } from '../src/graph/federation/federated.js';
import { schema as ownSchema } from '../src/graph/schema/index.js';
import { TOOLS } from '../src/mcp/tools.js';
import { idOf } from './fixtures/rows.js';
import { callOf } from './mcp/support.js';
import { temporaryFile } from './support/ends.js';
import { json, status } from './support/fake-upstream.js';
import {
  address,
  expectNothingHidden,
  HIDDEN,
  NATIVE,
  ORDER,
  RULES,
  SHOWN,
  start,
  startUpstream,
  tokens,
  UNLISTED,
} from './support/hiding-gateway.js';
import { open, post } from './support/open-gateway.js';
import { FRESH } from './support/test-server.js';

const KEYS = [
  { chainKey: 'base', address: HIDDEN.byKey },
  { chainKey: 'ethereum', address: HIDDEN.byCaip },
  { chainKey: 'xanadu', address: NATIVE },
  { chainKey: 'base', address: SHOWN },
];
const CAIP19S = [
  `eip155:8453/erc20:${HIDDEN.byKey}`,
  `eip155:1/erc20:${HIDDEN.byCaip}`,
  `eip155:100100/erc20:${address('c0ffee04')}`,
  `eip155:8453/erc20:${SHOWN}`,
];
const pairs = (chain: string, token: string) =>
  [...KEYS, { chainKey: 'base', address: UNLISTED }].map((key) => ({
    [chain]: key.chainKey,
    [token]: key.address,
  }));
const TYPED = ['xanadu', 'concealed', 'concaeled', 'xandau', 'concealed base', 'eip155:100100', '100100'];

const WALK: Readonly<Record<string, readonly object[]>> = {
  chain: ['xanadu', 'XANADU', 'base'].map((chainKey) => ({ chainKey })),
  chains: [{}, ...TYPED.map((search) => ({ search })), { chainTypes: ['evm'] }],
  chainsByKey: [{ chainKeys: ['xanadu', 'base'] }],
  chainsByCaip2: [{ caip2s: ['eip155:100100', 'eip155:8453'] }],
  token: KEYS,
  tokens: [
    {},
    { srcChainKey: 'xanadu' },
    { srcChainKey: 'base' },
    ...pairs('srcChainKey', 'srcToken'),
    { srcToken: SHOWN },
  ],
  tokensByKey: [{ keys: KEYS }],
  tokensByCaip19: [{ caip19s: CAIP19S }],
  tokenSearch: [
    ...['', ...TYPED, ...HIDDEN.addresses, ...CAIP19S, address('c0ffee').slice(0, 36)].map((query) => ({
      query,
    })),
    ...['SYMBOL', 'NAME', 'PRICE_ASC'].map((orderBy) => ({ orderBy })),
    { filter: { chainKeys: ['xanadu', 'base'] } },
    { filter: { symbols: ['CONCEALED', 'BASED'] } },
    { filter: { isNative: true } },
  ],
  node: [...HIDDEN.ids, idOf('Token', 'base', SHOWN)].map((id) => ({ id })),
  nodes: [{ ids: [...HIDDEN.ids, idOf('Chain', 'base')] }],
  destinations: pairs('srcChainKey', 'srcToken').flatMap((pair) => [
    pair,
    { ...pair, includeSourceChain: true },
  ]),
  sources: pairs('dstChainKey', 'dstToken'),
  tokenChanges: [{}],
  chainChanges: [{}],
  listings: [{}],
  _entities: [
    {
      representations: [
        ...['xanadu', 'base'].map((chainKey) => ({ __typename: 'Chain', chainKey })),
        ...['eip155:100100', 'eip155:8453'].map((caip2) => ({ __typename: 'Chain', caip2 })),
        ...KEYS.map((key) => ({ __typename: 'Token', ...key })),
        ...CAIP19S.map((caip19) => ({ __typename: 'Token', caip19 })),
        ...HIDDEN.ids.map((id) => ({ __typename: id === HIDDEN.ids[0] ? 'Chain' : 'Token', id })),
      ],
    },
  ],
};
const WITHOUT_ROWS = ['_sdl', '_service'];

const SCHEMA = withFederation(ownSchema);

function selectionOf(type: GraphQLNamedType, depth: number): string {
  if (isAbstractType(type)) {
    const possible = SCHEMA.getPossibleTypes(type);
    return `__typename ${possible.map((each) => `... on ${each.name} { ${selectionOf(each, depth)} }`).join(' ')}`;
  }
  if (!isObjectType(type)) throw new Error(`Expected a type with fields, got ${type.name}`);
  const fields = Object.values(type.getFields()).flatMap((field) => {
    const named = getNamedType(field.type);
    if (!isCompositeType(named)) return [field.name];
    return depth > 0 ? [`${field.name} { ${selectionOf(named, depth - 1)} }`] : [];
  });
  return ['__typename', ...fields].join(' ');
}

function expectOrder(rows: readonly { readonly chainKey: string }[] | undefined, where: string): void {
  const keys = [...new Set(rows?.map(({ chainKey }) => chainKey))];
  expect(keys.length, where).toBeGreaterThan(1);
  expect(keys, where).toEqual(ORDER.filter((key) => keys.includes(key)));
}

it('the rules apply to every field that returns chains or tokens, and to all groups by chain', async () => {
  const gateway = await start(RULES, { config: { routesSweepMs: 200 } });
  const { query, snapshots, upstream } = gateway;
  snapshots.start();
  await expect.poll(() => snapshots.sweepStatus?.()).toMatchObject({ known: 4, left: 0 });
  const root = SCHEMA.getQueryType()?.getFields() ?? {};
  expect(Object.keys(root).sort()).toEqual([...Object.keys(WALK), ...WITHOUT_ROWS].sort());
  for (const [name, variants] of Object.entries(WALK)) {
    const field = root[name];
    if (!field) throw new Error(`Expected the field ${name}`);
    const selection = selectionOf(getNamedType(field.type), 3);
    let shown = '';
    for (const variables of variants) {
      const given = field.args.filter((arg) => arg.name in variables);
      const declared = given.map((arg) => `$${arg.name}: ${String(arg.type)}`).join(', ');
      const passed = given.map((arg) => `${arg.name}: $${arg.name}`).join(', ');
      const document = `query ${declared && `(${declared})`} { ${name}${passed && `(${passed})`} { ${selection} } }`;
      const answer = await query(document, variables);
      const where = `${name} ${JSON.stringify(variables)}`;
      expect(answer.errors, where).toBeUndefined();
      expectNothingHidden(JSON.stringify(answer), where);
      shown += JSON.stringify(answer.data);
    }
    if (name !== 'listings') expect(shown, name).toContain('"chainKey":"base"');
  }
  // Neither the sweep of routes nor these queries have requested routes of hidden tokens.
  for (const { url } of upstream.seen) expectNothingHidden(url, url);
  type Listed = readonly { readonly chainKey: string; readonly address: string }[];
  const { data } = await query<Record<string, Listed> & { sources: { chains: Listed } }>(`{
      chains { chainKey tokenCount }
      evm: chains(chainTypes: ["evm"]) { chainKey }
      found: chains(search: "chain") { chainKey }
      tokens { chainKey }
      routes: tokens(srcChainKey: "base", srcToken: "${SHOWN}") { chainKey address }
      destinations(srcChainKey: "base", srcToken: "${SHOWN}", includeSourceChain: true) { chainKey }
      sources(dstChainKey: "base", dstToken: "${SHOWN}") { chains { chainKey } }
      listings { rows heldBackRows lastFailure { message } }
    }`);
  for (const name of ['chains', 'evm', 'found', 'tokens', 'routes', 'destinations'])
    expectOrder(data?.[name], name);
  expectOrder(data?.sources.chains, 'sources');
  expect(data?.chains).toEqual(ORDER.map((chainKey, at) => ({ chainKey, tokenCount: at === 0 ? 2 : 1 })));
  expect(data?.listings).toEqual([3, 4].map((rows) => ({ rows, heldBackRows: 0, lastFailure: null })));
  // Unlisted tokens are served, too, unless a rule hides them.
  expect(data?.routes?.map((token) => token.address)).toContain(UNLISTED);
});

it('the rules apply to the token list, the tools for agents, and the metrics', async () => {
  const gateway = await start(RULES);
  const { fetch, metrics, query } = gateway;
  await query('{ chains { id } tokens { id } }');
  const list = await (await fetch('/tokenlist.json')).text();
  expectNothingHidden(list, 'token list');
  // The token list is in the order of chainId, whatever the order of the listing.
  const { tokens: listed } = JSON.parse(list) as { tokens: { chainId: number }[] };
  expect(listed.map(({ chainId }) => chainId)).toEqual([1, 8453, 42161]);
  expect((await fetch('/tokenlist.json?chainKey=xanadu')).status).toBe(404);
  const calls: Readonly<Record<string, readonly object[]>> = {
    find_tokens: [
      ...TYPED.map((text) => ({ query: text })),
      ...KEYS.map((reachableFrom) => ({ filter: { reachableFrom } })),
    ],
    get_token: KEYS,
    list_chains: [{}, { search: 'xanadu' }],
    get_destinations: pairs('srcChainKey', 'srcToken'),
    get_sources: pairs('dstChainKey', 'dstToken'),
    listing_status: [{}],
  };
  expect(Object.keys(calls)).toEqual(TOOLS.map(({ name }) => name));
  for (const [name, variants] of Object.entries(calls)) {
    for (const variables of variants) {
      const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
      const response = await fetch('/mcp', { method: 'POST', headers, body: callOf(name, variables) });
      expect(response.status).toBe(200);
      expectNothingHidden(await response.text(), `${name} ${JSON.stringify(variables)}`);
    }
  }
  expectNothingHidden((await metrics.expose()).text, 'metrics');
});

it('the rules apply to routes from a hidden token without a fresh listing: the upstream gets no request', async () => {
  const gateway = await start(RULES, { config: { tokensFreshMs: 1 } });
  const { query, upstream } = gateway;
  await gateway.servedChains();
  upstream.plan('tokens', status(500));
  const ask = (token: string) =>
    query(`{ destinations(srcChainKey: "base", srcToken: "${token}") { tokens { address } } }`);
  const asked = () => upstream.routesAsked().length;
  expect((await ask(HIDDEN.byKey)).data).toEqual({ destinations: null });
  upstream.plan('tokens', json({ tokens }));
  await expect.poll(() => gateway.served()).toHaveLength(4);
  upstream.plan('tokens', status(500));
  await expect.poll(() => gateway.listings().tokens.state).toBe('STALE');
  expect((await ask(HIDDEN.byKey)).data).toEqual({ destinations: null });
  expect(asked()).toBe(0);
  // The routes of an unknown token that no rule hides are requested.
  await ask(address('77'));
  expect(asked()).toBe(1);
});

it('rules that hide everything produce empty listings and a warning', async () => {
  const gateway = await start('chains nowhere');
  const { query, fetch, logged, upstream } = gateway;
  const answer = await query(`{
    chains { id }
    tokens { id }
    found: tokenSearch(query: "base") { totalCount didYouMean nodes { id } }
    all: tokenSearch { totalCount }
    destinations(srcChainKey: "base", srcToken: "${SHOWN}") { chainKey }
    tokenChanges { changed { id } }
    chainChanges { changed { id } }
    listings { rows state }
  }`);
  expect(answer).toEqual({
    data: {
      chains: [],
      tokens: [],
      found: { totalCount: 0, didYouMean: [], nodes: [] },
      all: { totalCount: 0 },
      destinations: null,
      tokenChanges: { changed: [] },
      chainChanges: { changed: [] },
      listings: Array(2).fill({ rows: 0, state: 'FRESH' }),
    },
  });
  expect(upstream.count()).toBe(2);
  expect((await fetch('/tokenlist.json')).status).toBe(404);
  expect((await fetch('/ready')).status).toBe(200);
  await gateway.refresh();
  const warnings = logged.filter(({ msg }) => msg.startsWith('LISTING_RULES hides every row'));
  expect(warnings.map(({ listing }) => listing).sort()).toEqual(['chains', 'tokens']);
  await gateway.apply('');
  expect(await gateway.served()).toHaveLength(tokens.length);
});

it('in the library, a changed file of rules applies at once to cached responses and cached routes', async () => {
  const upstream = await startUpstream();
  onTestFinished(upstream.close);
  const path = temporaryFile('');
  const gateway = await open({ ...FRESH, listingRules: path }, upstream);
  const ask = async <Data>(query: string) =>
    ((await (await gateway.fetch(post(query))).json()) as { data: Data }).data;
  const destinations = `{ destinations(srcChainKey: "ethereum", srcToken: "${address('e1')}", includeSourceChain: true) { tokens { address } } }`;
  const routed = async () => JSON.stringify(await ask(destinations));
  const names = async () =>
    (await ask<Record<string, { chainKey: string }[]>>('{ chains { chainKey } }')).chains?.map(
      (each) => each.chainKey,
    );
  const versions = () => ask('{ listings { version } }');
  for (let times = 0; times < 3; times++) {
    expect(await routed()).toContain(HIDDEN.unlisted);
    expect(await names()).toEqual(['xanadu', 'arbitrum', 'ethereum', 'base']);
  }
  const before = await versions();
  const asked = upstream.count();
  // The row is not listed, so the listings do not change.
  writeFileSync(path, `hide base:${HIDDEN.unlisted}`);
  await expect.poll(routed).not.toContain(HIDDEN.unlisted);
  expect(await versions()).toEqual(before);
  writeFileSync(path, RULES);
  await expect.poll(names).toEqual(ORDER);
  await expect.poll(routed).not.toContain('c0ffee');
  writeFileSync(path, 'hidee base');
  await expect.poll(() => gateway.lines.join('')).toContain('LISTING_RULES has an error: line 1');
  expect(await names()).toEqual(ORDER);
  writeFileSync(path, '');
  await expect.poll(names).toEqual(['xanadu', 'arbitrum', 'ethereum', 'base']);
  await expect.poll(routed).toContain(HIDDEN.unlisted);
  expect(upstream.count()).toBe(asked);
});
