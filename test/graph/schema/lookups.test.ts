/** Look-ups find chains and tokens by id and by key, in the order of the request, with null for unknown ones. */
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { idOf, PLACEHOLDER, tokenRow, USDC } from '../../fixtures/rows.js';
import { status } from '../../support/fake-upstream.js';
import { createTestGateway, dataOf } from '../../support/test-gateway.js';

const ZERO = `0x${'0'.repeat(40)}`;

const NODES = `query ($ids: [ID!]!) {
  nodes(ids: $ids) { __typename id ... on Chain { chainKey } ... on Token { chainKey address } }
}`;

it('node and nodes find every chain and token by its id, in either form of base64, in the order of the ids', async () => {
  const { query, upstream } = await createTestGateway();
  const { chains, tokens } = await dataOf(
    query<Record<'chains' | 'tokens', { id: string }[]>>('{ chains { id } tokens { id } }'),
  );
  const ids = [...tokens, ...chains].map(({ id }) => id).reverse();
  const asked = query<{ nodes: { id: string; chainKey: string; address?: string }[] }>(NODES, { ids });
  const { nodes } = await dataOf(asked);
  expect(nodes.map(({ id }) => id)).toEqual(ids);
  // Tools that encode an id again often add padding.
  const padded = ids.map((id) => Buffer.from(id, 'base64url').toString('base64'));
  expect(await query(NODES, { ids: padded })).toEqual(await asked);
  expect(await query(`{ node(id: "${padded[0]}") { id } }`)).toEqual({ data: { node: { id: ids[0] } } });
  expect(nodes.map(({ chainKey, address }) => [chainKey, address]).reverse()).toEqual([
    ...demoTokens.map(({ chainKey, address }) => [chainKey, address]),
    ...demoChains.map(({ chainKey }) => [chainKey, undefined]),
  ]);
  expect(upstream.count()).toBe(2);
});

it('node and nodes are null for an unknown id and for other texts', async () => {
  const { query } = await createTestGateway();
  const parts = ['Chain|nope', 'Chain|ethereum|more', 'Token|ethereum', 'Token|ethereum|', 'Price|ethereum']
    .concat('Chain', '__proto__|ethereum', 'chain|ethereum', 'Token|base|0x1|more')
    .map((text) => idOf(...text.split('|')));
  const json = ['{}', '5', '["base"]', '"a\\x"', '"\\u12"', '"\n"'].map((key) => `["Chain",${key}]`);
  const encoded = ['null', '["Chain","ba', ...json].map((text) => Buffer.from(text).toString('base64url'));
  const ethereum = idOf('Chain', 'ethereum');
  const others = ['', 'ethereum', 'Chain:ethereum', '💥', `${ethereum}==`, `${ethereum} `].concat(
    'A'.repeat(100_000),
    idOf('Token', 'ethereum', 'x'.repeat(10_000)),
  );
  const unknown = [...parts, ...encoded, ...others];
  const answer = await query(NODES, { ids: unknown });
  expect(answer).toEqual({ data: { nodes: unknown.map(() => null) } });
  expect(await query('{ node(id: "nope") { id } }')).toEqual({ data: { node: null } });
});

it('while the chain listing fails, only look-ups that need it have the error of the upstream', async () => {
  const listings = { chains: status(500), tokens: [tokenRow('base', USDC)] };
  const { query } = await createTestGateway({ listings, config: { upstreamRetries: 0 } });
  const found = { chainKey: 'base', address: USDC };
  const asked = `[{ chainKey: "base", address: "${USDC.toLowerCase()}" }, { chainKey: "base", address: "0x10" }]`;
  const { data, errors = [] } = await query(`{
    chainsByKey(chainKeys: ["base", "nope"]) { name }
    chainsByCaip2(caip2s: ["eip155:7"]) { name }
    tokensByKey(keys: ${asked}) { chainKey address }
    tokensByCaip19(caip19s: ["eip155:7/erc20:${USDC}", "malformed"]) { symbol }
    _entities(representations: [
      { __typename: "Chain", chainKey: "base" }
      { __typename: "Token", chainKey: "base", address: "${USDC}" }
      "bad"
    ]) { ... on Token { chainKey address } }
    tokens { caip19 symbol }
  }`);
  expect(data).toEqual({
    chainsByKey: [null, null],
    chainsByCaip2: [null],
    tokensByKey: [found, null],
    tokensByCaip19: [null, null],
    _entities: [null, found, null],
    tokens: [{ caip19: null, symbol: 'USDC' }],
  });
  expect(errors.map(({ path, extensions }) => `${path?.join('.')} ${extensions?.code}`).sort()).toEqual([
    '_entities.0 UPSTREAM_STATUS',
    '_entities.2 BAD_USER_INPUT',
    'chainsByCaip2.0 UPSTREAM_STATUS',
    'chainsByKey.0 UPSTREAM_STATUS',
    'chainsByKey.1 UPSTREAM_STATUS',
    'tokens.0.caip19 UPSTREAM_STATUS',
    'tokensByCaip19.0 UPSTREAM_STATUS',
  ]);
});

type Everywhere = Readonly<Record<'tokens' | 'nodes' | 'destinations', object[]>> & {
  readonly token: { readonly destinations: object[] };
};

