/** The type Chain, the field `heldBack` of chains and tokens, and the queries that return chains. */
import type { Chain, HeldBackFact, NativeCurrency } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { whenReady } from '../loaders.js';
import { textsWithin, textWithin } from './arguments.js';
import { builder } from './builder.js';
import { idOfChain } from './ids.js';
import { NodeType } from './node.js';

const NativeCurrencyType = builder.objectRef<NativeCurrency>('NativeCurrency').implement({
  description: 'The currency in which a chain charges fees.',
  fields: (t) => ({
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain with this currency.' }),
    name: t.exposeString('name', { description: 'Full name, such as "Ether"; may be empty.' }),
    symbol: t.exposeString('symbol', { description: 'Symbol, such as "ETH"; not unique, and may be empty.' }),
    decimals: t.exposeInt('decimals', {
      description:
        'Number of decimal places: a whole unit, such as 1 ETH, is 10^decimals of the smallest unit.',
    }),
    address: t.exposeString('address', {
      description:
        'Address that stands for the currency in token lists, as the upstream writes it. This address is usually a placeholder (0xEeee…) without a contract.',
    }),
  }),
});

const HeldBackFactType = builder.objectRef<HeldBackFact>('HeldBackFact').implement({
  description:
    'A fact of a chain or token for which the upstream sends another value than the gateway serves. Such a fact does not change by itself, and a wrong value costs money. So the value that was known before is served until the new one is confirmed: by the operator, or because the upstream has repeated it for a day (or for another time that the operator has set).',
  fields: (t) => ({
    fact: t.exposeString('fact', {
      description:
        'The name of the fact: "decimals", "symbol" or "address" of a token; "chainId", "chainType" or "nativeCurrency" of a chain. The set is open: treat unknown names like these.',
    }),
    served: t.exposeString('served', {
      description: 'The value that is served. A number is written as text.',
    }),
    upstream: t.exposeString('upstream', {
      description:
        'The value that the upstream sends now; several values are joined by "and". For "address", it is the address of the token that the upstream lists in place of this one. Show both values to the person, and use neither without their consent.',
    }),
    since: t.expose('since', {
      type: 'DateTime',
      description:
        'Since when this value is held back: every listing of the upstream since then had the same values of this row.',
    }),
  }),
});

/** Chains and tokens add their own descriptions. */
export const heldBackField = {
  type: [HeldBackFactType] as [typeof HeldBackFactType],
  resolve({ heldBack }: Pick<Chain, 'heldBack'>, _args: object, { cost }: GatewayContext) {
    // No units: an operation near the limit of units must not fail because a fact is held back.
    if (heldBack.length > 0) cost.add({ units: 0, rows: heldBack.length });
    return heldBack;
  },
};

/** token.ts adds the fields on tokens, so that the two files do not import each other. */
export const ChainType = builder.objectRef<Chain>('Chain').implement({
  description: 'A network that tokens can be moved from or to, identified by its `chainKey`.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      description:
        'Opaque, stable id, unique in the whole graph. Caches use it as a key, and `node` finds the chain by it.',
      resolve: idOfChain,
    }),
    chainKey: t.exposeString('chainKey', {
      description:
        'Unique lower-case key. It can differ from the marketing name: Kaia is "klaytn", BNB Chain is "bsc". `chains(search:)` finds a chain by its key and by its name.',
    }),
    chainType: t.exposeString('chainType', {
      description:
        'Chain family in lower case, such as "evm", "solana" or "aptos". The set is open: expect new values.',
    }),
    chainId: t.exposeFloat('chainId', {
      description:
        'The number that the chain has given itself. It is a whole number, of the type Float because it can exceed 2^31-1, and it can be negative. It does not tell chains apart: Solana, Aptos and other non-EVM chains have the `chainId` 1, and so does Ethereum. Never use `chainId` as a key.',
    }),
    shortName: t.exposeString('shortName', { description: 'Short name for display; may be empty.' }),
    name: t.exposeString('name', { description: 'Full name for display; may be empty.' }),
    nativeCurrency: t.expose('nativeCurrency', {
      type: NativeCurrencyType,
      description: 'The currency in which the chain charges fees.',
    }),
    caip2: t.exposeString('caip2', {
      nullable: true,
      description:
        'CAIP-2 identifier, such as `eip155:1` or `solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp`; null if the data gives none in a registered namespace, or if the identifier belongs to another chain or is disputed. If a chain is removed or gets another identifier, no other chain gets its earlier one for a day, or for another time that the operator has set. Compare it exactly: letter case matters.',
    }),
    heldBack: t.field({
      ...heldBackField,
      description:
        'Facts of this chain for which the upstream sends other values; empty for nearly all chains. If there are any, the chain is served with the values that were known before. Do not move money to or from this chain without asking the person: its chainId, chainType or native currency may be wrong.',
    }),
  }),
});

