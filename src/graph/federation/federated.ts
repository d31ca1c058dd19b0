import {
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
} from 'graphql';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { withCost } from '../cost/cost.js';
import { entitiesOf, rowsOfRepresentations } from './entities.js';
import { stitchingSdlOf } from './stitching.js';
import { subgraphSdlOf } from './subgraph.js';

/** Adds the query fields by which this graph joins others: `_service` and `_entities` for Federation, `_sdl` for stitching. */
export function withFederation(schema: GraphQLSchema): GraphQLSchema {
  const query = schema.getQueryType()?.toConfig();
  const chain = schema.getType('Chain');
  const token = schema.getType('Token');
  if (!query || !(chain instanceof GraphQLObjectType) || !(token instanceof GraphQLObjectType)) {
    throw new Error('Expected a schema with a query type, Chain and Token');
  }
  const subgraphSdl = subgraphSdlOf(schema);
  const stitchingSdl = stitchingSdlOf(schema);
  const entity = new GraphQLUnionType({
    name: '_Entity',
    description: 'An object that other subgraphs may extend or refer to.',
    types: [chain, token],
    resolveType: (row: Chain | Token) => ('nativeCurrency' in row ? 'Chain' : 'Token'),
  });
  const any = new GraphQLScalarType({
    name: '_Any',
    description:
      'A representation of an entity: an object with a `__typename` and one of the keys of this type.',
  });
  const service = new GraphQLObjectType<{ sdl: string }>({
    name: '_Service',
    description: 'This graph as a Federation subgraph.',
    fields: {
      sdl: {
        type: new GraphQLNonNull(GraphQLString),
        description: 'SDL of this graph with Federation directives.',
      },
    },
  });
  const config = schema.toConfig();
  return new GraphQLSchema({
    ...config,
    types: config.types.filter((type) => type !== schema.getQueryType()),
    query: new GraphQLObjectType<unknown, GatewayContext>({
      ...query,
      fields: {
        ...query.fields,
        _service: {
          type: new GraphQLNonNull(service),
          description: 'This subgraph, for composing it with others.',
          resolve: () => ({ sdl: subgraphSdl }),
        },
        _entities: {
          type: new GraphQLNonNull(new GraphQLList(entity)),
          description:
            'The entities of these representations, in their order. An unknown entity is null; a malformed representation is null with an error of its own.',
          args: {
            representations: {
              type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(any))),
              description: 'Type and key of each entity; repeats are allowed.',
            },
          },
          extensions: withCost({ rowsByType: ({ args }) => rowsOfRepresentations(args.representations) }),
          resolve: (_query, { representations }, { loaders }) => entitiesOf(representations, loaders),
        },
        _sdl: {
          type: GraphQLString,
          description:
            'SDL of this graph for stitching it to other schemas; null if introspection is switched off.',
          resolve: (_query, _args, { introspection }) => (introspection ? stitchingSdl : null),
        },
      },
    }),
  });
}
