/** What the bench asks the servers, and the rows that they list. */
import { parse, print } from 'graphql';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';
import { oneOf, randomFrom, shuffled } from '../support/random.js';

/** How many tokens are listed in most measurements. Speed is promised up to 5,000 tokens. */
export const SMALL = 2_000;
export const LARGE = 10_000;

interface Workload {
  readonly name: string;
  readonly listed: number;
  readonly connections: number;
  readonly bodies: readonly string[];
}

export interface NewVariables {
  readonly name: string;
  readonly connections: number;
  /** Returns a function that gives the next body of a series. Equal numbers give equal series (some kinds have one). */
  series(number: number): () => string;
}

const CHAINS = 80;
const SEED = 20_261_122;
/** The syllables of names. They do not occur in names of chains, in symbols, or in words that a search ignores. */
const SYLLABLES =
  'lu mo ra vas ti qui ner bol dex pra sum wi gar zen fi yor bas kel dra pio cus mel jun rix'.split(' ');
const made = new Map<
  number,
  { readonly chains: readonly RawChain[]; readonly tokens: readonly RawToken[] }
>();

/**
 * The rows of the upstream. Nearly every token has its own symbol and name, as in long listings. The order of the rows is
 * random: otherwise rows that are read one after another would be next to each other in memory, and be read several times as
 * fast as real ones.
 */
export function listingsOf(tokenCount: number) {
  const known = made.get(tokenCount);
  if (known) return known;
  const { chains, tokens } = generatedListings(CHAINS, tokenCount);
  const random = randomFrom(SEED);
  const word = () => {
    const letters = Array.from({ length: 3 }, () => oneOf(SYLLABLES, random)).join('');
    return letters.charAt(0).toUpperCase() + letters.slice(1);
  };
  const named = (tokens as readonly RawToken[]).map((token) => ({ ...token, name: `${word()} ${word()}` }));
  const listings = { chains: chains as readonly RawChain[], tokens: shuffled(named, random) };
  made.set(tokenCount, listings);
  return listings;
}

const CONNECTIONS = 16;
/** The number of connections for answers of megabytes: with more connections, each would only wait longer. */
const FEW_CONNECTIONS = 4;
const PAGE = 20;
const ENTITIES = 50;

const LIST_FIELDS = `{ symbol address decimals price { usd __typename }
  chain { name nativeCurrency { symbol __typename } __typename } __typename }`;
const ALL_FIELDS = `{ id address chainKey decimals isBridgeable isNative name symbol price { usd asOf __typename }
  chain { id chainKey chainId chainType name shortName __typename } __typename }`;

const byKeyBody = (rows: readonly RawToken[]) => byKeyWith({ keys: rows.map(keyOf) });
const byKeyWith = writerOf(`query ByKey($keys: [TokenKey!]!) { tokensByKey(keys: $keys) ${LIST_FIELDS} }`);
const entitiesWith = writerOf(
  'query Portfolio__tokens__1($representations: [_Any!]!) { _entities(representations: $representations) { ...on Token { symbol name decimals price { usd } chain { name } } } }',
);
const oneWith = writerOf(
  'query One($chainKey: String!, $address: String!) { token(chainKey: $chainKey, address: $address) { symbol name decimals price { usd __typename } chain { name __typename } __typename } }',
);
const searchWith = writerOf(`query Search($query: String, $filter: TokenFilter) {
  tokenSearch(query: $query, filter: $filter, first: ${PAGE}) {
    totalCount pageInfo { hasNextPage endCursor __typename } edges { cursor node ${LIST_FIELDS} __typename } __typename } }`);

const workload = (name: string, bodies: readonly string[], more: Partial<Workload> = {}): Workload => ({
  name,
  listed: SMALL,
  connections: CONNECTIONS,
  bodies,
  ...more,
});

export const chainNames = workload('chains', [
  bodyOf('query Chains { chains { chainKey name __typename } }'),
]);

const ofChainWith = writerOf(
  `query OfChain($srcChainKey: String) { tokens(srcChainKey: $srcChainKey) ${LIST_FIELDS} }`,
);
export const ofChain = workload(
  'list of a chain',
  listingsOf(SMALL).chains.map(({ chainKey }) => ofChainWith({ srcChainKey: chainKey })),
);

export const wholeList = workload('whole list', [bodyOf(`query Whole { tokens ${ALL_FIELDS} }`)], {
  connections: FEW_CONNECTIONS,
});

/** The bare server finds an answer by the body, so this list needs another body than {@link wholeList}. */
export const longList = workload('whole list x10k', [bodyOf(`query Long { tokens ${ALL_FIELDS} }`)], {
  connections: FEW_CONNECTIONS,
  listed: LARGE,
});

/** 20 tokens by their keys, 500 different sets of keys in turn. All 500 answers fit into the cache. */
const keySets = workload('20 by key x10k', keySetsIn(LARGE, 500), { listed: LARGE });

export const repeated: readonly Workload[] = [chainNames, ofChain, wholeList, longList, keySets];

