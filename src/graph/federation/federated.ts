/** The query fields with which this graph is combined with other graphs. */
import { extendSchema, type GraphQLResolveInfo, type GraphQLSchema, isUnionType, parse } from 'graphql';
import { GatewayError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import { shown } from '../../domain/text-limits.js';
import type { GatewayContext } from '../context.js';
import { ID_UNITS } from '../cost.js';
import type { MaybePromise } from '../loaders.js';
import { boundEnumValues } from '../schema/arguments.js';
import { identityOf } from '../schema/ids.js';
import { objectOf, typeNameOf } from '../schema/node.js';
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

export function withFederation(schema: GraphQLSchema): GraphQLSchema {
  const graph = extendSchema(schema, EXTENSION);
  boundEnumValues(graph);
  const entity = graph.getType('_Entity');
  const { _service, _entities, _sdl } = graph.getQueryType()?.getFields() ?? {};
  if (!isUnionType(entity) || !_service || !_entities || !_sdl) throw new Error('Expected the extension');
  entity.resolveType = typeNameOf;
  _service.resolve = () => ({ sdl: subgraphSdlOf(schema) });
  _entities.resolve = resolveEntities;
  _sdl.resolve = (_query, _args, { introspection }: GatewayContext) =>
    introspection ? stitchingSdlOf(schema) : null;
  return graph;
}

/** Null for an unknown entity, and an error for a malformed representation. */
function resolveEntities(
  _query: unknown,
  { representations }: { readonly representations: readonly unknown[] },
  { loaders, cost }: GatewayContext,
  info: GraphQLResolveInfo,
): readonly MaybePromise<Chain | Token | GatewayError | null>[] {
  const members = representations.map((each) => (each ?? {}) as Representation);
  cost.spend(ID_UNITS * members.filter(({ id }) => typeof id === 'string').length);
  return cost
    .chargeRows(members, info, ({ __typename }) => (__typename === 'Token' ? 'Token' : 'Chain'))
    .map((representation) => {
      try {
        return entityOf(representation, loaders);
      } catch (error) {
        if (!(error instanceof GatewayError)) throw error;
        cost.spendOnError();
        return error;
      }
    });
}

type Representation = Readonly<Record<string, unknown>>;

/** Looks up by chain key (and address), else by `id`, else by CAIP identifier. @throws GatewayError for a malformed key */
function entityOf(representation: Representation, loaders: GatewayContext['loaders']) {
  if (typeof representation !== 'object') {
    throw malformed('be an object with a __typename and a key', representation);
  }
  const { __typename, chainKey, address, id } = representation;
  if (__typename !== 'Chain' && __typename !== 'Token') {
    throw malformed('have "Chain" or "Token" as its __typename', __typename);
  }
  const isToken = __typename === 'Token';
  const caip = isToken ? 'caip19' : 'caip2';
  const hasKey = chainKey !== undefined && !(isToken && address === undefined);
  if (!hasKey && id !== undefined) {
    const identity = identityOf(keyPart('id', id));
    return identity?.type === __typename ? objectOf(identity, loaders) : null;
  }
  if (!hasKey && representation[caip] !== undefined) {
    const key = keyPart(caip, representation[caip]);
    return isToken ? loaders.tokenByCaip19(key) : loaders.chainByCaip2(key);
  }
  const key = keyPart('chainKey', chainKey);
  return isToken ? loaders.tokenByAddress(key, keyPart('address', address)) : loaders.chainByKey(key);
}

function keyPart(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed(`have a string as its ${name}`, value);
}

function malformed(rule: string, actual: unknown): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `A representation must ${rule}, got ${described(actual)}.`);
}

/** Shortens a value for a message, because a thousand messages can show the same large variable. */
function described(actual: unknown): string {
  if (actual === undefined) return 'nothing';
  if (typeof actual === 'string') return shown(actual);
  if (typeof actual !== 'object' || actual === null) return String(actual);
  return Array.isArray(actual) ? 'a list' : 'an object';
}
