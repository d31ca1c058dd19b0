/** The type Token, and the queries that return it. */
import { isNativeOf, isNativePlaceholder } from '../../domain/addresses.js';
import { caip19Of } from '../../domain/caip.js';
import { CAN_FAIL, type Price, type Token } from '../../domain/listing.js';
import type { RouteAnswer } from '../../snapshots/routes.js';
import type { GatewayContext } from '../context.js';
import { type MaybePromise, NO_ROUTES, whenReady } from '../loaders.js';
import { CHAIN_KEY, TOKEN_ADDRESS, textWithin } from './arguments.js';
import { builder } from './builder.js';
import { ChainType, heldBackField } from './chain.js';
import { idOfToken } from './ids.js';
import { NodeType } from './node.js';

const PriceType = builder.objectRef<Price>('Price').implement({
  description:
    "A token's price and its time. The upstream sets one price for each symbol, so a token usually has the same price on every chain.",
  fields: (t) => ({
    usd: t.exposeFloat('usd', { description: 'US dollars for one whole token, not for its smallest unit.' }),
    asOf: t.field({
      type: 'DateTime',
      description:
        'When the gateway fetched the price, minus the time that it had spent in caches in front of the upstream. The upstream does not say when it set the price.',
      resolve({ asOf }, _args, { tracker }) {
        tracker.note('priceTimes');
        return asOf;
      },
    }),
  }),
});

export const TokenType = builder.objectRef<Token>('Token').implement({
  description:
    'A transferable asset on one chain, identified by `chainKey` and `address` together. Neither the address nor the symbol alone is unique.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque, stable id, unique in the whole graph. It does not depend on how the upstream writes a hex address.',
      resolve: idOfToken,
    }),
    isBridgeable: t.exposeBoolean('isBridgeable', {
      description:
        'Whether the upstream can transfer the token. False for liquidity-provider tokens and for some other assets, and if the upstream does not say.',
    }),
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain that the token is on.' }),
    address: t.exposeString('address', {
      description:
        'On-chain address as the upstream writes it; its format depends on the chain. Native assets usually have a placeholder (0xEeee…). Compare hex addresses ignoring letter case, and all others exactly.',
    }),
    decimals: t.exposeInt('decimals', {
      description:
        'Number of decimal places: a whole token is 10^decimals of its smallest unit. The same symbol can have other decimals on another chain.',
    }),
    symbol: t.exposeString('symbol', {
      description: 'Symbol, such as "USDC". Not unique; may be empty.',
    }),
    name: t.exposeString('name', { description: 'Full name for display; may be empty.' }),
    price: t.field({
      type: PriceType,
      nullable: true,
      description:
        'Price with its time; null if it is unknown, doubtful or too old, or if the token is held back.',
      resolve({ price }, _args, { tracker }) {
        tracker.note('prices');
        return price && tracker.isPriceFresh(price.asOf) ? price : null;
      },
    }),
    heldBack: t.field({
      ...heldBackField,
      description:
        'Facts of this token for which the upstream sends other values; empty for nearly all tokens. If there are any, the token is served with the values that were known before, and without a price. Before you move money, show the person both values and let them decide.',
    }),
    chain: t.field({
      type: ChainType,
      nullable: true,
      description:
        'The chain that the token is on. Null if the chain listing does not contain its `chainKey`; null with an error until there is a snapshot of the chain listing.',
      resolve: ({ chainKey }, _args, { loaders }) => loaders.chainByKey(chainKey),
    }),
    logoUrl: t.exposeString('logoUrl', {
      nullable: true,
      description:
        'URL of the logo (http or https); null if the upstream has none that is safe to load. The upstream chooses the URL, so load it only as an image.',
    }),
    caip19: t.string({
      nullable: true,
      description:
        'CAIP-19 identifier, such as `eip155:1/erc20:0xA0b8…`, with the address as the upstream writes it. Null for native assets, if no published profile fits the token, and if its chain is not listed or has no `caip2`; null with an error until there is a snapshot of the chain listing.',
      resolve: (token, _args, { loaders }) =>
        whenReady(loaders.chainByKey(token.chainKey), (chain) => caip19Of(chain, token)),
    }),
    isNative: t.boolean({
      description:
        "Whether the token is the native asset of its chain: its address is the placeholder or the address of the chain's `nativeCurrency`. Until there is a snapshot of the chain listing, only the placeholder counts.",
      resolve(token, _args, { loaders }) {
        if (isNativePlaceholder(token.address)) return true;
        const loading = loaders.chainByKey(token.chainKey);
        const chain = loading instanceof Promise ? loading.catch(() => null) : loading;
        return whenReady(chain, (loaded) => isNativeOf(loaded, token));
      },
    }),
  }),
});

