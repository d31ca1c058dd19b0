/** Apollo Client works with its usual configuration: pickers, its cache by id, and the pages of a search. */
import { ApolloClient, gql, HttpLink, InMemoryCache, type ObservableQuery } from '@apollo/client';
import { filter, firstValueFrom, from } from 'rxjs';
import { expect, it, onTestFinished } from 'vitest';
import { shareGateway } from '../support/gateway-process.js';
import * as pickers from './pickers.js';
import { createClient } from './recipes/apollo.js';

const TOKEN = gql`
  query ($srcChainKey: String!, $srcToken: String!) {
    token(chainKey: $srcChainKey, address: $srcToken) { id symbol price { usd asOf } }
  }
`;
const NODE = gql`query ($id: ID!) { node(id: $id) { id ... on Token { symbol isNative } } }`;
const CURRENCY_SYMBOL = gql`{ chain(chainKey: "base") { id nativeCurrency { symbol } } }`;
const CURRENCY_DECIMALS = gql`{ chain(chainKey: "base") { id nativeCurrency { decimals } } }`;
const USDC_ROWS = gql`{ tokens(srcChainKey: "ethereum") { id symbol price { usd asOf } } }`;

/** Watches a query as a page does, until the test ends. Resolves when the first data has arrived. */
async function show<Data>(query: ObservableQuery<Data>): Promise<void> {
  const subscription = query.subscribe({});
  onTestFinished(() => subscription.unsubscribe());
  await firstValueFrom(from(query).pipe(filter(({ dataState }) => dataState === 'complete')));
}

function createPlainClient(uri: string, cache = new InMemoryCache()) {
  return new ApolloClient({ link: new HttpLink({ uri }), cache });
}

const gateway = shareGateway();

it('Apollo Client fills the pickers of chains, tokens and destinations, each with one query', async () => {
  const sent = pickers.watchRequests();
  const client = createPlainClient(gateway.endpoint);

  await pickers.expectPickers(async (query, variables) => {
    const { data } = await client.query<never>({ query: gql(query), variables });
    return data;
  });
  expect(sent()).toHaveLength(3);
});

it('Apollo Client normalises the results of several queries by id, without configuration', async () => {
  const cache = new InMemoryCache();
  const client = createPlainClient(gateway.endpoint, cache);
  const { data } = await client.query<{ token: pickers.PricedToken }>({
    query: TOKEN,
    variables: pickers.USDC,
  });
  const { id } = data?.token ?? {};
  await client.query({ query: gql(pickers.TOKEN_PICKER), variables: { query: pickers.USDC.srcToken } });
  await client.query({ query: USDC_ROWS });
  await client.query({ query: gql(pickers.CHAIN_PICKER), variables: { search: 'ethereum' } });

  const found = await client.query<{ node: pickers.PricedToken }>({ query: NODE, variables: { id } });
  expect(found.data?.node.symbol).toBe('USDC');

  const kept = Object.entries(cache.extract());
  expect(kept.filter(([, entry]) => entry?.address === pickers.USDC.srcToken)).toEqual([
    [
      `Token:${id}`,
      expect.objectContaining({ symbol: 'USDC', decimals: 6, chain: { __ref: expect.any(String) } }),
    ],
  ]);
  expect(kept.filter(([, entry]) => entry?.name === 'Ethereum')).toEqual([
    [expect.stringMatching(/^Chain:./), expect.objectContaining({ chainKey: 'ethereum' })],
  ]);
});

it('Apollo Client keeps a view of a native currency when another view selects other fields of it', async () => {
  const client = createClient(gateway.endpoint);
  const sent = pickers.watchRequests();
  for (const query of [CURRENCY_SYMBOL, CURRENCY_DECIMALS]) await show(client.watchQuery({ query }));
  expect(client.readQuery({ query: CURRENCY_SYMBOL })).toMatchObject({
    chain: { nativeCurrency: { symbol: 'ETH' } },
  });
  expect(sent()).toHaveLength(2);
});

it('Apollo Client joins the pages of a search to one list, with each token once, apart from other searches', async () => {
  const client = createClient(gateway.endpoint);
  const variables = { query: pickers.SEARCHED, first: 20 };
  const search = client.watchQuery<pickers.TokenPicker>({ query: gql(pickers.TOKEN_PICKER), variables });
  await show(search);
  const shown = () => search.getCurrentResult().data?.tokenSearch as pickers.TokenPicker['tokenSearch'];

  let pages = 1;
  for (; shown().pageInfo.hasNextPage && pages < 10; pages++) {
    const before = shown().edges.length;
    expect(before).toBe(20 * pages);
    await search.fetchMore({ variables: { after: shown().pageInfo.endCursor } });
    await expect.poll(() => shown().edges.length, { interval: 5 }).toBeGreaterThan(before);
  }
  expect(pages).toBe(4);
  const find = async (asked: ApolloClient, more: object) => {
    const question = { query: gql(pickers.TOKEN_PICKER), variables: { query: pickers.SEARCHED, ...more } };
    return (await asked.query<pickers.TokenPicker>(question)).data?.tokenSearch;
  };
  const idsOf = (found = shown()) => found.edges.map(({ node }) => node.id);
  expect(idsOf()).toEqual(idsOf(await find(createPlainClient(gateway.endpoint), { first: 100 })));
  pickers.expectAllFound(shown());
  expect(shown().pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: false });

  const { totalCount } = shown();
  expect((await find(client, { query: 'usdc' }))?.totalCount).not.toBe(totalCount);
  expect((await find(client, { filter: { isBridgeable: false } }))?.totalCount).not.toBe(totalCount);
  expect(shown().totalCount).toBe(totalCount);
});
