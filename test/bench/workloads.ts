import { parse, print } from 'graphql';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';

/** What clients ask. */
export interface Workload {
  readonly name: string;
  readonly about: string;
  /** How many tokens are listed where it is asked. */
  readonly listed: ListedTokens;
  /** The bodies to post. */
  readonly bodies: readonly string[];
  /** By the upstream's rows, the {@link facts} of the answer to each body. */
  readonly expected: readonly unknown[];
}

type AnsweredToken = Pick<RawToken, 'symbol' | 'address' | 'decimals' | 'price'> & {
  chain: { name: string };
};

/** The data of an answer to any of these. */
export type Answer =
  | { chains: readonly RawChain[] }
  | { tokens: readonly AnsweredToken[] }
  | { tokenSearch: { edges: readonly { node: AnsweredToken }[] } };

/** The sizes of the token listing that are measured. */
export type ListedTokens = 1000 | 10000;

function listingsOf(count: ListedTokens) {
  const { chains, tokens } = generatedListings(80, count);
  return { chains: chains as readonly RawChain[], tokens: tokens as readonly RawToken[] };
}

/** The upstream's rows, by the number of tokens. */
export const listings = { 1000: listingsOf(1000), 10000: listingsOf(10000) } as const;

const { chains, tokens } = listings[1000];

const fields = `{ symbol address decimals price { usd __typename }
  chain { name nativeCurrency { symbol __typename } __typename } __typename }`;
const allFields = `{ id address chainKey decimals isBridgeable isNative name symbol price { usd asOf __typename }
  chain { id chainKey chainId chainType name shortName __typename } __typename }`;

const PAGE = 20;

/** A small answer, a middling one, a large one, and many that differ. */
export const workloads: readonly Workload[] = [
  {
    name: 'Q1',
    about: 'every chain, two fields',
    listed: 1000,
    bodies: [body('query Q1 { chains { chainKey name __typename } }')],
    expected: [facts({ chains })],
  },
  {
    name: 'Q2',
    about: 'the tokens of a chain that has many, with price and chain',
    listed: 1000,
    bodies: [body(`query Q2 { tokens(srcChainKey: "ethereum") ${fields} }`)],
    expected: [facts({ tokens: tokensOf('ethereum') })],
  },
  {
    name: 'Q3',
    about: 'every token, every field, with chain',
    listed: 1000,
    bodies: [body(`query Q3 { tokens ${allFields} }`)],
    expected: [facts({ tokens: tokensOf() })],
  },
  {
    name: 'Q4',
    about: `Q2 by a variable that runs over all ${chains.length} chains`,
    listed: 1000,
    bodies: chains.map(({ chainKey: srcChainKey }) =>
      body(`query Q4($srcChainKey: String) { tokens(srcChainKey: $srcChainKey) ${fields} }`, { srcChainKey }),
    ),
    expected: chains.map(({ chainKey }) => facts({ tokens: tokensOf(chainKey) })),
  },
  {
    name: 'K x10k',
    about: 'an ordinary question for 20 rows of 10,000, by their keys, each time others',
    listed: 10000,
    ...lookUps(),
  },
  {
    name: 'S x10k',
    about: 'a search that finds 111 rows of 10,000, of which the first 20 are given, each time another',
    listed: 10000,
    ...searches(),
  },
];

function lookUps(): Pick<Workload, 'bodies' | 'expected'> {
  const all = withChains(listings[10000]);
  const pages = Array.from({ length: 500 }, (_nothing, nth) =>
    all.filter((_token, row) => row % 500 === nth),
  );
  return {
    bodies: pages.map((page) =>
      body(`query K($keys: [TokenKey!]!) { tokens: tokensByKey(keys: $keys) ${fields} }`, {
        keys: page.map(({ chainKey, address }) => ({ chainKey, address })),
      }),
    ),
    expected: pages.map((page) => facts({ tokens: page })),
  };
}

/** More of them, by a bound that keeps nothing out, than the gateway keeps the places of. */
function searches(): Pick<Workload, 'bodies' | 'expected'> {
  const all = withChains(listings[10000]);
  const bodies: string[] = [];
  const expected: unknown[] = [];
  for (let number = 10; number < 100; number++) {
    const found = all
      .filter(({ symbol }) => symbol.startsWith(`TOK${number}`))
      .sort((a, b) => (a.symbol < b.symbol ? -1 : 1))
      .slice(0, PAGE);
    for (let cents = 0; cents < 30; cents++) {
      bodies.push(
        body(
          `query S($query: String, $filter: TokenFilter) {
            tokenSearch(query: $query, filter: $filter, first: ${PAGE}) {
              totalCount edges { cursor node ${fields} __typename } __typename } }`,
          { query: `tok${number}`, filter: { minPriceUsd: cents / 100 } },
        ),
      );
      expected.push(facts({ tokens: found }));
    }
  }
  return { bodies, expected };
}

/** What tells whether an answer is right: for each of its rows, in order, the values that matter. */
export function facts(answer: Answer): unknown {
  if ('chains' in answer) return answer.chains.map(({ chainKey, name }) => [chainKey, name]);
  const rows = 'tokens' in answer ? answer.tokens : answer.tokenSearch.edges.map(({ node }) => node);
  return rows.map(({ symbol, address, decimals, price, chain }) => [
    symbol,
    address,
    decimals,
    price.usd,
    chain.name,
  ]);
}

/** As Apollo Client writes it: `__typename` everywhere, and printed over many lines. */
function body(query: string, variables = {}): string {
  const operationName = /^query (\w+)/.exec(query)?.[1];
  return JSON.stringify({ operationName, variables, query: print(parse(query)) });
}

function tokensOf(only?: string): AnsweredToken[] {
  return withChains({ chains, tokens }).filter(({ chainKey }) => only === undefined || chainKey === only);
}

function withChains({ chains, tokens }: { chains: readonly RawChain[]; tokens: readonly RawToken[] }) {
  const names = new Map(chains.map(({ chainKey, name }) => [chainKey, name]));
  return tokens.map((token) => ({ ...token, chain: { name: names.get(token.chainKey) ?? '' } }));
}
