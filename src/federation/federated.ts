import {
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
} from 'graphql';
import type { GatewayContext } from '../context.js';
import { withCost } from '../cost.js';
import type { Chain, Token } from '../listing/listing.js';
import { entitiesOf, rowsOfRepresentations } from './entities.js';
import { stitchingSdlOf } from './stitching.js';
import { subgraphSdlOf } from './subgraph.js';

/**
 * Adds to the query type what other graphs ask for: `_service` and `_entities` for Federation, and `_sdl` for
 * stitching.
 */
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
    description: 'What other subgraphs may extend or refer to.',
    types: [chain, token],
    resolveType: (row: Chain | Token) => ('nativeCurrency' in row ? 'Chain' : 'Token'),
  });
  const any = new GraphQLScalarType({
    name: '_Any',
    description: 'A representation of an entity: an object with its `__typename` and one of its keys.',
  });
  const service = new GraphQLObjectType<{ sdl: string }>({
    name: '_Service',
    description: 'This graph as a subgraph.',
    fields: {
      sdl: {
        type: new GraphQLNonNull(GraphQLString),
        description: 'Its SDL, with the directives of Federation.',
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
          description: 'For composing it with other subgraphs.',
          resolve: () => ({ sdl: subgraphSdl }),
        },
        _entities: {
          type: new GraphQLNonNull(new GraphQLList(entity)),
          description:
            'The entities that these stand for, in the order asked: null where one is unknown, and, with an error of its own, where it is malformed.',
          args: {
            representations: {
              type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(any))),
              description: 'What each is asked for by; each may come more than once.',
            },
          },
          extensions: withCost({ rowsByType: ({ args }) => rowsOfRepresentations(args.representations) }),
          resolve: (_query, { representations }, { loaders }) => entitiesOf(representations, loaders),
        },
        _sdl: {
          type: GraphQLString,
          description: 'Its SDL for stitching it to other schemas; null where introspection is switched off.',
          resolve: (_query, _args, { introspection }) => (introspection ? stitchingSdl : null),
        },
      },
    }),
  });
}
