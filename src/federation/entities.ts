import type { GatewayContext } from '../context.js';
import { GatewayError } from '../errors.js';
import type { Chain, Token } from '../listing/listing.js';
import { identityOf } from '../schema/ids.js';

type Loaders = GatewayContext['loaders'];
type Entity = Chain | Token | null;

/**
 * What each representation stands for, in their order: an entity, null where it is unknown, or, for one that
 * cannot be meant, an error of its own, which leaves the others whole.
 */
export function entitiesOf(
  representations: readonly unknown[],
  loaders: Loaders,
): readonly (Entity | Promise<Entity> | GatewayError)[] {
  return loaders.withinRows(representations).map((representation) => {
    try {
      return entityOf(representation, loaders);
    } catch (error) {
      if (error instanceof GatewayError) return error;
      throw error;
    }
  });
}

function entityOf(representation: unknown, { chainByKey, tokenByAddress }: Loaders) {
  if (typeof representation !== 'object' || representation === null) {
    throw malformed('an object with __typename and a key', representation);
  }
  const { __typename, id, chainKey, address } = representation as Record<string, unknown>;
  if (__typename !== 'Chain' && __typename !== 'Token') {
    throw malformed('"Chain" or "Token" as its __typename', __typename);
  }
  const lacksKey = chainKey === undefined || (__typename === 'Token' && address === undefined);
  if (id !== undefined && lacksKey) {
    const identity = identityOf(keyPart('id', id));
    if (identity?.type !== __typename) return null;
    return identity.type === 'Chain'
      ? chainByKey(identity.chainKey)
      : tokenByAddress(identity.chainKey, identity.address);
  }
  const key = keyPart('chainKey', chainKey);
  return __typename === 'Chain' ? chainByKey(key) : tokenByAddress(key, keyPart('address', address));
}

function keyPart(name: string, value: unknown): string {
  if (typeof value === 'string') return value;
  throw malformed(`a string as its ${name}`, value);
}

function malformed(expected: string, came: unknown): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `Expected of a representation ${expected}, got ${shown(came)}.`);
}

/** In a few words, whatever its size: one variable can stand in a thousand places. */
function shown(came: unknown): string {
  if (came === undefined) return 'nothing';
  if (typeof came === 'string') return JSON.stringify(came.slice(0, 100));
  if (typeof came !== 'object' || came === null) return String(came);
  return Array.isArray(came) ? 'a list' : 'an object';
}
