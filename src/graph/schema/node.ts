import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { countByChain, idUnits, withCost } from '../cost/cost.js';
import { builder } from './builder.js';
import { identityOf } from './values/ids.js';

export const NodeType = builder.interfaceRef<Chain | Token>('Node').implement({
  description: 'An object with an id of its own: caches use the id as a key, and `node` looks it up.',
  resolveType: (row) => ('nativeCurrency' in row ? 'Chain' : 'Token'),
  fields: (t) => ({
    id: t.id({ description: 'Opaque, stable id, unique in the whole graph.' }),
  }),
});

builder.queryFields((t) => ({
  node: t.field({
    type: NodeType,
    nullable: true,
    description: 'The chain or token with this id; null if it is unknown.',
    args: { id: t.arg.id({ required: true, description: 'The `id` of a Chain or a Token.' }) },
    extensions: withCost({
      units: () => idUnits(1),
      rowsByType: ({ args }) => rowsOfIds([String(args.id)]),
    }),
    resolve: (_query, { id }, { loaders }) => nodeOf(id, loaders),
  }),
  nodes: t.field({
    type: [NodeType],
    nullable: { list: false, items: true },
    description:
      'The chains and tokens with these ids: one item per id, in the order of the ids, null if an id is unknown.',
    args: {
      ids: t.arg.idList({ required: true, description: 'Ids of chains and tokens; repeats are allowed.' }),
    },
    extensions: withCost({
      units: ({ args }) => idUnits(idsIn(args).length),
      rowsByType: ({ args }) => rowsOfIds(idsIn(args)),
    }),
    resolve: (_query, { ids }, { loaders }) => ids.map((id) => nodeOf(id, loaders)),
  }),
}));

function idsIn({ ids }: Readonly<Record<string, unknown>>): readonly string[] {
  return (ids ?? []) as readonly string[];
}

/** An id of neither type counts as a row, too: it costs a look-up. */
function rowsOfIds(ids: readonly string[]) {
  const identities = ids.map((id) => identityOf(id) ?? { type: 'Chain', chainKey: '' });
  const ofType = (type: string) =>
    countByChain(identities.filter((each) => each.type === type).map(({ chainKey }) => chainKey));
  return { Chain: ofType('Chain'), Token: ofType('Token') };
}

function nodeOf(id: string, loaders: GatewayContext['loaders']) {
  const identity = identityOf(id);
  if (!identity) return null;
  const { chainKey } = identity;
  return identity.type === 'Chain'
    ? loaders.chainByKey(chainKey)
    : loaders.tokenByAddress(chainKey, identity.address);
}
