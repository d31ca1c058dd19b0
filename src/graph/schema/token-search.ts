/** The query that searches the tokens. */
import { CAN_FAIL, type Token } from '../../domain/listing.js';
import { TEXT_LIMITS } from '../../domain/text-limits.js';
import type { FoundTokens } from '../../search/did-you-mean.js';
import type { TokenOrder } from '../../search/token-order.js';
import type { TokenPage } from '../../search/token-search.js';
import { searchUnits } from '../cost.js';
import { whenReady } from '../loaders.js';
import { badInput, textsWithin, textWithin } from './arguments.js';
import { builder } from './builder.js';
import { elsewhere } from './destinations.js';
import { decodeCursor, encodeCursor } from './ids.js';
import { routesOfPair, TokenKeyInput, TokenType } from './token.js';

const TokenOrderType = builder.enumType('TokenOrder', {
  description: 'Order of the tokens found. Ties are sorted by symbol, chainKey and address.',
  values: {
    RELEVANCE: {
      description:
        'First the tokens whose symbol is a word of the query, then those whose whole name is in the query, then those whose symbol begins with a word, then all others. In each of these groups, better matches come first; if a word names a chain, its native asset comes before its other tokens. Equal matches are sorted by these values: bridgeable, priced, the number of bridgeable tokens on the chain, the number of chains that list the symbol (rounded down to a power of two). A native asset comes before the other tokens of its symbol on its chain. For a blank query, the number of chains that list the symbol comes first.',
    },
    SYMBOL: { description: 'By symbol, ignoring letter case.' },
    NAME: { description: 'By name, ignoring letter case.' },
    PRICE_DESC: { description: 'Highest price first; tokens without a price last.' },
    PRICE_ASC: { description: 'Lowest price first; tokens without a price last.' },
  } satisfies Record<TokenOrder, object>,
});

const TokenFilterInput = builder.inputType('TokenFilter', {
  description:
    'Tokens must match every condition given. A condition that is null or omitted matches everything; an empty list matches nothing.',
  fields: (t) => ({
    chainKeys: t.stringList({
      description:
        'Tokens on these chains, by whole `chainKey`; letter case does not matter. An unknown chainKey matches nothing; no error is raised.',
    }),
    chainTypes: t.stringList({
      description: 'Tokens on chains of these families, such as ["evm"]; letter case does not matter.',
    }),
    symbols: t.stringList({
      description:
        'Tokens with one of these whole symbols, which are compared as in a query: letter case does not matter, and USDT0 equals USD₮0.',
    }),
    isBridgeable: t.boolean({ description: 'Tokens with this value of `isBridgeable`.' }),
    isNative: t.boolean({ description: 'Tokens with this value of `isNative`.' }),
    hasPrice: t.boolean({ description: 'If true, tokens with a price; if false, tokens without one.' }),
    minPriceUsd: t.float({ description: 'Tokens with a price of at least this many US dollars.' }),
    maxPriceUsd: t.float({ description: 'Tokens with a price of at most this many US dollars.' }),
    reachableFrom: t.field({
      type: TokenKeyInput,
      description: `Tokens that this token can be moved to: the listed tokens among its \`destinations\`. If a fresh token listing lacks this token, no token matches; no error is raised. Routes that are not cached cost the upstream one request, which counts as one of the 10 such requests that an operation may cause. If that request fails and the gateway has no earlier answer, \`tokenSearch\` is null with the error of \`destinations\`. ${CAN_FAIL}`,
    }),
  }),
});

type Edge = { readonly page: TokenPage; readonly index: number; readonly node: Token };

const TokenEdgeType = builder.objectRef<Edge>('TokenEdge').implement({
  description: 'A token found, with its cursor.',
  fields: (t) => ({
    cursor: t.string({
      description:
        'Opaque position of this token in the order; pass it as `after` to get the tokens that follow.',
      resolve: ({ page, index }) => encodeCursor(page.sortKeyOf(index)),
    }),
    node: t.expose('node', { type: TokenType, description: 'The token at this position.' }),
  }),
});

const PageInfoType = builder.objectRef<TokenPage>('PageInfo').implement({
  description: 'Where a page begins and ends, and whether there are pages before and after it.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNext', { description: 'Whether more tokens follow this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPrevious', {
      description: 'Whether any tokens come before this page.',
    }),
    startCursor: t.string({
      nullable: true,
      description: 'Cursor of the first token on this page; null if the page is empty.',
      resolve: (page) => (page.tokens.length > 0 ? encodeCursor(page.sortKeyOf(0)) : null),
    }),
    endCursor: t.string({
      nullable: true,
      description:
        'Cursor of the last token on this page; pass it as `after` to get the next page. Null if the page is empty.',
      resolve: (page) =>
        page.tokens.length > 0 ? encodeCursor(page.sortKeyOf(page.tokens.length - 1)) : null,
    }),
  }),
});