const everywhere = (key: string, address: string) => `{
  chain(chainKey: "${key}") { chainKey tokens { address } }
  chainsByKey(chainKeys: ["base", "${key}", "nope", "${key}"]) { chainKey }
  token(chainKey: "${key}", address: "${address}") { chainKey address chain { chainKey } destinations { chainKey } }
  tokensByKey(keys: [
    { chainKey: "base", address: "0x1" }
    { chainKey: "${key}", address: "${address}" }
    { chainKey: "${key}", address: "${address}" }
  ]) { chainKey address }
  tokensByCaip19(caip19s: ["eip155:1/erc20:${address}"]) { chainKey address }
  tokens(srcChainKey: "${key}") { chainKey address }
  routes: tokens(srcChainKey: "${key}", srcToken: "${address}") { chainKey address }
  destinations(srcChainKey: "${key}", srcToken: "${address}") { chainKey }
  tokenSearch(filter: { chainKeys: ["${key}", "ethereum"] }) { totalCount nodes { chainKey } }
  reachable: tokenSearch(filter: { reachableFrom: { chainKey: "${key}", address: "${address}" } }) { totalCount }
  nodes(ids: ["${idOf('Chain', key)}", "${idOf('Token', key, address)}"]) { id }
  _entities(representations: [
    { __typename: "Chain", chainKey: "${key}" }
    { __typename: "Token", chainKey: "${key}", address: "${address}" }
    { __typename: "Chain", id: "${idOf('Chain', key)}" }
    { __typename: "Token", id: "${idOf('Token', key, address)}" }
  ]) { __typename ... on Chain { chainKey } ... on Token { chainKey address } }
}`;

const formsOf = (hex: string) => [hex.toLowerCase(), hex.toUpperCase(), `0x${hex.slice(2).toUpperCase()}`];

it.each([
  ['as it is listed', USDC, formsOf(USDC)],
  ['as the placeholder for the native asset', PLACEHOLDER, [ZERO, ...formsOf(PLACEHOLDER)]],
])(
  'look-ups find a token in any letter case, one by one and in bulk in the order of the keys, by one request to the upstream: %s',
  async (_how, listed, forms) => {
    const { query, upstream } = await createTestGateway({ config: { maxRoutesPerOperation: 1 } });
    const exact = await query<Everywhere>(everywhere('ethereum', listed));
    expect(exact.errors).toBeUndefined();
    expect(exact.data?.tokens.length).toBeGreaterThan(10);
    expect(exact.data?.nodes).not.toContain(null);
    expect(exact.data?.destinations.length).toBeGreaterThan(10);
    expect(exact.data?.token.destinations).toEqual(exact.data?.destinations);
    const chain = { chainKey: 'ethereum' };
    const token = { ...chain, address: listed };
    expect(exact.data).toMatchObject({
      chainsByKey: [{ chainKey: 'base' }, chain, null, chain],
      tokensByKey: [null, token, token],
    });
    for (const key of ['ethereum', 'Ethereum', 'ETHEREUM', 'eTHEREUM'])
      for (const address of forms) expect(await query(everywhere(key, address)), address).toEqual(exact);
    const routes = upstream
      .routesAsked()
      .map(({ url }) => [...new URL(url, 'http://x').searchParams.values()]);
    expect(routes).toEqual([['ethereum', listed]]);
    expect(upstream.count()).toBe(3);
  },
);

async function keysOf(args: string): Promise<string[]> {
  const { query } = await createTestGateway();
  const { chains } = await dataOf(
    query<{ chains: { chainKey: string }[] }>(`{ chains${args} { chainKey } }`),
  );
  return chains.map(({ chainKey }) => chainKey);
}

const demoKeys = (isMeant: (chain: (typeof demoChains)[number]) => boolean) =>
  demoChains.filter(isMeant).map(({ chainKey }) => chainKey);

const MEANT: Readonly<Record<string, string>> = {
  ...{ kaia: 'klaytn', bnb: 'bsc', 'BNB Chain': 'bsc', bnbchain: 'bsc', vana: 'islander', '0g': 'og' },
  ...{ hyperevm: 'hyperliquid', 'zksync-era': 'zksync', op: 'optimism', opmainnet: 'optimism' },
  ...{ avax: 'avalanche', matic: 'polygon', xdai: 'gnosis', ftm: 'fantom', viction: 'tomo' },
  ...{ ｋａｉａ: 'klaytn', binance: 'bsc', 'arb one': 'arbitrum', '8453': 'base', 'EIP155:8453': 'base' },
};

it('chains are found by other names than their key', async () => {
  const { query } = await createTestGateway();
  for (const [search, chainKey] of Object.entries(MEANT)) {
    const { data } = await query<{ chain: null; chains: { chainKey: string }[] }>(
      'query ($search: String!) { chain(chainKey: $search) { name } chains(search: $search) { chainKey } }',
      { search },
    );
    expect(data?.chain, search).toBeNull();
    expect(data?.chains, search).toContainEqual({ chainKey });
  }
  expect(await keysOf('(search: "  BSC ")')).toEqual(['bsc']);
  expect(await keysOf('(search: "eip155:1")')).toEqual(['ethereum']);
  expect(await keysOf('(search: "1")')).toEqual(expect.arrayContaining(['ethereum', 'solana']));
});

it.each<[args: string, keys: readonly string[]]>([
  ...['phoenix', 'eip155:999999', 'no such chain'].map((text): [string, []] => [`(search: "${text}")`, []]),
  ...['', '(search: "")', '(search: "  ")', '(search: null, chainTypes: null)'].map(
    (args): [string, readonly string[]] => [args, demoKeys(() => true)],
  ),
  ['(chainTypes: ["SOLANA", "Aptos", "x"])', demoKeys(({ chainType }) => /^(solana|aptos)$/.test(chainType))],
  ['(chainTypes: [])', []],
  [
    '(search: "m", chainTypes: ["aptos"])',
    demoKeys((chain) => chain.chainType === 'aptos' && /m/i.test(`${chain.chainKey} ${chain.name}`)),
  ],
])('chains%s gives the chains that match all conditions, in the order of the listing', async (args, keys) => {
  expect(await keysOf(args)).toEqual(keys);
});
