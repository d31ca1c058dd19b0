/** urql works with its usual configuration, and graphcache with the keys that the guide gives. */
import { readFileSync } from 'node:fs';
import { Client, fetchExchange } from '@urql/core';
import { cacheExchange } from '@urql/exchange-graphcache';
import { relayPagination } from '@urql/exchange-graphcache/extras';
import { buildSchema, isObjectType, parse, TypeInfo, visit, visitWithTypeInfo } from 'graphql';
import { expect, it, onTestFinished, vi } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { json, startFakeUpstream, status } from '../support/fake-upstream.js';
import { ask, shareGateway, startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits } from '../support/processes.js';
import {
  expectAllFound,
  expectPickers,
  type PricedToken,
  SEARCHED,
  searchedTokens,
  TOKEN_PICKER,
  type TokenPicker,
  USDC,
  watchRequests,
} from './pickers.js';
import { createClient, keys } from './recipes/urql.js';

const PRICED = 'id symbol price { usd asOf }';
const TOKEN = `query ($srcChainKey: String!, $srcToken: String!) {
  token(chainKey: $srcChainKey, address: $srcToken) { ${PRICED} }
}`;
const ROWS = `query ($srcChainKey: String!) { tokens(srcChainKey: $srcChainKey) { ${PRICED} } }`;

const EVERYTHING = [
  `fragment Row on Token { id isBridgeable chainKey address decimals symbol name isNative logoUrl price { usd asOf } heldBack { fact served upstream since } }
  query ($after: String) {
    chains(search: "base") {
      id chainKey chainType chainId shortName name tokenCount caip2
      nativeCurrency { chainKey name symbol decimals address }
      tokens { ...Row chain { id } }
    }
    tokenSearch(query: "usdc", first: 3, after: $after) {
      totalCount
      edges { cursor node { ...Row } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }`,
  `query ($srcChainKey: String!, $srcToken: String!) {
    destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) { chainKey chain { id name } tokens { id symbol } }
    token(chainKey: $srcChainKey, address: $srcToken) { id destinations { chainKey tokens { id symbol } } }
    chain(chainKey: $srcChainKey) { id nativeCurrency { symbol } }
    chainsByKey(chainKeys: [$srcChainKey, "nope"]) { id nativeCurrency { symbol } }
    tokensByKey(keys: [{ chainKey: $srcChainKey, address: $srcToken }]) { id price { usd } }
  }`,
  `query ($srcChainKey: String!, $srcToken: String!) {
    sources(dstChainKey: $srcChainKey, dstToken: $srcToken) { isComplete chains { chainKey tokens { id } } }
    chainChanges { cursor isReset changed { id } removedIds }
    tokenChanges { cursor isReset changed { id symbol } removedIds }
  }`,
  `{ listings { name source state takenAt ageSeconds rows rejectedRows version lastFailure { code message at } } }`,
];

const gateway = shareGateway();

it('urql fills the pickers of chains, tokens and destinations, each with one GET', async () => {
  const sent = watchRequests();
  const client = createClient(gateway.endpoint);

  await expectPickers(async (query, variables) => {
    const { data, error } = await client.query(query, variables);
    expect(error?.message).toBeUndefined();
    return data;
  });
  expect(sent()).toMatchObject(
    ['ChainPicker', 'TokenPicker', 'DestinationPicker'].map((name) => ({
      method: 'GET',
      url: expect.stringContaining(`operationName=${name}&`),
    })),
  );
});

it('urql normalises the results of several queries by id, and updates a token in all of them', async () => {
  const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '100' });
  const client = createClient(`${address}/graphql`);
  const shown: PricedToken[] = [];
  const { unsubscribe } = client
    .query<{ tokens: PricedToken[] }>(ROWS, USDC)
    .subscribe(({ data }) => shown.push(...(data?.tokens ?? []).filter(({ symbol }) => symbol === 'USDC')));
  onTestFinished(unsubscribe);
  await expect.poll(() => shown.length).toBe(1);

  const refetch = () =>
    client.query<{ token: PricedToken }>(TOKEN, USDC, { requestPolicy: 'network-only' }).toPromise();
  await expect.poll(async () => (await refetch()).data?.token.price.asOf).not.toBe(shown[0]?.price.asOf);
  await expect.poll(() => shown.at(-1)).toEqual(client.readQuery(TOKEN, USDC)?.data?.token);
  expect(shown.at(-1)?.price).not.toEqual(shown[0]?.price);
});