builder.queryFields((t) => ({
  chains: t.field({
    type: [ChainType],
    nullable: true,
    description:
      "The listed chains, in the upstream's order, or in the operator's order if one is set. Null with an error until there is a snapshot of the chain listing.",
    args: {
      search: t.arg.string({
        description:
          'Only chains that match every one of these words. A typed word matches if it begins a word of the `chainKey`, `shortName`, `name` or another known name ("binance"), or is the whole `chainId` ("8453") or CAIP-2 identifier ("eip155:8453"). If no chain matches, filler words ("on", "chain") are ignored. If there is still no match, "eth" also finds the chains whose native currency is ETH. Letter case does not matter. Blank matches all chains; more than 8 words or 200 characters are an error, BAD_USER_INPUT.',
      }),
      chainTypes: t.arg.stringList({
        description:
          'Only chains of these families, such as ["evm"]. Letter case does not matter. Null matches all chains; an empty list matches none.',
      }),
    },
    resolve(_query, args, { loaders, cost }, info) {
      const found = loaders.chainsBySearch(
        textWithin('search', 'search', args.search) ?? '',
        textsWithin('chainType', 'chainTypes', args.chainTypes),
      );
      return whenReady(found, (chains) => cost.chargeRows(chains, info));
    },
  }),
  chain: t.field({
    type: ChainType,
    nullable: true,
    description: 'The chain with this key; null if it is unknown.',
    args: {
      chainKey: t.arg.string({
        required: true,
        description:
          '`chainKey`, such as "ethereum"; letter case does not matter. For text that a person types, use `chains(search:)`.',
      }),
    },
    resolve: (_query, { chainKey }, { loaders }) => loaders.chainByKey(chainKey),
  }),
  chainsByKey: t.field({
    type: [ChainType],
    nullable: { list: false, items: true },
    description:
      'The chains with these keys: one item per key, in the order of the keys, null if a key is unknown.',
    args: {
      chainKeys: t.arg.stringList({
        required: true,
        description: 'Whole keys, in any letter case; repeats are allowed.',
      }),
    },
    resolve: (_query, { chainKeys }, { loaders, cost }, info) =>
      cost.chargeRows(chainKeys, info).map((chainKey) => loaders.chainByKey(chainKey)),
  }),
  chainsByCaip2: t.field({
    type: [ChainType],
    nullable: { list: false, items: true },
    description:
      'The chains with these CAIP-2 identifiers: one item per identifier, in their order, null if an identifier is unknown or malformed. If several chains claim an identifier, at most one of them has it.',
    args: {
      caip2s: t.arg.stringList({
        required: true,
        description: 'CAIP-2 identifiers, such as "eip155:8453"; repeats are allowed.',
      }),
    },
    resolve: (_query, { caip2s }, { loaders, cost }, info) =>
      cost.chargeRows(caip2s, info).map((caip2) => loaders.chainByCaip2(caip2)),
  }),
}));
