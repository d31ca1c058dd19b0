import { isNativeOf, isNativePlaceholder } from '../../domain/addresses.js';
import type { Price, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { countByChain, NO_ROWS, type RowsByChain, tokensOfChains, withCost } from '../cost/cost.js';
import { builder } from './builder.js';
import { ChainType } from './chain.js';
import { NodeType } from './node.js';
import { atMost } from './values/arguments.js';
import { idOfToken } from './values/ids.js';

const PriceType = builder.objectRef<Price>('Price').implement({
  description:
    "A token's price with the time it is from. It comes from a feed per symbol, so it is the same on every chain.",
  fields: (t) => ({
    usd: t.exposeFloat('usd', { description: 'US dollars for one whole token (not for its smallest part).' }),
    asOf: t.field({
      type: 'DateTime',
      description: 'When the gateway fetched it; the upstream itself puts no time on prices.',
      resolve({ asOf }, _args, { tracker }) {
        tracker.times = true;
        return asOf;
      },
    }),
  }),
});

/** Token in the graph. */
export const TokenType = builder.objectRef<Token>('Token').implement({
  description:
    'A transferable asset on one chain. Its identity is `chainKey` and `address` together; neither the address nor the symbol alone is unique.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque id, unique in the whole graph and stable, whatever letter case the address is written in.',
      resolve: idOfToken,
    }),
    isBridgeable: t.exposeBoolean('isBridgeable', {
      description:
        'Whether the upstream lets it be moved. False for liquidity-provider tokens, and for some assets of other kinds.',
    }),
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain that it lives on.' }),
    address: t.exposeString('address', {
      description:
        'On-chain address as the upstream writes it, its format by chain. Native assets have a placeholder (0xEeee…). Compare hex addresses without regard to case, all others exactly.',
    }),
    decimals: t.exposeInt('decimals', {
      description:
        'Decimal places of an amount: 1 unit is 10^decimals of the smallest parts. Differs by chain for one symbol.',
    }),
    symbol: t.exposeString('symbol', {
      description: 'Symbol, such as "USDC"; not unique, and may be empty.',
    }),
    name: t.exposeString('name', { description: 'Full name for showing; may be empty.' }),
    price: t.field({
      type: PriceType,
      nullable: true,
      description: 'Price with its time; null when it is unknown or too old to be believed.',
      resolve({ price }, _args, { tracker, isPriceFresh }) {
        tracker.prices = true;
        return price && isPriceFresh(price.asOf) ? price : null;
      },
    }),
    chain: t.field({
      type: ChainType,
      nullable: true,
      description:
        'The chain that it lives on; null when the chain listing does not have its `chainKey`, and, with an error, before there is a chain listing.',
      resolve: ({ chainKey }, _args, { loaders }) => loaders.chainByKey(chainKey),
    }),
    logoUrl: t.exposeString('logoUrl', {
      nullable: true,
      description:
        'Address of a picture of it, over http or https; null where the upstream has none. The upstream chose it: load it as a picture and as nothing else.',
    }),
    isNative: t.boolean({
      description:
        "Whether it is its chain's native asset: its address is the placeholder, or the address of the chain's `nativeCurrency` (which is not known before there is a chain listing).",
      resolve(token, _args, { loaders }) {
        if (isNativePlaceholder(token.address)) return true;
        const chain = loaders.chainByKey(token.chainKey);
        if (!(chain instanceof Promise)) return isNativeOf(chain, token);
        return chain.then(
          (loaded) => isNativeOf(loaded, token),
          () => false,
        );
      },
    }),
  }),
});

builder.objectField(TokenType, 'destinations', (t) =>
  t.field({
    type: [TokenType],
    nullable: true,
    description:
      'What this token can be moved to on other chains. Costs the upstream one request for each distinct token whose answer is not at hand, of which one operation may cause few: beyond them it is null with the code ROUTE_BUDGET_EXCEEDED. Ask it of a chosen token, not of a list. The set is optimistic: only a quote shows that a route works.',
    extensions: withCost({ rows: () => NO_ROWS }),
    resolve({ chainKey, address }, _args, { loaders, cost }, info) {
      const routes = loaders.routesFrom({ srcChainKey: chainKey, srcToken: address });
      return routes?.then((tokens) => {
        const destinations = tokens.filter((token) => token.chainKey !== chainKey);
        return cost.admitRows(rowsOf(destinations), info) ? destinations : [];
      });
    },
  }),
);

builder.objectFields(ChainType, (t) => ({
  tokens: t.field({
    type: [TokenType],
    nullable: true,
    description:
      "The listed tokens of this chain in the upstream's order, perhaps none. Null, with an error, before there is a token listing.",
    extensions: withCost({ rows: tokensOfChains }),
    resolve: ({ chainKey }, _args, { loaders }) => loaders.tokensByChain(chainKey),
  }),
  tokenCount: t.int({
    nullable: true,
    description:
      'How many tokens are listed on this chain. Null, with an error, before there is a token listing.',
    resolve: ({ chainKey }, _args, { loaders }) => loaders.tokenCountByChain(chainKey),
  }),
}));

