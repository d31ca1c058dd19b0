import type { TokenSources } from '../../snapshots/sources/sources.js';
import { whenReady } from '../maybe-promise.js';
import { textWithin } from './arguments.js';
import { builder } from './builder.js';
import { ChainDestinationsType, groupByChain } from './destinations.js';

/** To order one token takes about a microsecond, */
const UNITS_OF_SOURCE = 3;
/** and so does looking at so many pairs of a token and a destination. */
const PAIRS_LOOKED_AT = 1_000;

const TokenSourcesType = builder.objectRef<TokenSources>('TokenSources').implement({
  description:
    "The tokens that can be moved to one token: the upstream's answers about destinations, turned round. Nothing is assumed to go both ways.",
  fields: (t) => ({
    chains: t.field({
      type: [ChainDestinationsType],
      description:
        'The listed, bridgeable tokens that have it among their destinations, grouped by chain, in the order that the operator gives the chains, then of `chainKey` and `address`; empty if none is known. Tokens on its own chain are included.',
      resolve(sources, _args, { cost }, info) {
        cost.spend(UNITS_OF_SOURCE * Math.ceil(sources.pairs / PAIRS_LOOKED_AT));
        const rows = sources.rows();
        cost.spend(UNITS_OF_SOURCE * rows.length);
        return cost.admitRows(groupByChain(rows, sources.oldestOf), info);
      },
    }),
    isComplete: t.exposeBoolean('isComplete', {
      description:
        'Whether the routes of every bridgeable token are known. While it is false, there may be more sources.',
    }),
    asOf: t.field({
      type: 'DateTime',
      nullable: true,
      description:
        'When the oldest of the answers was fetched that this is made from, less the time that caches in front of the upstream had held it; null if there is no bridgeable token.',
      resolve({ asOf }, _args, { tracker }) {
        tracker.note('routeTimes');
        return asOf;
      },
    }),
  }),
});

builder.queryField('sources', (t) =>
  t.field({
    type: TokenSourcesType,
    nullable: true,
    description:
      'The tokens that can be moved to a token. It is answered from what the gateway knows and never asks the upstream: the gateway asks for the destinations of all bridgeable tokens in the background, if it is set up to (ROUTES_SWEEP_MS). Null without an error if it is not; null with an error while no answer is known. The set is optimistic: only a quote shows that a route works.',
    args: {
      dstChainKey: t.arg.string({
        required: true,
        description: '`chainKey` of the chain that the token is on.',
      }),
      dstToken: t.arg.string({
        required: true,
        description:
          'Address of the token. Letter case and zeros at the start do not matter in hex. The zero address and the native placeholder (0xEeee…) are equal.',
      }),
    },
    resolve(_query, { dstChainKey, dstToken }, { loaders }) {
      const chainKey = textWithin('chainKey', 'dstChainKey', dstChainKey) ?? '';
      const address = textWithin('address', 'dstToken', dstToken) ?? '';
      return whenReady(loaders.sourcesOf(chainKey, address), (sources) => sources);
    },
  }),
);