builder.objectFields(ChainType, (t) => ({
  tokens: t.field({
    type: [TokenType],
    nullable: true,
    description:
      "The listed tokens on this chain, in the upstream's order; may be empty. Null with an error until there is a snapshot of the token listing.",
    resolve: ({ chainKey }, _args, { loaders, cost }, info) =>
      whenReady(loaders.tokensListed(chainKey), (tokens) => cost.chargeRows(tokens, info)),
  }),
  tokenCount: t.int({
    nullable: true,
    description:
      'Number of listed tokens on this chain. Null with an error until there is a snapshot of the token listing.',
    resolve: ({ chainKey }, _args, { loaders }) =>
      whenReady(loaders.tokensListed(chainKey), ({ length }) => length),
  }),
}));

/** The routes from a token that a client names. @param names of the two arguments, for messages @throws GatewayError */
export function routesOfPair(
  chainKey: string | undefined,
  address: string,
  loaders: GatewayContext['loaders'],
  names: readonly [string, string] = ['srcChainKey', 'srcToken'],
): MaybePromise<RouteAnswer> {
  const srcChainKey = textWithin('chainKey', names[0], chainKey);
  const srcToken = textWithin('address', names[1], address) ?? '';
  // With an empty parameter the upstream returns a whole listing, which is not a list of routes.
  return srcToken === '' || srcChainKey === '' ? NO_ROUTES : loaders.routesFrom({ srcChainKey, srcToken });
}

export const TokenKeyInput = builder.inputType('TokenKey', {
  description: 'Identifies one token: its chain and its address.',
  fields: (t) => ({
    chainKey: t.string({ required: true, description: CHAIN_KEY }),
    address: t.string({ required: true, description: TOKEN_ADDRESS }),
  }),
});

builder.queryFields((t) => ({
  tokens: t.field({
    type: [TokenType],
    nullable: true,
    description:
      "Tokens: all, those on one chain (`srcChainKey`), or those that one token can be moved to (`srcToken`). They are in the upstream's order, or in the operator's order of chains. An unknown key gives an empty list. Null with an error if the upstream cannot answer and the gateway has no earlier answer.",
    args: {
      srcChainKey: t.arg.string({
        description:
          '`chainKey`, in any letter case. Alone, it selects the tokens on this chain. With `srcToken`, it names the chain that this token is on and does not filter the result.',
      }),
      srcToken: t.arg.string({
        description: `Address of a token: selects the tokens that have a route from it, most of them on other chains. An address can exist on several chains, so give \`srcChainKey\` too; a value-transfer upstream requires it, and leaving it out is then BAD_USER_INPUT. Each listed token has the values of the token listing here, too. A row with other decimals than the listing is left out, because an amount with wrong decimals loses money; but a token with \`heldBack\` facts is served with its listed values. ${CAN_FAIL}`,
      }),
    },
    resolve(_query, args, { loaders, cost }, info) {
      const srcChainKey = args.srcChainKey ?? undefined;
      const found =
        args.srcToken == null
          ? loaders.tokensListed(srcChainKey)
          : whenReady(routesOfPair(srcChainKey, args.srcToken, loaders), ({ rows }) => rows);
      return whenReady(found, (tokens) => cost.chargeRows(tokens, info));
    },
  }),
  token: t.field({
    type: TokenType,
    nullable: true,
    description: 'The listed token with this address on this chain; null if it is unknown.',
    args: {
      chainKey: t.arg.string({ required: true, description: CHAIN_KEY }),
      address: t.arg.string({ required: true, description: TOKEN_ADDRESS }),
    },
    resolve: (_query, { chainKey, address }, { loaders }) => loaders.tokenByAddress(chainKey, address),
  }),
  tokensByKey: t.field({
    type: [TokenType],
    nullable: { list: false, items: true },
    description:
      'The listed tokens with these keys: one item per key, in the order of the keys, null if a key is unknown.',
    args: {
      keys: t.arg({
        type: [TokenKeyInput],
        required: true,
        description: 'Chain and address of each token; repeats are allowed.',
      }),
    },
    resolve: (_query, { keys }, { loaders, cost }, info) =>
      cost.chargeRows(keys, info).map(({ chainKey, address }) => loaders.tokenByAddress(chainKey, address)),
  }),
  tokensByCaip19: t.field({
    type: [TokenType],
    nullable: { list: false, items: true },
    description:
      'The listed tokens with these CAIP-19 identifiers: one item per identifier, in their order, null if an identifier is unknown or malformed.',
    args: {
      caip19s: t.arg.stringList({
        required: true,
        description:
          'CAIP-19 identifiers, such as "eip155:1/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"; repeats are allowed. Letter case does not matter in a hex address, and matters everywhere else.',
      }),
    },
    resolve: (_query, { caip19s }, { loaders, cost }, info) =>
      cost.chargeRows(caip19s, info).map((caip19) => loaders.tokenByCaip19(caip19)),
  }),
}));