/** No key of anything is longer. */
const MAX_KEY_LENGTH = 512;

function rowsOf(tokens: readonly Token[]): RowsByChain {
  return countByChain(tokens.map(({ chainKey }) => chainKey));
}

/**
 * The upstream's own answer to a pair that a client gave; null once too many of these were refused.
 *
 * @throws GatewayError
 */
export function routesOfPair(
  chainKey: string | undefined,
  address: string,
  { routesFrom }: GatewayContext['loaders'],
): Promise<readonly Token[]> | readonly Token[] | null {
  const srcChainKey = atMost(MAX_KEY_LENGTH, 'srcChainKey', chainKey);
  const srcToken = atMost(MAX_KEY_LENGTH, 'srcToken', address) ?? '';
  // An empty parameter would ask the upstream for a whole listing, and pass that off as routes.
  return srcToken === '' || srcChainKey === '' ? [] : routesFrom({ srcChainKey, srcToken });
}

const TokenKeyInput = builder.inputType('TokenKey', {
  description: 'The identity of a token.',
  fields: (t) => ({
    chainKey: t.string({ required: true, description: 'Exact `chainKey`, such as "ethereum".' }),
    address: t.string({
      required: true,
      description:
        'Its address. Letter case does not matter where the whole address is hex; the zero address and the native placeholder stand for each other.',
    }),
  }),
});

builder.queryFields((t) => ({
  tokens: t.field({
    type: [TokenType],
    nullable: true,
    description:
      "The upstream's token operation. Without arguments the whole listing, with `srcChainKey` the tokens on that chain, with `srcToken` the tokens that can be reached from that one, most of them on other chains. Rows agree with the token listing: a listed token is as listed, and a row that gives it other decimals is left out, since one of the two is wrong and an amount calculated with it is lost. In the upstream's order; an unknown key gives an empty list. Null, with an error, when the answer cannot be had.",
    args: {
      srcChainKey: t.arg.string({
        description:
          '`chainKey`: alone, keeps the tokens on this chain; with `srcToken`, says which chain that token lives on, and keeps nothing out.',
      }),
      srcToken: t.arg.string({
        description:
          'Address of a token: asks for the tokens that have a route from it. One address can live on several chains, so give `srcChainKey` too; without it a value-transfer upstream cannot be asked, and the answer is BAD_USER_INPUT. The set is optimistic: only a quote shows that a route works.',
      }),
    },
    extensions: withCost({
      rows(input) {
        const { srcChainKey, srcToken } = input.args;
        if (srcToken != null) return NO_ROWS;
        if (srcChainKey == null) return input.tokens();
        return tokensOfChains({ ...input, parents: countByChain([String(srcChainKey)]) });
      },
    }),
    async resolve(_query, args, { loaders, cost }, info) {
      const srcChainKey = args.srcChainKey ?? undefined;
      if (args.srcToken == null) return loaders.tokensListed(srcChainKey);
      const tokens = await routesOfPair(srcChainKey, args.srcToken, loaders);
      return tokens && (cost.admitRows(rowsOf(tokens), info) ? tokens : []);
    },
  }),
  token: t.field({
    type: TokenType,
    nullable: true,
    description: 'The listed token at this address on this chain; null when it is unknown.',
    args: {
      chainKey: t.arg.string({ required: true, description: 'Exact `chainKey`, such as "ethereum".' }),
      address: t.arg.string({
        required: true,
        description:
          'Its address. Letter case does not matter where the whole address is hex; the zero address and the native placeholder stand for each other.',
      }),
    },
    extensions: withCost({ rows: ({ args }) => countByChain([String(args.chainKey)]) }),
    resolve: (_query, { chainKey, address }, { loaders }) => loaders.tokenByAddress(chainKey, address),
  }),
  tokensByKey: t.field({
    type: [TokenType],
    nullable: { list: false, items: true },
    description:
      'The listed tokens with these keys: one item for each, in the order asked, null where it is unknown.',
    args: {
      keys: t.arg({
        type: [TokenKeyInput],
        required: true,
        description: 'Chain and address of each; each may come more than once.',
      }),
    },
    extensions: withCost({
      rows: ({ args }) =>
        countByChain(((args.keys ?? []) as readonly { chainKey: string }[]).map(({ chainKey }) => chainKey)),
    }),
    resolve: (_query, { keys }, { loaders }) =>
      keys.map(({ chainKey, address }) => loaders.tokenByAddress(chainKey, address)),
  }),
}));