it('urql joins the pages of a search to one list, with each token once, in order', async () => {
  const resolvers = { Query: { tokenSearch: relayPagination() } };
  const exchanges = [cacheExchange({ keys, resolvers }), fetchExchange];
  const client = new Client({ url: gateway.endpoint, exchanges });
  const search = async (first: number, after: string | null = null) => {
    const { data } = await client.query<TokenPicker>(TOKEN_PICKER, { query: SEARCHED, first, after });
    return data?.tokenSearch;
  };
  let shown = await search(20);
  const lengths = [shown?.edges.length];
  while (shown?.pageInfo.hasNextPage && lengths.length < 10) {
    shown = await search(20, shown.pageInfo.endCursor);
    lengths.push(shown?.edges.length);
  }

  expect(lengths).toEqual([20, 40, 60, searchedTokens.length]);
  const everything = { query: SEARCHED, first: 100 };
  const whole = await createClient(gateway.endpoint).query<TokenPicker>(TOKEN_PICKER, everything);
  expect(shown?.edges).toEqual(whole.data?.tokenSearch.edges);
  expectAllFound(shown as TokenPicker['tokenSearch']);
  expect(shown?.pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: false });
});

it('graphcache is tested with every type of the graph', () => {
  const schema = buildSchema(readFileSync(new URL('../../schema.graphql', import.meta.url), 'utf8'));
  const types = Object.values(schema.getTypeMap()).filter(
    (type) => isObjectType(type) && !type.name.startsWith('__'),
  );
  const selected = new Set<string | undefined>();
  const typeInfo = new TypeInfo(schema);
  for (const document of EVERYTHING) {
    const note = { Field: () => void selected.add(typeInfo.getParentType()?.name) };
    visit(parse(document), visitWithTypeInfo(typeInfo, note));
  }
  expect([...selected].sort()).toEqual(types.map(({ name }) => name).sort());
});

it('graphcache gives no warnings with these keys, and without them warns of each of their types', async () => {
  const address = await startGatewayWithAFailure();
  const client = (options: object) =>
    new Client({ url: `${address}/graphql`, exchanges: [cacheExchange(options), fetchExchange] });

  expect(await warningsOf(client({ keys }))).toEqual([]);

  const warnings = (await warningsOf(client({}))).map((text) => /`keys` config for `(\w+)`/.exec(text)?.[1]);
  expect([...new Set(warnings)].sort()).toEqual(Object.keys(keys).sort());
});

/** A gateway after exactly one failed refresh, which holds back the decimals of one token on Base. */
async function startGatewayWithAFailure(): Promise<string> {
  const upstream = await startFakeUpstream({}, onTestFinished);
  const isUsdc = ({ chainKey, symbol }: (typeof demoTokens)[number]) =>
    chainKey === 'base' && symbol === 'USDC';
  const rows = json({ tokens: demoTokens.map((row) => (isUsdc(row) ? { ...row, decimals: 18 } : row)) });
  let listed = 0;
  upstream.plan('tokens', (_response, { url }) => {
    const isListing = !url?.includes('srcToken');
    return isListing && ++listed === 2 ? status(500) : rows;
  });
  const { address } = await startGatewayProcess({
    UPSTREAM_URL: upstream.url,
    ...fixedLimits({ upstreamRetries: 0 }),
    UPSTREAM_REQUESTS_PER_SECOND: '1000',
    TOKENS_FRESH_MS: '100',
    ROUTES_SWEEP_MS: '60000',
  });
  await expect
    .poll(async () => (await ask<unknown>(address, '{ listings { state lastFailure { code } } }')).data)
    .toMatchObject({ listings: [{ state: 'FRESH' }, { lastFailure: { code: 'UPSTREAM_STATUS' } }] });
  const { srcChainKey, srcToken } = USDC;
  const sources = `{ sources(dstChainKey: "${srcChainKey}", dstToken: "${srcToken}") { isComplete } }`;
  await expect
    .poll(async () => (await ask<{ sources: unknown }>(address, sources)).data?.sources)
    .toBeTruthy();
  return address;
}

async function warningsOf(client: Client): Promise<readonly string[]> {
  const spies = (['warn', 'error'] as const).map((name) => vi.spyOn(console, name).mockReturnValue());
  onTestFinished(() => spies.forEach((spy) => void spy.mockRestore()));
  for (const _time of ['asked', 'kept']) {
    for (const document of EVERYTHING) {
      const { data, error } = await client.query<Partial<TokenPicker>>(document, USDC);
      expect(error?.message).toBeUndefined();
      const after = data?.tokenSearch?.pageInfo.endCursor;
      if (after) expect((await client.query(document, { ...USDC, after })).error?.message).toBeUndefined();
    }
  }
  return spies.flatMap(({ mock }) => mock.calls.map(([text]) => String(text)));
}
