import { GatewayError } from '../../domain/errors.js';
import type { Token } from '../../domain/listing.js';
import type { TokenOrder } from '../../search/token-order.js';
import type { TokenPage } from '../../search/token-search.js';
import { countByChain, NO_ROWS, searchUnits, totalRows, withCost } from '../cost/cost.js';
import { builder } from './builder.js';
import { TokenType } from './token.js';
import { atMost } from './values/arguments.js';
import { decodeCursor, encodeCursor } from './values/cursors.js';

const TokenOrderType = builder.enumType('TokenOrder', {
  description:
    'What found tokens are ordered by. What is equal in it is ordered by symbol, chainKey and address, so that the order is always the same.',
  values: {
    RELEVANCE: {
      description:
        'Tokens whose symbol is what was searched for, then those whose symbol begins with it, then the rest; among each of these, bridgeable and priced ones first.',
    },
    SYMBOL: { description: 'By symbol, whatever its letter case.' },
    NAME: { description: 'By name, whatever its letter case.' },
    PRICE_DESC: { description: 'The highest price first; tokens without a price last.' },
    PRICE_ASC: { description: 'The lowest price first; tokens without a price last.' },
  } satisfies Record<TokenOrder, object>,
});

const TokenFilterInput = builder.inputType('TokenFilter', {
  description:
    'Keeps the tokens of which all that is given holds. What is null or left out keeps all, and an empty list none.',
  fields: (t) => ({
    chainKeys: t.stringList({
      description: 'On one of these chains, by exact `chainKey`; unknown ones keep none.',
    }),
    chainTypes: t.stringList({ description: 'On a chain of one of these families, in any letter case.' }),
    symbols: t.stringList({ description: 'With one of these symbols, whole and in any letter case.' }),
    isBridgeable: t.boolean({ description: 'With this `isBridgeable`.' }),
    isNative: t.boolean({ description: 'With this `isNative`.' }),
    hasPrice: t.boolean({ description: 'With a price if true, without one if false.' }),
    minPriceUsd: t.float({ description: 'With a price of at least so many US dollars.' }),
    maxPriceUsd: t.float({ description: 'With a price of at most so many US dollars.' }),
  }),
});

interface Edge {
  readonly page: TokenPage;
  readonly index: number;
  readonly node: Token;
}

const TokenEdgeType = builder.objectRef<Edge>('TokenEdge').implement({
  description: 'A found token with its place in the order.',
  fields: (t) => ({
    cursor: t.string({
      description: 'The place of this token: as `after` it gives what comes behind. Opaque.',
      resolve: ({ page, index }) => encodeCursor(page.sortKeyOf(index)),
    }),
    node: t.expose('node', { type: TokenType, description: 'The token that stands there.' }),
  }),
});

const PageInfoType = builder.objectRef<TokenPage>('PageInfo').implement({
  description: 'Where a page begins and ends, and what is before and behind it.',
  fields: (t) => ({
    hasNextPage: t.exposeBoolean('hasNext', { description: 'Whether more comes behind this page.' }),
    hasPreviousPage: t.exposeBoolean('hasPrevious', {
      description: 'Whether anything comes before this page.',
    }),
    startCursor: t.string({
      nullable: true,
      description: 'Cursor of the first token on this page; null where it has none.',
      resolve: (page) => (page.tokens.length > 0 ? encodeCursor(page.sortKeyOf(0)) : null),
    }),
    endCursor: t.string({
      nullable: true,
      description:
        'Cursor of the last token on this page, to be given as `after` for the next; null where it has none.',
      resolve: (page) =>
        page.tokens.length > 0 ? encodeCursor(page.sortKeyOf(page.tokens.length - 1)) : null,
    }),
  }),
});