export function keySetsIn(listed: number, sets: number): readonly string[] {
  const { tokens } = listingsOf(listed);
  const apart = Math.floor(tokens.length / PAGE);
  return Array.from({ length: sets }, (_nothing, nth) =>
    byKeyBody(tokens.filter((_token, row) => row % apart === nth % apart).slice(0, PAGE)),
  );
}

/** One token by its chain and address. The letter case of the address differs each time. */
const oneToken: NewVariables = {
  name: 'one token',
  connections: CONNECTIONS,
  series(number) {
    const { tokens } = listingsOf(LARGE);
    let asked = Math.floor(randomFrom(number)() * tokens.length);
    return () => {
      const { chainKey, address } = at(tokens, asked % tokens.length);
      const writing = number * 1000 + Math.floor(asked++ / tokens.length);
      return oneWith({ chainKey, address: inCase(address, writing) });
    };
  },
};

/** Operations with random tokens. @param seriesOf makes a series from a function that returns a random token */
const withTokens = (
  name: string,
  seriesOf: (token: () => RawToken, random: () => number) => () => string,
): NewVariables => ({
  name,
  connections: CONNECTIONS,
  series(number) {
    const { tokens } = listingsOf(LARGE);
    const random = randomFrom(number);
    return seriesOf(() => oneOf(tokens, random), random);
  },
});

const byKey = withTokens('20 by key', (token) => () => byKeyBody(Array.from({ length: PAGE }, token)));

const entities = withTokens('50 entities', (token) => {
  const one = () => ({ __typename: 'Token', ...keyOf(token()) });
  return () => entitiesWith({ representations: Array.from({ length: ENTITIES }, one) });
});

export const lookUps: readonly NewVariables[] = [oneToken, byKey, entities];

/** Searches of seven kinds in turn, only for first pages, because two checkouts can have different cursors. */
export const searchMix = withTokens('search mix', (token, random) => {
  const below = (limit: number) => Math.floor(random() * limit);
  const chosen = () => ({
    chainKeys: ['ethereum', token().chainKey],
    isBridgeable: true,
    minPriceUsd: below(10),
  });
  const kinds: readonly (() => readonly [query: string, filter?: object])[] = [
    () => [`tok${1 + below(999)}`],
    () => [token().symbol],
    () => [`${token().name.slice(0, 3 + below(2))} ${token().chainKey}`],
    () => [(token().name.split(' ')[1] ?? '').slice(0, 3 + below(4))],
    () => [token().address],
    () => [`zq${below(1e6)}`],
    () => [token().name.slice(0, 2), chosen()],
  ];
  let asked = 0;
  return () => {
    const [text, filter = null] = at(kinds, asked++ % kinds.length)();
    // Spaces at the end make most requests new, and do not change what they find.
    return searchWith({ query: inCase(text, below(2 ** 30)) + ' '.repeat(below(80)), filter });
  };
});

/** A search for this text. A different lowest price makes each search a new one; below 1 dollar it excludes no row. */
export const searchFor = (query: string, minPriceUsd: number): string =>
  searchWith({ query, filter: { minPriceUsd } });

let asked = 0;

/** The bodies in turn, each with a new operation name: documents that were never sent before. */
export function asNewDocuments(bodies: readonly string[]): () => string {
  const parts = bodies.map((body) => body.split(/(?<=query |"operationName":")\w+/));
  return () => {
    asked++;
    return at(parts, asked % parts.length).join(`M${asked}`);
  };
}

/** The operations in turn. Each also asks for an unlisted chain by a variable, so that the variables are new each time. */
export function withNewVariables({ name, connections, bodies }: Workload): NewVariables {
  const nobody = 'nobody';
  const parts = bodies.map((body) => {
    const { query, variables } = JSON.parse(body) as { query: string; variables: object };
    const more = query
      .replace(
        /^query (\w+)(?:\((.*?)\))?/,
        (_head, own: string, defined = '') => `query ${own}V($other: String!, ${defined})`,
      )
      .replace(/\}\s*$/, 'chain(chainKey: $other) { name __typename } }');
    return bodyOf(more, { ...variables, other: nobody }).split(nobody);
  });
  const next = () => {
    asked++;
    return at(parts, asked % parts.length).join(`none-${asked}`);
  };
  return { name, connections, series: () => next };
}

/** A request body as Apollo Client writes it: the query has many lines. */
function bodyOf(query: string, variables = {}): string {
  const operationName = /^query (\w+)/.exec(query)?.[1];
  return JSON.stringify({ operationName, variables, query: print(parse(query)) });
}

function writerOf(query: string): (variables: object) => string {
  const parts = bodyOf(query).split('"variables":{}');
  return (variables) => parts.join(`"variables":${JSON.stringify(variables)}`);
}

/** Writes each letter in upper or lower case: each bit of the number decides on one letter. The x of 0x stays. */
function inCase(text: string, bits: number): string {
  let left = bits;
  return text.replaceAll(/(?<!^0)[a-z]/gi, (letter) => {
    const isUpper = left % 2 === 1;
    left = Math.floor(left / 2);
    return isUpper ? letter.toUpperCase() : letter.toLowerCase();
  });
}

function keyOf({ chainKey, address }: RawToken) {
  return { chainKey, address };
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`Expected an index below ${items.length}, got ${index}`);
  return item;
}
