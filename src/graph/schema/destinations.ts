/** The queries for the tokens that a token can be moved to, and for those that can be moved to it. */
import { foldChainKey } from '../../domain/addresses.js';
import { groupBy } from '../../domain/keyed-rows.js';
import { CAN_FAIL, type Token } from '../../domain/listing.js';
import type { RouteAnswer } from '../../snapshots/routes.js';
import type { TokenSources } from '../../snapshots/sources.js';
import { whenReady } from '../loaders.js';
import { TOKEN_ADDRESS, textWithin } from './arguments.js';
import { builder } from './builder.js';
import { ChainType } from './chain.js';
import { routesOfPair, TokenType } from './token.js';

type ChainDestinations = ReturnType<typeof groupByChain>[number];

const ChainDestinationsType = builder.objectRef<ChainDestinations>('ChainDestinations').implement({
  description: 'The tokens on one chain that a token can be moved to, or from.',
  fields: (t) => ({
    chainKey: t.exposeString('chainKey', {
      description: '`chainKey` of the chain that these tokens are on.',
    }),
    chain: t.field({
      type: ChainType,
      nullable: true,
      description:
        'The chain that these tokens are on. Null if the chain listing does not contain its `chainKey`; null with an error until there is a snapshot of the chain listing.',
      resolve: ({ chainKey }, _args, { loaders }) => loaders.chainByKey(chainKey),
    }),
    tokens: t.field({
      type: [TokenType],
      description:
        "The tokens; never an empty list. Destinations are in the upstream's order, and the tokens of `sources` are sorted by address.",
      resolve: ({ tokens }, _args, { cost }, info) => cost.chargeRows(tokens, info),
    }),
    asOf: t.expose('asOf', {
      type: 'DateTime',
      nullable: true,
      description:
        'When these routes were fetched, minus the time that they had spent in caches in front of the upstream. In `sources`, it is the time of the oldest of these routes. Null if unknown.',
    }),
  }),
});

builder.objectField(TokenType, 'destinations', (t) =>
  t.field({
    type: [ChainDestinationsType],
    nullable: true,
    description: `The tokens on other chains that this token can be moved to, grouped by chain, as \`Query.destinations\` gives them, but empty if this token is not listed. Select this field on one chosen token, not on a list: every distinct token whose routes are not cached costs the upstream a request. One operation can cause at most 10 such requests; for further tokens the field is null with the error code ROUTE_BUDGET_EXCEEDED. ${CAN_FAIL}`,
    resolve: ({ chainKey, address }, _args, { loaders, cost }, info) =>
      whenReady(loaders.routesFrom({ srcChainKey: chainKey, srcToken: address }), (routes) =>
        cost.chargeRows(groupsElsewhere(chainKey, routes), info),
      ),
  }),
);

builder.queryField('destinations', (t) =>
  t.field({
    type: [ChainDestinationsType],
    nullable: true,
    description: `The tokens that a token can be moved to, grouped by chain: the result of \`tokens\` with the same two arguments, without tokens on the source chain unless \`includeSourceChain\` is true. Empty for a token without routes; null without an error if a fresh token listing lacks the token. The rows agree with the token listing: each listed token has its listed values here, too. A row with other decimals than the listing is left out, because an amount with wrong decimals loses money; a token with \`heldBack\` facts is served with its listed values. ${CAN_FAIL} Null with an error if the upstream cannot answer and the gateway has no earlier answer.`,
    args: {
      srcChainKey: t.arg.string({
        required: true,
        description: '`chainKey` of the chain that the source token is on; letter case does not matter.',
      }),
      srcToken: t.arg.string({ required: true, description: TOKEN_ADDRESS }),
      includeSourceChain: t.arg.boolean({
        defaultValue: false,
        description: 'Whether to include tokens on the source chain itself; null means false.',
      }),
    },
    resolve(_query, { srcChainKey, srcToken, includeSourceChain }, { loaders, cost }, info) {
      return whenReady(routesOfPair(srcChainKey, srcToken, loaders), (routes) => {
        if (routes.isUnlisted) return null;
        const groups = includeSourceChain
          ? groupByChain(routes.rows, () => routes.takenAt)
          : groupsElsewhere(srcChainKey, routes);
        return cost.chargeRows(groups, info);
      });
    },
  }),
);

