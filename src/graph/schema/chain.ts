import type { Chain, NativeCurrency } from '../../domain/listing.js';
import { countByChain, NO_ROWS, searchUnits, totalRows, withCost } from '../cost/cost.js';
import { builder } from './builder.js';
import { NodeType } from './node.js';
import { atMost } from './values/arguments.js';
import { idOfChain } from './values/ids.js';

const NativeCurrencyType = builder.objectRef<NativeCurrency>('NativeCurrency').implement({
  description: 'What a chain charges fees in.',
  fields: (t) => ({
    chainKey: t.exposeString('chainKey', { description: '`chainKey` of the chain that it belongs to.' }),
    name: t.exposeString('name', { description: 'Full name, such as "Ether"; may be empty.' }),
    symbol: t.exposeString('symbol', { description: 'Symbol, such as "ETH"; not unique, and may be empty.' }),
    decimals: t.exposeInt('decimals', {
      description: 'Decimal places of an amount: 1 unit is 10^decimals of the smallest parts.',
    }),
    address: t.exposeString('address', {
      description:
        'Address that stands for it in token lists, as the upstream writes it; mostly a placeholder (0xEeee…) without a contract.',
    }),
  }),
});

/** Chain in the graph, without its tokens, which token.ts adds. */
export const ChainType = builder.objectRef<Chain>('Chain').implement({
  description: 'A network that tokens can be moved from or to. Its identity is `chainKey`.',
  interfaces: [NodeType],
  fields: (t) => ({
    id: t.id({
      description: 'Opaque id, unique in the whole graph and stable; for caches and for finding it again.',
      resolve: idOfChain,
    }),
    chainKey: t.exposeString('chainKey', {
      description:
        'Unique lower-case name, by which everything refers to the chain. Not the marketing name: Kaia is "klaytn", BNB Chain is "bsc"; `chains(search:)` finds it by either.',
    }),
    chainType: t.exposeString('chainType', {
      description: 'Family such as "evm", "solana" or "aptos", in lower case. An open set: expect new ones.',
    }),
    chainId: t.exposeFloat('chainId', {
      description:
        'The number that the chain gives itself: a whole number that can pass 2^31-1, hence Float, or be negative. Not unique: several chains that are not EVM chains say 1, like Ethereum. Never use it as a key.',
    }),
    shortName: t.exposeString('shortName', { description: 'Short name for showing; may be empty.' }),
    name: t.exposeString('name', { description: 'Full name for showing; may be empty.' }),
    nativeCurrency: t.expose('nativeCurrency', {
      type: NativeCurrencyType,
      description: 'What the chain charges fees in.',
    }),
    caip2: t.string({
      nullable: true,
      description: 'Chain identifier by CAIP-2, `eip155:<chainId>`; null where `chainType` is not "evm".',
      resolve: ({ chainType, chainId }) => (chainType === 'evm' ? `eip155:${chainId}` : null),
    }),
  }),
});

const MAX_SEARCH_LENGTH = 200;
const MAX_CHAIN_TYPES = 100;

builder.queryFields((t) => ({
  chains: t.field({
    type: [ChainType],
    nullable: true,
    description:
      "The listed chains in the upstream's order. Null, with an error, before there is any snapshot.",
    args: {
      search: t.arg.string({
        description:
          'Keeps the chains of which `chainKey`, `shortName` or `name` hold each of these words or parts of words, in the order of the listing; where there are none, those which charge fees in a currency of this symbol. Letter case does not matter; blank keeps all; more than 8 words are BAD_USER_INPUT.',
      }),
      chainTypes: t.arg.stringList({
        description:
          'Keeps the chains of these families, such as ["evm"]. Letter case does not matter; an empty list keeps none.',
      }),
    },
    extensions: withCost({
      rows: (input) => (isWholeListing(input.args) ? input.chains() : NO_ROWS),
      units: ({ args, chains }) => (isWholeListing(args) ? 0 : searchUnits(totalRows(chains()), args.search)),
    }),
    async resolve(_query, args, { loaders, cost }, info) {
      const chains = await loaders.chainsBySearch(
        atMost(MAX_SEARCH_LENGTH, 'search', args.search) ?? '',
        atMost(MAX_CHAIN_TYPES, 'chainTypes', args.chainTypes),
      );
      if (isWholeListing(args)) return chains;
      return cost.admitRows(countByChain(chains.map(({ chainKey }) => chainKey)), info) ? chains : [];
    },
  }),
  chain: t.field({
    type: ChainType,
    nullable: true,
    description: 'The chain with this key; null when it is unknown.',
    args: {
      chainKey: t.arg.string({
        required: true,
        description: 'Exact `chainKey`, such as "ethereum". Use `chains(search:)` for what a person types.',
      }),
    },
    extensions: withCost({ rows: ({ args }) => countByChain([String(args.chainKey)]) }),
    resolve: (_query, { chainKey }, { loaders }) => loaders.chainByKey(chainKey),
  }),
  chainsByKey: t.field({
    type: [ChainType],
    nullable: { list: false, items: true },
    description:
      'The chains with these keys: one item for each, in the order asked, null where it is unknown.',
    args: {
      chainKeys: t.arg.stringList({
        required: true,
        description: 'Exact keys; each may come more than once.',
      }),
    },
    extensions: withCost({ rows: ({ args }) => countByChain((args.chainKeys ?? []) as readonly string[]) }),
    resolve: (_query, { chainKeys }, { loaders }) => chainKeys.map(loaders.chainByKey),
  }),
}));

/** Only the rows of the whole listing can be told before they are searched. */
function isWholeListing({ search, chainTypes }: Readonly<Record<string, unknown>>): boolean {
  return (search ?? '') === '' && (chainTypes ?? undefined) === undefined;
}
