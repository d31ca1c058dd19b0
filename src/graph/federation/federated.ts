import { extendSchema, type GraphQLSchema, isUnionType, parse } from 'graphql';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { boundEnumValues } from '../schema/values/enums.js';
import { entitiesOf } from './entities.js';
import { stitchingSdlOf } from './stitching.js';
import { subgraphSdlOf } from './subgraph.js';

const EXTENSION = parse(`
"An object that other subgraphs may extend or refer to."
union _Entity = Chain | Token

"A representation of an entity: an object with a \`__typename\` and one of the keys of this type."
scalar _Any

"This graph as a Federation subgraph."
type _Service {
  "SDL of this graph with Federation directives."
  sdl: String!
}

extend type Query {
  "This subgraph, for composing it with others."
  _service: _Service!
  "The entities of these representations, in their order. An unknown entity is null; a malformed representation is null with an error of its own."
  _entities(
    "Type and key of each entity; repeats are allowed."
    representations: [_Any!]!
  ): [_Entity]!
  "SDL of this graph for stitching it to other schemas; null if introspection is switched off."
  _sdl: String
}
`);

/** Adds the query fields by which this graph joins others: `_service` and `_entities` for Federation, `_sdl` for stitching. */
export function withFederation(schema: GraphQLSchema): GraphQLSchema {
  const sdl = once(() => subgraphSdlOf(schema));
  const stitchingSdl = once(() => stitchingSdlOf(schema));
  const graph = extendSchema(schema, EXTENSION);
  boundEnumValues(graph);
  const entity = graph.getType('_Entity');
  const { _service, _entities, _sdl } = graph.getQueryType()?.getFields() ?? {};
  if (!isUnionType(entity) || !_service || !_entities || !_sdl) throw new Error('Expected the extension');
  entity.resolveType = (row: Chain | Token) => ('nativeCurrency' in row ? 'Chain' : 'Token');
  _service.resolve = () => ({ sdl: sdl() });
  _entities.resolve = (_query, { representations }, context: GatewayContext, info) =>
    entitiesOf(representations, context, info);
  _sdl.resolve = (_query, _args, { introspection }: GatewayContext) =>
    introspection ? stitchingSdl() : null;
  return graph;
}

/** Makes a text when it is first asked for: both SDLs together would take a tenth of the time of a start. */
function once(make: () => string): () => string {
  let made: string | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
