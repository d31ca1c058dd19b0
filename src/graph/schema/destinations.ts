import type { Token } from '../../domain/listing.js';
import { countByChain, NO_ROWS, withCost } from '../cost/cost.js';
import { builder } from './builder.js';
import { ChainType } from './chain.js';
import { routesOfPair, TokenType } from './token.js';

interface ChainDestinations {
  readonly chainKey: string;
  readonly tokens: readonly Token[];
}

const ChainDestinationsType = builder.objectRef<ChainDestinations>('ChainDestinations').implement({
  description: 'The tokens on one chain that a token can be moved to.',
  fields: (t) => ({
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain that they live on.' }),
    chain: t.field({
      type: ChainType,
      nullable: true,
      description:
        'That chain; null when the chain listing does not have its `chainKey`, and, with an error, before there is a chain listing.',
      resolve: ({ chainKey }, _args, { loaders }) => loaders.chainByKey(chainKey),
    }),
    tokens: t.field({
      type: [TokenType],
      description: "The tokens, at least one, in the upstream's order.",
      extensions: withCost({ rows: () => NO_ROWS }),
      resolve: ({ chainKey, tokens }, _args, { cost }, info) =>
        cost.admitRows(new Map([[chainKey, tokens.length]]), info) ? tokens : [],
    }),
  }),
});

builder.queryField('destinations', (t) =>
  t.field({
    type: [ChainDestinationsType],
    nullable: true,
    description:
      'Where a token can be moved to, by chain: what `tokens` answers to the same pair, grouped. An unknown token gives an empty list. Rows agree with the token listing: a listed token is as listed, and a row that gives it other decimals is left out, since one of the two is wrong and an amount calculated with it is lost. The set is optimistic: only a quote shows that a route works. Null, with an error, when the answer cannot be had.',
    args: {
      srcChainKey: t.arg.string({
        required: true,
        description: '`chainKey` of the chain that the token is on.',
      }),
      srcToken: t.arg.string({
        required: true,
        description:
          'Its address. Letter case does not matter where the whole address is hex; the zero address and the native placeholder stand for each other.',
      }),
      includeSourceChain: t.arg.boolean({
        defaultValue: false,
        description: 'Whether tokens on the source chain itself are given, too; null is false.',
      }),
    },
    extensions: withCost({ rows: () => NO_ROWS }),
    async resolve(_query, { srcChainKey, srcToken, includeSourceChain }, { loaders, cost }, info) {
      const tokens = await routesOfPair(srcChainKey, srcToken, loaders);
      if (!tokens) return null;
      const groups = groupByChain(tokens).filter(
        ({ chainKey }) => includeSourceChain || chainKey !== srcChainKey,
      );
      return cost.admitRows(countByChain(groups.map(({ chainKey }) => chainKey)), info) ? groups : [];
    },
  }),
);

/** The chains in the order of their first tokens. */
function groupByChain(tokens: readonly Token[]): readonly ChainDestinations[] {
  const groups = new Map<string, Token[]>();
  for (const token of tokens) {
    const group = groups.get(token.chainKey);
    if (group) group.push(token);
    else groups.set(token.chainKey, [token]);
  }
  return [...groups].map(([chainKey, grouped]) => ({ chainKey, tokens: grouped }));
}
