import { parseCaip19 } from '../../domain/caip.js';
import { GatewayError, OperationLimitError } from '../../domain/errors.js';
import type { Chain, Token } from '../../domain/listing.js';
import type { GatewayContext } from '../context.js';
import { type CostInput, countLookUps, idUnits, type ListingSizes } from '../cost/cost.js';
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
          `More than ${MAX_MALFORMED} representations are malformed, so none is looked up. Each needs a __typename, "Chain" or "Token", and a key: chainKey, id or caip2 of a Chain; chainKey and address, id or caip19 of a Token.`,
        );
      }
      return error;
    }
  });
}

/** Counts the rows of the argument `representations` by type, for the cost of the operation. */
export function rowsOfRepresentations({ args: { representations }, sizes }: CostInput) {
  const all = membersOf(representations);
  const ofType = (isToken: boolean) =>
    countLookUps<Representation>(
      all.filter(({ __typename }) => (__typename === 'Token') === isToken),
      sizes,
      (members) => chainKeyOf(members, sizes),
    );
  return { Chain: ofType(false), Token: ofType(true) };
}

/** Units for the ids among these representations. */
export function unitsOfRepresentations({ args: { representations } }: CostInput): number {
  let ids = 0;
  for (const members of membersOf(representations)) if (typeof members.id === 'string') ids++;
  return idUnits(ids);
}

function membersOf(representations: unknown): readonly Representation[] {
  return (Array.isArray(representations) ? representations : []).map((each) => each ?? {});
}

type Representation = Readonly<Record<string, unknown>>;

/** The `chainKey` of the entity; `''` if the representation identifies none. */
function chainKeyOf(representation: Representation, sizes: ListingSizes): string {
  const name = keyNameOf(representation);
  const value = representation[name];
  if (typeof value !== 'string') return '';
  switch (name) {
    case 'chainKey':
      return value;
    case 'id':
      return identityOf(value)?.chainKey ?? '';
    case 'caip2':
      return sizes.chainKeyOfCaip2(value);
    case 'caip19':
      return sizes.chainKeyOfCaip2(parseCaip19(value)?.caip2 ?? '');
  }
}

/** The key by which the entity is looked up: the first that is whole. */
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
    case 'id':
      return entityById(__typename, key, loaders);
    case 'caip2':
      return loaders.chainByCaip2(key);
    case 'caip19':
      return loaders.tokenByCaip19(key);
  }
}

function entityById(typeName: 'Chain' | 'Token', id: string, loaders: Loaders) {
  const identity = identityOf(id);
  if (identity?.type !== typeName) return null;
  return identity.type === 'Chain'
    ? loaders.chainByKey(identity.chainKey)
    : loaders.tokenByAddress(identity.chainKey, identity.address);
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
