import { parse, print } from 'graphql';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { type Listings, listingsOf } from './listings.js';

/** The questions of clients. */
export interface Workload {
  readonly name: string;
  readonly about: string;
  /** The number of listed tokens. */
  readonly listed: number;
  readonly connections: number;
  /** The bodies to post. */
  readonly bodies: readonly string[];
  /** The {@link facts} of the right answer to each body, from the rows of the upstream. */
  readonly expected: readonly unknown[];
}

type AnsweredToken = Pick<RawToken, 'symbol' | 'address' | 'decimals' | 'price'> & {
  chain: { name: string };
};

/** The data of an answer to a question of a workload. */
export type Answer = { chains: readonly RawChain[] } | { tokens: readonly AnsweredToken[] };

/** The default number of listed tokens. */
const LISTED = 2000;
/** How many connections send at once. */
export const CONNECTIONS = 16;
/** The number of connections for answers of megabytes: with more connections, each would only wait longer. */
const FEW_CONNECTIONS = 4;
const PAGE = 20;

/** What a picker shows of each token. */
export const LIST_FIELDS = `{ symbol address decimals price { usd __typename }
  chain { name nativeCurrency { symbol __typename } __typename } __typename }`;
const ALL_FIELDS = `{ id address chainKey decimals isBridgeable isNative name symbol price { usd asOf __typename }
  chain { id chainKey chainId chainType name shortName __typename } __typename }`;

/** Every chain, two fields. */
export const q1: Workload = {
  name: 'Q1',
  about: 'every chain, two fields',
  listed: LISTED,
  connections: CONNECTIONS,
  bodies: [bodyOf('query Q1 { chains { chainKey name __typename } }')],
  expected: [facts({ chains: listingsOf(LISTED).chains })],
};

/** The tokens of a chain that has many. */
export const q2: Workload = {
  name: 'Q2',
  about: 'the tokens of a chain that has many, with price and chain',
  listed: LISTED,
  connections: CONNECTIONS,
  bodies: [bodyOf(`query Q2 { tokens(srcChainKey: "ethereum") ${LIST_FIELDS} }`)],
  expected: [facts({ tokens: withChains(listingsOf(LISTED), 'ethereum') })],
};

/** Every token, every field. */
export const q3: Workload = {
  name: 'Q3',
  about: 'every token, every field, with chain',
  listed: LISTED,
  connections: CONNECTIONS,
  bodies: [bodyOf(`query Q3 { tokens ${ALL_FIELDS} }`)],
  expected: [facts({ tokens: withChains(listingsOf(LISTED)) })],
};

/** Q2 for all chains, in rotation. */
export const q4: Workload = {
  name: 'Q4',
  about: 'Q2 by a variable that runs over all 80 chains',
  listed: LISTED,
  connections: CONNECTIONS,
  bodies: listingsOf(LISTED).chains.map(({ chainKey: srcChainKey }) =>
    bodyOf(`query Q4($srcChainKey: String) { tokens(srcChainKey: $srcChainKey) ${LIST_FIELDS} }`, {
      srcChainKey,
    }),
  ),
  expected: listingsOf(LISTED).chains.map(({ chainKey }) =>
    facts({ tokens: withChains(listingsOf(LISTED), chainKey) }),
  ),
};

/** Q3 with 10,000 listed tokens. */
export const q3x10k: Workload = {
  ...q3,
  name: 'Q3 x10k',
  about: 'Q3 where 10,000 tokens are listed: 5.5 MB',
  listed: 10_000,
  connections: FEW_CONNECTIONS,
  expected: [facts({ tokens: withChains(listingsOf(10_000)) })],
};

/** The workloads for every server. */
export const common: readonly Workload[] = [q1, q2, q3, q4, q3x10k];

/** The rows of 500 sets of keys, in rotation. All 500 answers fit into the cache. */
export const lookUps: Workload = {
  name: 'K x10k',
  about: '20 rows of 10,000 by their keys, 500 sets of keys in turn',
  listed: 10_000,
  connections: CONNECTIONS,
  ...lookUpsIn(10_000, 500),
};

