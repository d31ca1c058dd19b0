/**
 * Requests with known documents and new variables each time, to servers that list 10,000 tokens. Pickers that search
 * while a person types, and routers of federated graphs, send such requests all day.
 */
import type { RawToken } from '../fixtures/demo.js';
import { oneOf, randomFrom } from '../support/random.js';
import { listingsOf } from './listings.js';
import { bodyOf, CONNECTIONS, LIST_FIELDS } from './workloads.js';

/** Questions of one kind. */
export interface NewQuestions {
  readonly name: string;
  readonly about: string;
  readonly connections: number;
  /** Returns a function that gives the next question. Equal numbers give equal series. No series repeats a question. */
  series(number: number): () => string;
}

/** How many tokens the servers list that get these questions. */
export const LISTED = 10_000;

const KEYS = 20;
const ENTITIES = 50;
const PAGE = 20;

const { tokens } = listingsOf(LISTED);

/** One token, a few fields. */
export const oneToken: NewQuestions = {
  name: 'one',
  about: 'one token by its chain and address, with price and chain; the letter case of the address differs',
  connections: CONNECTIONS,
  series(number) {
    const ask = askWith(
      'query One($chainKey: String!, $address: String!) { token(chainKey: $chainKey, address: $address) { symbol name decimals price { usd __typename } chain { name __typename } __typename } }',
    );
    const random = randomFrom(number);
    // After all tokens were asked for once, they follow again, with their addresses in another letter case.
    let asked = Math.floor(random() * tokens.length);
    return () => {
      const { chainKey, address } = at(tokens, asked % tokens.length);
      const writing = number * 1000 + Math.floor(asked++ / tokens.length);
      return ask({ chainKey, address: `0x${inCase(address.slice(2), writing)}` });
    };
  },
};

/** Some tokens by their keys. */
export const byKey: NewQuestions = {
  name: 'by key',
  about: `${KEYS} tokens by their keys, with price and chain`,
  connections: CONNECTIONS,
  series(number) {
    const ask = askWith(`query ByKey($keys: [TokenKey!]!) { tokensByKey(keys: $keys) ${LIST_FIELDS} }`);
    const random = randomFrom(number);
    return () => ask({ keys: Array.from({ length: KEYS }, () => keyOf(oneOf(tokens, random))) });
  },
};

/** A router's request for the fields of tokens in a list from another subgraph. */
export const entities: NewQuestions = {
  name: 'entities',
  about: `${ENTITIES} representations of tokens, as a router of a federated graph sends them`,
  connections: CONNECTIONS,
  series(number) {
    // On one line and without `__typename`, as the routers of Apollo and The Guild write it.
    const query =
      'query Portfolio__tokens__1($representations:[_Any!]!){_entities(representations:$representations){...on Token{symbol name decimals price{usd}chain{name}}}}';
    const operationName = 'Portfolio__tokens__1';
    const random = randomFrom(number);
    return () => {
      const representations = Array.from({ length: ENTITIES }, () => ({
        __typename: 'Token',
        ...keyOf(oneOf(tokens, random)),
      }));
      return JSON.stringify({ query, operationName, variables: { representations } });
    };
  },
};

const SEARCH = `query Search($query: String, $filter: TokenFilter) {
  tokenSearch(query: $query, filter: $filter, first: ${PAGE}) {
    totalCount pageInfo { hasNextPage endCursor __typename } edges { cursor node ${LIST_FIELDS} __typename } __typename } }`;

const SPACES = 80;

interface SearchVariables {
  readonly query: string;
  readonly filter: object | null;
}

/** Searches of seven kinds in turn, only for first pages, because two checkouts can have different cursors. */
export const searchMix: NewQuestions = {
  name: 'search mix',
  about:
    'searches in turn: for the start of a symbol, a whole one, two words, a word of a name, an address, nothing that is listed, and with a filter; what is typed differs at least in letter case',
  connections: CONNECTIONS,
  series(number) {
    const ask = askWith(SEARCH);
    const random = randomFrom(number);
    const below = (limit: number) => Math.floor(random() * limit);
    const token = () => oneOf(tokens, random);
    const kinds: readonly (() => Partial<SearchVariables> & { readonly query: string })[] = [
      () => ({ query: `tok${1 + below(999)}` }),
      () => ({ query: token().symbol }),
      () => {
        const { name, chainKey } = token();
        return { query: `${name.slice(0, 3 + below(2))} ${chainKey}` };
      },
      () => ({ query: (token().name.split(' ')[1] ?? '').slice(0, 3 + below(4)) }),
      () => ({ query: token().address }),
      () => ({ query: `zq${below(1e6)}` }),
      () => ({ query: token().name.slice(0, 2), filter: filterOf(below(10), token) }),
    ];
    const typed = new Set<string>();
    let asked = 0;
    return () => {
      const kind = at(kinds, asked++ % kinds.length);
      const variables: SearchVariables = { filter: null, ...kind() };
      const text = inCase(variables.query, below(2 ** 30));
      let query = text;
      // A text that was used before gets spaces around it, which do not change the results, but make the request new.
      for (let nth = 1; typed.has(query); nth++)
        query = ' '.repeat(nth % SPACES) + text + ' '.repeat(nth / SPACES);
      typed.add(query);
      return ask({ ...variables, query });
    };
  },
};

function filterOf(priceUsd: number, token: () => RawToken) {
  const chainKeys = ['ethereum', token().chainKey, token().chainKey];
  return { chainKeys, isBridgeable: true, minPriceUsd: priceUsd };
}

/** Returns a function that writes the body of this operation with the given variables. */
function askWith(query: string): (variables: object) => string {
  const parts = bodyOf(query).split('"variables":{}');
  return (variables) => parts.join(`"variables":${JSON.stringify(variables)}`);
}

/** The text with each letter in upper or lower case, as the bits of a number say. So few texts come twice. */
function inCase(text: string, bits: number): string {
  let left = bits;
  // The first x of an address is not one of its digits.
  const prefix = text.startsWith('0x') ? '0x' : '';
  let written = prefix;
  for (const letter of text.slice(prefix.length)) {
    if (letter < 'A') {
      written += letter;
    } else {
      written += left % 2 === 1 ? letter.toUpperCase() : letter.toLowerCase();
      left = Math.floor(left / 2);
    }
  }
  return written;
}

function keyOf({ chainKey, address }: RawToken) {
  return { chainKey, address };
}

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`Expected an index below ${items.length}, got ${index}`);
  return item;
}