const TokenConnectionType = builder.objectRef<TokenPage>('TokenConnection').implement({
  description: "A page of found tokens, after Relay's specification of cursor connections.",
  fields: (t) => ({
    edges: t.field({
      type: [TokenEdgeType],
      description: 'The tokens of this page in their order, each with its cursor.',
      extensions: withCost({ rows: () => NO_ROWS }),
      resolve(page, _args, { cost }, info) {
        const rows = countByChain(page.tokens.map(({ chainKey }) => chainKey));
        return cost.admitRows(rows, info) ? page.tokens.map((node, index) => ({ page, index, node })) : [];
      },
    }),
    pageInfo: t.field({
      type: PageInfoType,
      description: 'How to go on.',
      resolve: (page) => page,
    }),
    totalCount: t.exposeInt('totalCount', {
      description: 'How many tokens were found, on all pages together.',
    }),
  }),
});

const DEFAULT_FIRST = 20;
const MAX_FIRST = 100;
const MAX_QUERY_LENGTH = 200;
const MAX_FILTER_ITEMS = 500;

builder.queryField('tokenSearch', (t) =>
  t.field({
    type: TokenConnectionType,
    nullable: true,
    description:
      'Finds listed tokens by what a person types or pastes, a page at a time. A cursor marks a place in the order: while both listings stay as they are (`listings { version }`) and prices do not grow too old, going on from `endCursor` gives each token exactly once; across such a change only tokens whose place in the order moved can come twice or not at all. Null, with an error, before there is a token listing.',
    args: {
      query: t.arg.string({
        description:
          'Words, or parts of words, of symbol, name and chain ("eth arb"), or a whole address. Keeps what has all of them; letter case, accents and the width of letters do not matter. Blank keeps all; more than 8 words are BAD_USER_INPUT. Where nothing is found so, words that name nothing ("on", "token") and marks between words are passed over, and then a chain is also meant by the symbol of its native currency.',
      }),
      filter: t.arg({
        type: TokenFilterInput,
        description: 'What to keep of what is found; null keeps all.',
      }),
      orderBy: t.arg({ type: TokenOrderType, description: 'The order; null is RELEVANCE.' }),
      first: t.arg.int({
        defaultValue: DEFAULT_FIRST,
        description: 'How many tokens the page has at most: 1 to 100, and 20 where it is null.',
      }),
      after: t.arg.string({
        description:
          'Cursor behind which the page begins; null is the beginning. From a page of the same search: behind one of another search begins another part of the order, and what comes before it is left out.',
      }),
    },
    extensions: withCost({
      units: ({ args, tokens }) => searchUnits(totalRows(tokens()), args.query),
    }),
    resolve(_query, { query, filter, orderBy, first, after }, { loaders, tracker }) {
      // Whether a token has a price is part of each order.
      tracker.prices = true;
      const order = orderBy ?? 'RELEVANCE';
      return loaders.tokenSearch({
        query: atMost(MAX_QUERY_LENGTH, 'query', query) ?? '',
        filter: {
          chainKeys: atMost(MAX_FILTER_ITEMS, 'filter.chainKeys', filter?.chainKeys),
          chainTypes: atMost(MAX_FILTER_ITEMS, 'filter.chainTypes', filter?.chainTypes),
          symbols: atMost(MAX_FILTER_ITEMS, 'filter.symbols', filter?.symbols),
          isBridgeable: filter?.isBridgeable ?? undefined,
          isNative: filter?.isNative ?? undefined,
          hasPrice: filter?.hasPrice ?? undefined,
          minPriceUsd: filter?.minPriceUsd ?? undefined,
          maxPriceUsd: filter?.maxPriceUsd ?? undefined,
        },
        order,
        first: pageSize(first ?? DEFAULT_FIRST),
        after: after == null ? undefined : decodeCursor(after, order),
      });
    },
  }),
);

function pageSize(first: number): number {
  if (first >= 1 && first <= MAX_FIRST) return first;
  throw new GatewayError('BAD_USER_INPUT', `Expected 1 to ${MAX_FIRST} as "first", got ${first}.`);
}
