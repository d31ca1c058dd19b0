/** The query for the tokens that can be moved to a token. */
import { CAN_FAIL } from '../../domain/listing.js';
import type { TokenSources } from '../../snapshots/sources.js';
import { TOKEN_ADDRESS, textWithin } from './arguments.js';
import { builder } from './builder.js';
import { ChainDestinationsType, groupByChain } from './destinations.js';

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
        const groups = groupByChain(rows, null).map((group) => ({
          ...group,
          asOf: sources.oldestOf(group.tokens),
        }));
        return cost.chargeRows(groups, info);
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
        'When the oldest known routes of any bridgeable token were fetched, minus the time that they had spent in caches in front of the upstream. Null if there is no bridgeable token.',
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