/** Many different searches, to measure their memory. Each finds some 100 rows of 10,000. */
export const searches: readonly string[] = Array.from({ length: 90 * 30 }, (_nothing, nth) =>
  searchFor(`tok${10 + Math.floor(nth / 30)}`, (nth % 30) / 100),
);

/** `sets` questions, each for 20 rows by their keys. */
export function lookUpsIn(listed: number, sets: number): Pick<Workload, 'bodies' | 'expected'> {
  const all = withChains(listingsOf(listed));
  const apart = Math.floor(all.length / PAGE);
  const pages = Array.from({ length: sets }, (_nothing, nth) =>
    all.filter((_token, row) => row % apart === nth % apart).slice(0, PAGE),
  );
  return {
    bodies: pages.map((page) =>
      bodyOf(`query K($keys: [TokenKey!]!) { tokens: tokensByKey(keys: $keys) ${LIST_FIELDS} }`, {
        keys: page.map(({ chainKey, address }) => ({ chainKey, address })),
      }),
    ),
    expected: pages.map((page) => facts({ tokens: page })),
  };
}

/** A search for this text. A different lowest price makes each search a new one; below 1 dollar it excludes no row. */
export function searchFor(typed: string, minPriceUsd: number): string {
  return bodyOf(
    `query S($query: String, $filter: TokenFilter) {
      tokenSearch(query: $query, filter: $filter, first: ${PAGE}) {
        totalCount edges { cursor node ${LIST_FIELDS} __typename } __typename } }`,
    { query: typed, filter: { minPriceUsd } },
  );
}

let asked = 0;

/** The questions of a workload, each with a new operation name: documents that were never sent before. */
export function inNewWords({ bodies }: Pick<Workload, 'bodies'>): () => string {
  const parts = bodies.map((body) => body.split(/(?<=query |"operationName":")\w+/));
  return () => {
    asked++;
    return (parts[asked % parts.length] ?? []).join(`M${asked}`);
  };
}

/**
 * The workload's questions in turn. Each also asks for a chain that is not listed, by a variable: so the document stays
 * the same, and the variables are new each time.
 */
export function withNewVariables({ bodies }: Pick<Workload, 'bodies'>): () => string {
  const nobody = 'nobody';
  const parts = bodies.map((body) => {
    const { query, variables } = JSON.parse(body) as { query: string; variables: object };
    const more = query
      .replace(
        /^query (\w+)(?:\((.*?)\))?/,
        (_head, name: string, own = '') => `query ${name}V($other: String!, ${own})`,
      )
      .replace(/\}\s*$/, 'chain(chainKey: $other) { name __typename } }');
    return bodyOf(more, { ...variables, other: nobody }).split(nobody);
  });
  return () => {
    asked++;
    return (parts[asked % parts.length] ?? []).join(`none-${asked}`);
  };
}

/** The values of each row, in order, that decide whether an answer is right. */
export function facts(answer: Answer): unknown {
  if ('chains' in answer) return answer.chains.map(({ chainKey, name }) => [chainKey, name]);
  return answer.tokens.map(({ symbol, address, decimals, price, chain }) => [
    symbol,
    address,
    decimals,
    price.usd,
    chain.name,
  ]);
}

/** A request body as Apollo Client writes it: the query has `__typename` everywhere, and many lines. */
export function bodyOf(query: string, variables = {}): string {
  const operationName = /^query (\w+)/.exec(query)?.[1];
  return JSON.stringify({ operationName, variables, query: print(parse(query)) });
}

function withChains({ chains, tokens }: Listings, only?: string): (RawToken & AnsweredToken)[] {
  const names = new Map(chains.map(({ chainKey, name }) => [chainKey, name]));
  return tokens
    .filter(({ chainKey }) => only === undefined || chainKey === only)
    .map((token) => ({ ...token, chain: { name: names.get(token.chainKey) ?? '' } }));
}