const TokenConnectionType = builder.objectRef<FoundTokens>('TokenConnection').implement({
  description: "One page of the tokens found, as a connection of Relay's cursor specification.",
  fields: (t) => ({
    edges: t.field({
      type: [TokenEdgeType],
      description: 'The tokens of this page in order, each with its cursor.',
      resolve: (page, _args, { cost }, info) =>
        cost.chargeRows(page.tokens, info).map((node, index) => ({ page, index, node })),
    }),
    nodes: t.field({
      type: [TokenType],
      description: 'The tokens of this page in order: the nodes of `edges`, without cursors.',
      resolve: (page, _args, { cost }, info) => cost.chargeRows(page.tokens, info),
    }),
    didYouMean: t.stringList({
      description:
        'If nothing was found, up to three queries that find something under the same filter: with typos corrected, or with the symbol of a token in place of a word of its name. Otherwise empty. Show them as "Did you mean …?". Never run one automatically: it can find a different token. The suggestions cost as much as the search.',
      resolve(found, _args, { cost }) {
        if (found.totalCount > 0) return [];
        cost.spend(searchUnits(found.searchedCount, found.query));
        return found.didYouMean().filter(({ length }) => length <= TEXT_LIMITS.search);
      },
    }),
    pageInfo: t.field({
      type: PageInfoType,
      description: 'First and last cursor of this page, and whether there are more pages.',
      resolve: (page) => page,
    }),
    totalCount: t.exposeInt('totalCount', {
      description: 'Number of tokens found, on all pages together.',
    }),
  }),
});

/** Units for each character of a symbol in a filter: folding it into up to 18 letters takes a microsecond. */
const FOLDING_UNITS = 3;
const DEFAULT_FIRST = 20;
/** To read all tokens at once, clients have `tokens`. */
const MAX_FIRST = 100;

builder.queryField('tokenSearch', (t) =>
  t.field({
    type: TokenConnectionType,
    nullable: true,
    description:
      'Searches the listed tokens by text that a person types or pastes, one page at a time. While both listings (`listings { version }`) and the routes of `reachableFrom` stay the same, and no price becomes too old, paging on from `endCursor` returns every token found exactly once. If a listing changes between two pages, only tokens whose sort values changed can be repeated or missed. Null with an error until there is a snapshot of the token listing.',
    args: {
      query: t.arg.string({
        description:
          'Words from symbol, name and chain ("eth arb"). Each word may be a part of a symbol, or the start of a word in the name of a token or chain. A `chainId` ("8453") or a CAIP-2 identifier ("eip155:8453") also names its chain. A whole address or Move type, at least the first 6 hex digits of an address ("0x833589"), the start and end of an address ("0x8335…2913") and a CAIP-19 identifier match only addresses. A token must match all words; letter case, accents and full-width letters do not matter. Punctuation and filler words ("on", "coin") are ignored if nothing matches with them, or if the other words alone name a symbol ("eth coin" finds ETH). If there is still no match, "eth" also finds the chains whose native currency is ETH. Blank matches all tokens; more than 8 words or 200 characters are an error, BAD_USER_INPUT.',
      }),
      filter: t.arg({
        type: TokenFilterInput,
        description: 'Conditions on the tokens found; null matches all tokens.',
      }),
      orderBy: t.arg({ type: TokenOrderType, description: 'Order of the tokens; null means RELEVANCE.' }),
      first: t.arg.int({
        defaultValue: DEFAULT_FIRST,
        description: 'Maximum number of tokens on the page, from 1 to 100; null means 20.',
      }),
      after: t.arg.string({
        description:
          'Return tokens after this cursor, taken from an earlier page of the same search. A cursor from another search with the same `orderBy` is accepted, but can skip tokens. Null starts with the first page.',
      }),
    },
    resolve(_query, { query, filter, orderBy, first, after }, { loaders, tracker, cost }) {
      // Most orders and some filters read prices. The few other searches are treated as if they read prices, too.
      tracker.note('prices');
      const { reachableFrom: source, ...conditions } = filter ?? {};
      const symbols = textsWithin('symbol', 'filter.symbols', conditions.symbols);
      cost.spend(FOLDING_UNITS * (symbols?.join('').length ?? 0));
      const order = orderBy ?? 'RELEVANCE';
      const text = textWithin('search', 'query', query) ?? '';
      const size = first ?? DEFAULT_FIRST;
      if (size < 1 || size > MAX_FIRST) throw badInput(`Expected 1 to ${MAX_FIRST} as "first", got ${size}.`);
      const position = after == null ? undefined : decodeCursor(after, order);
      const request = { query: text, order, first: size, after: position };
      textsWithin('chainKey', 'filter.chainKeys', conditions.chainKeys);
      textsWithin('chainType', 'filter.chainTypes', conditions.chainTypes);
      if (!source) return loaders.tokenSearch({ ...request, filter: conditions });
      return whenReady(routesOfPair(source.chainKey, source.address, loaders, SOURCE_NAMES), ({ rows }) => {
        cost.spend(rows.length);
        const reachable = new Set(elsewhere(source.chainKey, rows));
        return loaders.tokenSearch({ ...request, filter: { ...conditions, reachable } });
      });
    },
  }),
);

const SOURCE_NAMES = ['filter.reachableFrom.chainKey', 'filter.reachableFrom.address'] as const;
