import { parse, print } from 'graphql';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';

/** What clients ask. */
export interface Workload {
  readonly name: string;
  readonly about: string;
  /** The bodies to post. */
  readonly bodies: readonly string[];
  /** By the upstream's rows, the {@link facts} of the answer to each body. */
  readonly expected: readonly unknown[];
}

type AnsweredToken = Pick<RawToken, 'symbol' | 'address' | 'decimals' | 'price'> & {
  chain: { name: string };
};

/** The data of an answer to any of these. */
export type Answer = { chains: readonly RawChain[] } | { tokens: readonly AnsweredToken[] };

const generated = generatedListings(80, 1000);
const chains = generated.chains as readonly RawChain[];
const tokens = generated.tokens as readonly RawToken[];

/** The upstream's rows. */
export const listings = { chains, tokens };

const fields = `{ symbol address decimals price { usd __typename }
  chain { name nativeCurrency { symbol __typename } __typename } __typename }`;
const allFields = `{ id address chainKey decimals isBridgeable isNative name symbol price { usd asOf __typename }
  chain { id chainKey chainId chainType name shortName __typename } __typename }`;

/** A small answer, a middling one, a large one, and many that differ. */
export const workloads: readonly Workload[] = [
  {
    name: 'Q1',
    about: 'every chain, two fields',
    bodies: [body('query Q1 { chains { chainKey name __typename } }')],
    expected: [facts({ chains })],
  },
  {
    name: 'Q2',
    about: 'the tokens of a chain that has many, with price and chain',
    bodies: [body(`query Q2 { tokens(srcChainKey: "ethereum") ${fields} }`)],
    expected: [facts({ tokens: tokensOf('ethereum') })],
  },
  {
    name: 'Q3',
    about: 'every token, every field, with chain',
    bodies: [body(`query Q3 { tokens ${allFields} }`)],
    expected: [facts({ tokens: tokensOf() })],
  },
  {
    name: 'Q4',
    about: `Q2 by a variable that runs over all ${chains.length} chains`,
    bodies: chains.map(({ chainKey: srcChainKey }) =>
      body(`query Q4($srcChainKey: String) { tokens(srcChainKey: $srcChainKey) ${fields} }`, { srcChainKey }),
    ),
    expected: chains.map(({ chainKey }) => facts({ tokens: tokensOf(chainKey) })),
  },
];

/** What tells whether an answer is right: for each of its rows, in order, the values that matter. */
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

/** As Apollo Client writes it: `__typename` everywhere, and printed over many lines. */
function body(query: string, variables = {}): string {
  const operationName = /^query (\w+)/.exec(query)?.[1];
  return JSON.stringify({ operationName, variables, query: print(parse(query)) });
}

function tokensOf(only?: string): AnsweredToken[] {
  const names = new Map(chains.map(({ chainKey, name }) => [chainKey, name]));
  return tokens
    .filter(({ chainKey }) => only === undefined || chainKey === only)
    .map((token) => ({ ...token, chain: { name: names.get(token.chainKey) ?? '' } }));
}
