/** The interface Node, and the queries by id. */
import type { GraphQLResolveInfo } from 'graphql';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { ID_UNITS } from '../cost.js';
import { builder } from './builder.js';
import { type Identity, identityOf } from './ids.js';

export const NodeType = builder.interfaceRef<Chain | Token>('Node').implement({
  description: 'An object with an id: caches use the id as a key, and `node` finds the object by it.',
  resolveType: typeNameOf,
  fields: (t) => ({ id: t.id({ description: 'Opaque, stable id, unique in the whole graph.' }) }),
});

builder.queryFields((t) => ({
  node: t.field({
    type: NodeType,
    nullable: true,
    description: 'The chain or token with this id; null if it is unknown.',
    args: { id: t.arg.id({ required: true, description: 'The `id` of a Chain or a Token.' }) },
    resolve: (_query, { id }, context, info) => nodesOf([id], context, info)[0],
  }),
  nodes: t.field({
    type: [NodeType],
    nullable: { list: false, items: true },
    description:
      'The chains and tokens with these ids: one item per id, in the order of the ids, null if an id is unknown.',
    args: {
      ids: t.arg.idList({ required: true, description: 'Ids of chains and tokens; repeats are allowed.' }),
    },
    resolve: (_query, { ids }, context, info) => [...nodesOf(ids, context, info)],
  }),
}));

/** In a list, each id counts as a row, even if it is invalid. */
function nodesOf(ids: readonly string[], { loaders, cost }: GatewayContext, info: GraphQLResolveInfo) {
  cost.spend(ID_UNITS * ids.length);
  return cost
    .chargeRows(ids.map(identityOf), info, (identity) => identity?.type ?? 'Chain')
    .map((identity) => identity && objectOf(identity, loaders));
}

export function typeNameOf(row: Chain | Token): 'Chain' | 'Token' {
  return 'nativeCurrency' in row ? 'Chain' : 'Token';
}

export function objectOf(identity: Identity, loaders: GatewayContext['loaders']) {
  return identity.type === 'Chain'
    ? loaders.chainByKey(identity.chainKey)
    : loaders.tokenByAddress(identity.chainKey, identity.address);
}