export function elsewhere(srcChainKey: string, tokens: readonly Token[]): readonly Token[] {
  const source = foldChainKey(srcChainKey);
  return tokens.filter(({ chainKey }) => chainKey !== source);
}

const groupsOfRoutes = new WeakMap<RouteAnswer, readonly ChainDestinations[]>();

/** Groups each answer once, because an operation can select the destinations of one token a thousand times. */
function groupsElsewhere(srcChainKey: string, routes: RouteAnswer): readonly ChainDestinations[] {
  const known = groupsOfRoutes.get(routes);
  const groups = known ?? groupByChain(elsewhere(srcChainKey, routes.rows), () => routes.takenAt);
  groupsOfRoutes.set(routes, groups);
  return groups;
}

/** @param asOf when the routes to these tokens were fetched (milliseconds since 1970); null if unknown */
function groupByChain(rows: readonly Token[], asOf: (tokens: readonly Token[]) => number | null) {
  const groups = groupBy(rows, ({ chainKey }) => chainKey);
  return [...groups].map(([chainKey, tokens]) => ({ chainKey, tokens, asOf: asOf(tokens) }));
}

/** Units for sorting one token, which takes about a microsecond. */
const UNITS_OF_SOURCE = 3;
/** To read this many pairs of token and destination takes as long as to sort one token. */
const PAIRS_LOOKED_AT = 1_000;

const TokenSourcesType = builder.objectRef<TokenSources>('TokenSources').implement({
  description:
    "The tokens that can be moved to one token: the upstream's destinations, inverted. A route in one direction does not imply a route back.",
  fields: (t) => ({
    chains: t.field({
      type: [ChainDestinationsType],
      description:
        "The listed, bridgeable tokens with this token among their destinations, grouped by chain. The tokens are in the operator's order of chains, then sorted by `chainKey` and `address`. Empty if no listed token is known to have a route to this token. Sources on the chain of the token itself are included.",
      resolve(sources, _args, { cost }, info) {
        cost.spend(UNITS_OF_SOURCE * Math.ceil(sources.pairs / PAIRS_LOOKED_AT));
        const rows = sources.rows();
        cost.spend(UNITS_OF_SOURCE * rows.length);
        return cost.chargeRows(groupByChain(rows, sources.oldestOf), info);
      },
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether the routes of every bridgeable token are known. While it is false, there may be more sources.',
    }),
    asOf: t.expose('asOf', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the oldest known routes were fetched, minus their time in caches in front of the upstream. Null if there is no bridgeable token.',
    }),
  }),
});

builder.queryField('sources', (t) =>
  t.field({
    type: TokenSourcesType,
    nullable: true,
    description: `The tokens that can be moved to a token. The result is computed from the destinations of all bridgeable tokens, which the gateway collects in the background if ROUTES_SWEEP_MS is set or demo data is served. This query itself requests no routes. Null without an error if the gateway does not collect destinations; null with an error until the first destinations are known. ${CAN_FAIL}`,
    args: {
      dstChainKey: t.arg.string({
        required: true,
        description: '`chainKey` of the chain that the token is on.',
      }),
      dstToken: t.arg.string({ required: true, description: TOKEN_ADDRESS }),
    },
    resolve(_query, { dstChainKey, dstToken }, { loaders }) {
      const chainKey = textWithin('chainKey', 'dstChainKey', dstChainKey) ?? '';
      const address = textWithin('address', 'dstToken', dstToken) ?? '';
      return loaders.sourcesOf(chainKey, address);
    },
  }),
);
