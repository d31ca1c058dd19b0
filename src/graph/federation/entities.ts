import { GatewayError, OperationLimitError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { countByChain } from '../cost/cost.js';
import { identityOf } from '../schema/values/ids.js';

/** Each one adds an error to the response, which costs fifty times as much as an entity. */
const MAX_MALFORMED = 1_000;

type Loaders = GatewayContext['loaders'];
type Entity = Chain | Token | null;

/**
 * Looks up the entity of each representation, in their order. The result is null for an unknown entity, and an
 * error for a malformed representation, which does not affect the others.
 *
 * @throws OperationLimitError for too many malformed representations
 */
export function entitiesOf(
  representations: readonly unknown[],
  loaders: Loaders,
): readonly (Entity | Promise<Entity> | GatewayError)[] {
  let malformedCount = 0;
  return representations.map((representation) => {
    try {
      return entityOf(representation, loaders);
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      malformedCount++;
      if (malformedCount > MAX_MALFORMED) {
        throw new OperationLimitError(
          'BAD_USER_INPUT',
          `More than ${MAX_MALFORMED} representations are malformed, so none is looked up. Each needs a __typename, "Chain" or "Token", and a key: id, chainKey, or chainKey and address.`,
        );
      }
      return error;
    }
  });
}

/** Counts the rows of representations by type, for the cost of the operation. */
export function rowsOfRepresentations(representations: unknown) {
  const chainKeys: { readonly Chain: string[]; readonly Token: string[] } = { Chain: [], Token: [] };
  for (const representation of Array.isArray(representations) ? representations : []) {
    const { __typename, id, chainKey } = (representation ?? {}) as Record<string, unknown>;
    const keys = __typename === 'Token' ? chainKeys.Token : chainKeys.Chain;
    if (typeof chainKey === 'string') keys.push(chainKey);
    else keys.push((typeof id === 'string' && identityOf(id)?.chainKey) || '');
  }
  return { Chain: countByChain(chainKeys.Chain), Token: countByChain(chainKeys.Token) };
}

function entityOf(representation: unknown, { chainByKey, tokenByAddress }: Loaders) {
  if (typeof representation !== 'object' || representation === null) {
    throw malformed('be an object with a __typename and a key', representation);
  }
  const { __typename, id, chainKey, address } = representation as Record<string, unknown>;
  if (__typename !== 'Chain' && __typename !== 'Token') {
    throw malformed('have "Chain" or "Token" as its __typename', __typename);
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
  throw malformed(`have a string as its ${name}`, value);
}

function malformed(rule: string, came: unknown): GatewayError {
  return new GatewayError('BAD_USER_INPUT', `A representation must ${rule}, got ${shown(came)}.`);
}

/** Short for every value: one large variable can be used a thousand times. */
function shown(came: unknown): string {
  if (came === undefined) return 'nothing';
  if (typeof came === 'string') return JSON.stringify(came.slice(0, 100));
  if (typeof came !== 'object' || came === null) return String(came);
  return Array.isArray(came) ? 'a list' : 'an object';
}
