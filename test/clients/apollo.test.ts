import {
  ApolloClient,
  CombinedGraphQLErrors,
  gql,
  HttpLink,
  InMemoryCache,
  type ObservableQuery,
} from '@apollo/client';
import { filter, firstValueFrom, from } from 'rxjs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startGatewayProcess } from '../support/gateway-process.js';
import { watchRequests } from '../support/seen-requests.js';
import { shareGateway } from '../support/shared-gateway.js';
import {
  CHAIN_PICKER,
  expectPickers,
  SEARCHED,
  searchedTokens,
  sorted,
  TOKEN_PICKER,
  type TokenPicker,
  USDC,
} from './pickers.js';
import { createClient } from './recipes/apollo.js';

const TOKEN = gql`
  query ($srcChainKey: String!, $srcToken: String!) {
    token(chainKey: $srcChainKey, address: $srcToken) { id symbol price { usd asOf } }
  }
`;
const NODE = gql`query ($id: ID!) { node(id: $id) { id ... on Token { symbol isNative } } }`;
const USDC_ROWS = gql`{ tokens(srcChainKey: "ethereum") { id symbol price { usd asOf } } }`;

interface PricedToken {
  readonly id: string;
  readonly symbol: string;
  readonly price: { readonly usd: number; readonly asOf: string };
}

/** Watches a query as a page does, until the test ends. Resolves when the first data has arrived. */
async function show<Data>(query: ObservableQuery<Data>): Promise<void> {
  const subscription = query.subscribe({});
  onTestFinished(() => subscription.unsubscribe());
  await firstValueFrom(from(query).pipe(filter(({ dataState }) => dataState === 'complete')));
}

/** A client with its default configuration. */
function createPlainClient(uri: string, cache = new InMemoryCache()) {
  return new ApolloClient({ link: new HttpLink({ uri }), cache });
}

