/** The query fields by which this graph joins others. */
import { extendSchema, type GraphQLResolveInfo, type GraphQLSchema, isUnionType, parse } from 'graphql';
import { GatewayError, OperationLimitError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { ID_UNITS } from '../cost.js';
import { boundEnumValues } from '../schema/arguments.js';
import { identityOf } from '../schema/ids.js';
import { objectOf } from '../schema/node.js';
import { stitchingSdlOf, subgraphSdlOf } from './sdl.js';

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

/** Adds the query fields by which this graph joins others: two fields for Federation, and `_sdl` for stitching. */
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

/** Makes a text at its first use: to make both SDLs would take a tenth of the time of a start. */
function once(make: () => string): () => string {
  let made: string | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

/** The maximum of malformed representations. Each adds an error, which costs fifty times as much as an entity. */
const MAX_MALFORMED = 1_000;

type Loaders = GatewayContext['loaders'];
type Entity = Chain | Token | null;

/**
 * Looks up the entity of each representation, in their order. The result is null for an unknown entity, and an
 * error for a malformed representation, which does not affect the others.
 *
 * @throws OperationLimitError for too many malformed representations
 */
function entitiesOf(
  representations: readonly unknown[],
  { loaders, cost }: GatewayContext,
  info: GraphQLResolveInfo,
): readonly (Entity | Promise<Entity> | GatewayError)[] {
  const membersOf = (representation: unknown) => (representation ?? {}) as Representation;
  cost.spend(ID_UNITS * representations.filter((each) => typeof membersOf(each).id === 'string').length);
  const admitted = cost.chargeRows(representations, info, (each) =>
    membersOf(each).__typename === 'Token' ? 'Token' : 'Chain',
  );
  let malformedCount = 0;
  return admitted.map((representation) => {
    try {
      return entityOf(representation, loaders);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      malformedCount++;
      if (malformedCount > MAX_MALFORMED) {
        throw new OperationLimitError(
          'BAD_USER_INPUT',
          `More than ${MAX_MALFORMED} representations are malformed, so the entities are not looked up. Each needs a __typename, "Chain" or "Token", and a key: chainKey, id or caip2 of a Chain; chainKey and address, id or caip19 of a Token.`,
        );
      }
      return error;
    }
  });
}

type Representation = Readonly<Record<string, unknown>>;

/** The key by which the entity is looked up: the first that is complete. */
function keyNameOf(representation: Representation): 'chainKey' | 'id' | 'caip2' | 'caip19' {
  const { __typename, id, chainKey, address } = representation;
  const isToken = __typename === 'Token';
  if (chainKey !== undefined && !(isToken && address === undefined)) return 'chainKey';
  if (id !== undefined) return 'id';
  const caip = isToken ? 'caip19' : 'caip2';
  return representation[caip] === undefined ? 'chainKey' : caip;
}

function entityOf(representation: unknown, loaders: Loaders) {
  if (typeof representation !== 'object' || representation === null) {
    throw malformed('be an object with a __typename and a key', representation);
  }
  const members = representation as Representation;
  const { __typename, address } = members;
  if (__typename !== 'Chain' && __typename !== 'Token') {
    throw malformed('have "Chain" or "Token" as its __typename', __typename);
  }
  const name = keyNameOf(members);
  const key = keyPart(name, members[name]);
  switch (name) {
    case 'chainKey':
      return __typename === 'Chain'
        ? loaders.chainByKey(key)
        : loaders.tokenByAddress(key, keyPart('address', address));
    case 'id': {
      const identity = identityOf(key);
      return identity?.type === __typename ? objectOf(identity, loaders) : null;
    }
    case 'caip2':
      return loaders.chainByCaip2(key);
    case 'caip19':
      return loaders.tokenByCaip19(key);
  }
}

function keyPart(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed(`have a string as its ${name}`, value);
}

function malformed(rule: string, actual: unknown): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `A representation must ${rule}, got ${shown(actual)}.`);
}

/** Shortens a value for a message: a thousand messages can show the same large variable. */
function shown(actual: unknown): string {
  if (actual === undefined) return 'nothing';
  if (typeof actual === 'string') return JSON.stringify(actual.slice(0, 100));
  if (typeof actual !== 'object' || actual === null) return String(actual);
  return Array.isArray(actual) ? 'a list' : 'an object';
}
