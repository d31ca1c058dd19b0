import fc from 'fast-check';
import {
  type GraphQLField,
  getNamedType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { schema } from '../../src/graph/schema/index.js';
import { demoTokens } from '../fixtures/demo.js';

const keys = fc.constantFrom('ethereum', 'base', 'solana', 'nope', '');
const addresses = fc.constantFrom(...demoTokens.slice(0, 5).map(({ address }) => address), 'nope');
const caip2s = fc.constantFrom('eip155:1', 'eip155:8453', 'nope', '');

const ORDERS = ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC', 'PRICE_ASC'];

/** A value as GraphQL writes it. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value).map(([name, inner]) => `${name}: ${literal(inner)}`)} }`;
  }
  return ORDERS.includes(String(value)) ? String(value) : JSON.stringify(value);
}

/** Valid arguments for a field, none of which asks for routes. */
function argumentsOf(field: GraphQLField<unknown, unknown>): fc.Arbitrary<string> {
  const values: Record<string, fc.Arbitrary<unknown>> = {
    search: fc.constantFrom(null, '', 'eth', 'kaia'),
    chainTypes: fc.constantFrom(null, [], ['evm'], ['SOLANA', 'x']),
    srcChainKey: fc.option(keys),
    chainKey: keys,
    address: addresses,
    dstChainKey: keys,
    dstToken: addresses,
    chainKeys: fc.array(keys),
    caip2s: fc.array(caip2s),
    caip19s: fc.array(fc.tuple(caip2s, addresses).map((parts) => parts.join('/erc20:'))),
    keys: fc.array(fc.record({ chainKey: keys, address: addresses })),
    id: fc.constantFrom('', 'nope', 'WyJDaGFpbiIsImV0aGVyZXVtIl0'),
    ids: fc.array(fc.constantFrom('nope', 'WyJDaGFpbiIsImV0aGVyZXVtIl0')),
    query: fc.constantFrom(null, '', 'eth', 'usdc base', 'nope'),
    filter: fc.option(
      fc.record(
        {
          chainKeys: fc.array(keys),
          chainTypes: fc.constantFrom([], ['EVM']),
          symbols: fc.constantFrom(['usdc', 'ETH'], null),
          isBridgeable: fc.boolean(),
          isNative: fc.boolean(),
          hasPrice: fc.boolean(),
          minPriceUsd: fc.constantFrom(0, 1.5),
          maxPriceUsd: fc.constantFrom(1, 1e9),
        },
        { requiredKeys: [] },
      ),
    ),
    orderBy: fc.constantFrom(...ORDERS),
    first: fc.constantFrom(null, 1, 100),
  };
  const chosen = field.args
    .filter(({ name }) => name !== 'srcToken')
    .map(({ name, type }) => {
      const given = (values[name] ?? fc.constant(null)).map((value) => `${name}: ${literal(value)}`);
      return isNonNullType(type) ? given : fc.option(given, { nil: '' });
    });
  if (chosen.length === 0) return fc.constant('');
  return fc.tuple(...chosen).map((parts) => {
    const text = parts.filter(Boolean).join(', ');
    return text && `(${text})`;
  });
}

/**
 * A selection set of this type, with aliases and valid arguments, none of which asks for routes.
 *
 * @param listsLeft how many lists may be within each other
 * @param without the fields (`Type.field`) that are not asked for
 */
export function selectionOf(
  typeName: string,
  listsLeft: number,
  without: readonly string[] = [],
): fc.Arbitrary<string> {
  const type = schema.getType(typeName);
  if (isInterfaceType(type)) {
    const inner = fc.tuple(
      selectionOf('Chain', listsLeft, without),
      selectionOf('Token', listsLeft, without),
    );
    // Aliases of one name must mean the same on either type.
    return inner.map(
      ([chain, token]) =>
        `id ... on Chain { ${chain} } ... on Token { ${token.replace(/\bf(\d+):/g, 't$1:')} }`,
    );
  }
  if (!isObjectType(type)) throw new Error(`Expected an object type, got ${typeName}`);
  const fields = Object.values(type.getFields())
    .filter(({ name }) => name !== 'destinations' && !without.includes(`${typeName}.${name}`))
    .filter((field) => isLeafType(getNamedType(field.type)) || listsLeft > 0)
    .map((field) => {
      const below = getNamedType(field.type);
      const isList = isListType(isNonNullType(field.type) ? field.type.ofType : field.type);
      const selection = isLeafType(below)
        ? fc.constant('')
        : selectionOf(below.name, listsLeft - (isList ? 1 : 0.5), without).map((inner) => ` { ${inner} }`);
      return fc.tuple(argumentsOf(field), selection).map(([args, inner]) => `${field.name}${args}${inner}`);
    });
  return fc
    .array(fc.oneof(...fields), { minLength: 1, maxLength: 4 })
    .map((chosen) => chosen.map((field, index) => `f${index}: ${field}`).join(' '));
}