describe('Apollo Client', () => {
  const gateway = shareGateway();

  it('fills each of the three pickers with one query', async () => {
    const sent = watchRequests();
    const client = createPlainClient(gateway.endpoint);

    await expectPickers(async (query, variables) => {
      const { data } = await client.query<never>({ query: gql(query), variables });
      return data;
    });
    expect(sent).toHaveLength(3);
  });

  it('normalises the results of several queries by id, without configuration', async () => {
    const cache = new InMemoryCache();
    const client = createPlainClient(gateway.endpoint, cache);
    const { data } = await client.query<{ token: PricedToken }>({ query: TOKEN, variables: USDC });
    const { id } = data?.token ?? {};
    await client.query({ query: gql(TOKEN_PICKER), variables: { query: USDC.srcToken } });
    await client.query({ query: USDC_ROWS });
    await client.query({ query: gql(CHAIN_PICKER), variables: { search: 'ethereum' } });

    const found = await client.query<{ node: PricedToken }>({ query: NODE, variables: { id } });
    expect(found.data?.node.symbol).toBe('USDC');

    const kept = Object.entries(cache.extract());
    expect(kept.filter(([, entry]) => entry?.address === USDC.srcToken)).toEqual([
      [
        `Token:${id}`,
        expect.objectContaining({ symbol: 'USDC', decimals: 6, chain: { __ref: expect.any(String) } }),
      ],
    ]);
    expect(kept.filter(([, entry]) => entry?.name === 'Ethereum')).toEqual([
      [expect.stringMatching(/^Chain:./), expect.objectContaining({ chainKey: 'ethereum' })],
    ]);
  });

  it('updates a token in all queries when one of them refetches it', async () => {
    const { address } = await startGatewayProcess({ TOKENS_FRESH_MS: '100' });
    const client = createPlainClient(`${address}/graphql`);
    const one = client.watchQuery<{ token: PricedToken }>({ query: TOKEN, variables: USDC });
    const many = client.watchQuery<{ tokens: PricedToken[] }>({ query: USDC_ROWS });
    await Promise.all([show(one), show(many)]);
    const shown = () => {
      const rows = many.getCurrentResult().data?.tokens ?? [];
      return rows.find((row) => row?.symbol === 'USDC')?.price;
    };
    const before = shown();
    expect(before?.usd).toBeGreaterThan(0);

    await expect.poll(async () => (await one.refetch()).data?.token.price?.asOf).not.toBe(before?.asOf);
    await expect.poll(shown).toEqual(one.getCurrentResult().data?.token?.price);
    expect(shown()).not.toEqual(before);
  });

  it('joins the pages of a search to one list, with each token once, in order', async () => {
    const client = createClient(gateway.endpoint);
    const variables = { query: SEARCHED, first: 20 };
    const search = client.watchQuery<TokenPicker>({ query: gql(TOKEN_PICKER), variables });
    await show(search);
    const shown = () => search.getCurrentResult().data?.tokenSearch as TokenPicker['tokenSearch'];

    let pages = 1;
    for (; shown().pageInfo.hasNextPage && pages < 10; pages++) {
      const before = shown().edges.length;
      expect(before).toBe(20 * pages);
      await search.fetchMore({ variables: { after: shown().pageInfo.endCursor } });
      await expect.poll(() => shown().edges.length, { interval: 5 }).toBeGreaterThan(before);
    }

    expect(pages).toBe(4);
    const ids = shown().edges.map(({ node }) => node.id);
    const whole = { query: gql(TOKEN_PICKER), variables: { query: SEARCHED, first: 100 } };
    const { data } = await createPlainClient(gateway.endpoint).query<TokenPicker>(whole);
    expect(ids).toEqual(data?.tokenSearch.edges.map(({ node }) => node.id));
    expect(new Set(ids).size).toBe(searchedTokens.length);
    expect(sorted(shown().edges.map(({ node }) => node))).toMatchObject(searchedTokens);
    expect(shown().totalCount).toBe(searchedTokens.length);
    expect(shown().pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: false });
  });

  it('keeps the pages of different searches, filters and orders apart', async () => {
    const client = createClient(gateway.endpoint);
    const ask = async (variables: object) => {
      const { data } = await client.query<TokenPicker>({ query: gql(TOKEN_PICKER), variables });
      return data?.tokenSearch.totalCount;
    };
    const searched = await ask({ query: SEARCHED });
    expect(await ask({ query: 'usdc' })).not.toBe(searched);
    expect(await ask({ query: SEARCHED, filter: { isBridgeable: false } })).not.toBe(searched);
    expect(await ask({ query: SEARCHED })).toBe(searched);
  });

  it('reads its cache, also from an earlier visit, without a request', async () => {
    const first = createClient(gateway.endpoint);
    const question = { query: gql(TOKEN_PICKER), variables: { query: SEARCHED, first: 5 } };
    const asked = await first.query<TokenPicker>(question);
    const kept = JSON.stringify(first.extract());

    const sent = watchRequests();
    const second = createClient(gateway.endpoint);
    second.cache.restore(JSON.parse(kept));
    expect(await first.query(question)).toEqual(asked);
    expect(await second.query(question)).toEqual(asked);
    expect(sent).toEqual([]);
    await second.query({ ...question, fetchPolicy: 'network-only' });
    expect(sent).toHaveLength(1);
  });

  it('gets errors with their codes, beside the data that could be read', async () => {
    const client = createPlainClient(gateway.endpoint);
    const query = gql`{ tokenSearch(first: 101) { totalCount } chain(chainKey: "base") { id name } }`;

    const error = await client.query({ query }).catch((thrown: unknown) => thrown);
    expect(CombinedGraphQLErrors.is(error) && error.errors).toMatchObject([
      { path: ['tokenSearch'], extensions: { code: 'BAD_USER_INPUT' } },
    ]);

    const { data, error: beside } = await client.query({ query, errorPolicy: 'all' });
    expect(data).toMatchObject({ tokenSearch: null, chain: { name: 'Base' } });
    expect(CombinedGraphQLErrors.is(beside)).toBe(true);
  });
});
