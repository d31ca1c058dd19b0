/** Generates operations that the graph accepts, with arguments, variables, fragments and directives of all kinds. */
import fc from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLNamedType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { withFederation } from '../../src/graph/federation/federated.js';
import { idOfChain, idOfToken } from '../../src/graph/schema/ids.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { demoTokens } from '../fixtures/demo.js';

export interface Operation {
  readonly query: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly operationName?: string;
}

interface OperationsOptions {
  readonly without?: readonly string[];
  /** Whether operations ask for routes: of few tokens, never inside a list. With `often`, half of the fields can. */
  readonly hasRoutes?: boolean | 'often';
  readonly cursors?: readonly string[];
}

const KEYS = ['ethereum', 'base', 'solana', 'nope', '', 'été "☃" \u{1f41f}'];
const ADDRESSES = [...demoTokens.slice(0, 4).map(({ address }) => address), 'nope'];
const CAIP2S = ['eip155:1', 'eip155:8453', 'eip155:0', 'nope', ''];
const [SOME_TOKEN] = demoTokens;
const CHAIN_ID = idOfChain({ chainKey: 'base' } as Parameters<typeof idOfChain>[0]);
const TOKEN_ID = idOfToken(SOME_TOKEN as unknown as Parameters<typeof idOfToken>[0]);
const REPRESENTATIONS: readonly unknown[] = [
  { __typename: 'Chain', chainKey: 'base' },
  { __typename: 'Token', id: TOKEN_ID },
  { __typename: 'Chain', caip2: 'eip155:8453' },
  { __typename: 'Token', chainKey: 'ethereum' },
  { __typename: 'Chain', id: 5 },
  'nope',
];

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  search: ['', 'eth', 'kaia'],
  chainTypes: ['evm', 'SOLANA', 'x'],
  srcChainKey: KEYS,
  srcToken: ADDRESSES,
  dstChainKey: KEYS,
  dstToken: ADDRESSES,
  chainKey: KEYS,
  chainKeys: KEYS,
  address: ADDRESSES,
  caip2s: CAIP2S,
  caip19s: CAIP2S.flatMap((caip2) => ADDRESSES.map((address) => `${caip2}/erc20:${address}`)),
  id: [CHAIN_ID, TOKEN_ID, 'nope', 5],
  ids: [CHAIN_ID, TOKEN_ID, 'nope'],
  symbols: ['usdc', 'ETH', 'weth'],
  query: ['', 'eth', 'usdc base', 'ehtereum', 'weht', 'nope', 'a b c d e f g h i'],
  minPriceUsd: [0, 1, 1.5, -1e300],
  maxPriceUsd: [1, 2_000, 1e300],
  orderBy: ['RELEVANCE', 'SYMBOL', 'NAME', 'PRICE_DESC', 'PRICE_ASC'],
  first: [1, 3, 100, 0, 101],
  after: ['nope'],
  since: ['nope', ''],
  representations: REPRESENTATIONS,
  name: ['Token', 'Node', 'nope'],
};

const schema = withFederation(ownSchema);

const WRONG: readonly unknown[] = [
  {},
  [[]],
  2 ** 31,
  'BEST',
  { chainKey: 'base' },
  true,
  0.5,
  { n: null, constructor: 1 },
];

const MAX_NAME_LENGTH = 200;

/** An operation has at most this many levels of fields with subfields. */
const MAX_DEPTH = 4;

/**
 * Operations that are valid for the graph; a few are refused for a variable or a long name. They have arguments as
 * literals and as variables of all input types (also null, missing, and with defaults), aliases, fields that are
 * selected twice, nested fragments, directives, and often a second operation in the document.
 */
export function operationsOf(options: OperationsOptions = {}): fc.Arbitrary<Operation> {
  return fc
    .gen()
    .map((g) =>
      operationOf((items) => items[g(fc.nat, { max: items.length - 1 })] as (typeof items)[number], options),
    );
}

type Choose = <Item>(items: readonly Item[]) => Item;

function operationOf(choose: Choose, { without = [], hasRoutes = false, cursors = [] }: OperationsOptions) {
  const outOf = (times: number) => choose(Array.from({ length: times }, (_, nth) => nth)) === 0;
  const variables: Record<string, unknown> = {};
  let definitions: string[] = [];
  const fragments: string[] = [];
  const hasDirectives = outOf(3);
  let named = 0;

  /** A new name. A few are as long as a name may be, and very few are longer. */
  function nameOf(letter: string): string {
    const name = `${letter}${named++}`;
    if (!outOf(12)) return name;
    return name.padEnd(outOf(20) ? MAX_NAME_LENGTH + 1 : MAX_NAME_LENGTH, 'x');
  }

  function define(type: string, value: unknown, defaultTo?: string): string {
    const name = nameOf('v');
    definitions.push(`$${name}: ${type}${defaultTo === undefined ? '' : ` = ${defaultTo}`}`);
    if (value !== undefined) variables[name] = value;
    return `$${name}`;
  }

  function directives(): string {
    if (!hasDirectives || !outOf(3)) return '';
    const condition = () =>
      choose([
        () => 'true',
        () => 'false',
        () => define('Boolean!', choose([true, false])),
        () => define('Boolean', choose([true, undefined]), 'false'),
        () => define('Boolean', choose([null, false]), 'true'),
      ])();
    return choose([
      () => ` @include(if: ${condition()})`,
      () => ` @skip(if: ${condition()})`,
      () => ` @skip(if: ${condition()}) @include(if: ${condition()})`,
    ])();
  }

  function jsonOf(type: GraphQLInputType, name: string): unknown {
    if (isNonNullType(type)) {
      for (;;) {
        const value = jsonOf(type.ofType, name);
        if (value !== null) return value;
      }
    }
    if (outOf(8)) return null;
    if (isListType(type)) {
      // A single value is coerced to a list of one item.
      if (outOf(5)) return jsonOf(type.ofType, name);
      return Array.from({ length: choose([0, 1, 2, 3]) }, () => jsonOf(type.ofType, name));
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields())
        .filter((field) => isNonNullType(field.type) || outOf(3))
        .filter((field) => field.name !== 'reachableFrom' || hasRoutes);
      return Object.fromEntries(fields.map((field) => [field.name, jsonOf(field.type, field.name)]));
    }
    if (getNamedType(type).name === 'Boolean') return choose([true, false]);
    const values = VALUES[name];
    if (!values) throw new Error(`Expected values for ${name}`);
    return choose(name === 'since' ? [...values, ...cursors] : values);
  }

  /** A JSON value as a literal. @param inPart writes items and fields; the default makes variables of some */
  function literalOf(type: GraphQLInputType, name: string, value: unknown, inPart = partOf): string {
    const inner = isNonNullType(type) ? type.ofType : type;
    if (value === null) return 'null';
    if (isListType(inner) && Array.isArray(value)) {
      return `[${value.map((item) => inPart(inner.ofType, name, item)).join(', ')}]`;
    }
    if (isListType(inner)) return literalOf(inner.ofType, name, value, inPart);
    if (isInputObjectType(inner)) {
      const given = value as Record<string, unknown>;
      const fields = Object.values(inner.getFields()).filter((field) => Object.hasOwn(given, field.name));
      return `{ ${fields.map((field) => `${field.name}: ${inPart(field.type, field.name, given[field.name])}`).join(', ')} }`;
    }
    return isEnumType(inner) ? String(value) : untypedOf(value);
  }

  function partOf(type: GraphQLInputType, name: string, value: unknown): string {
    return outOf(4) ? define(String(type), value) : literalOf(type, name, value);
  }

  function constantOf(type: GraphQLInputType, name: string, value: unknown): string {
    return literalOf(type, name, value, constantOf);
  }

  function argumentOf({ name, type }: GraphQLArgument): string | undefined {
    const isRequired = isNonNullType(type);
    if (!isRequired && outOf(2)) return undefined;
    const value = jsonOf(type, name);
    return choose([
      () => `${name}: ${literalOf(type, name, value)}`,
      () => `${name}: ${define(String(type), outOf(15) ? choose(WRONG) : value)}`,
      () => {
        const nullable = isRequired ? type.ofType : type;
        const given = choose([value, undefined, null]);
        const byDefault = constantOf(type, name, jsonOf(type, name));
        return `${name}: ${define(String(nullable), given, byDefault)}`;
      },
      () => {
        if (!isRequired) return `${name}: ${define(String(type), choose([undefined, null]))}`;
        return `${name}: ${define(String(type), outOf(15) ? undefined : value)}`;
      },
    ])();
  }

  function selectionOf(type: GraphQLNamedType, depth: number, isInList: boolean): string {
    const parts = Array.from({ length: choose([1, 2, 3]) }, () => partOfSelection(type, depth, isInList));
    return parts.join(' ');
  }

  function partOfSelection(type: GraphQLNamedType, depth: number, isInList: boolean): string {
    if (isAbstractType(type)) {
      const on = isInterfaceType(type) && outOf(6) ? type : choose(schema.getPossibleTypes(type));
      const inner = () => selectionOf(on, depth, isInList);
      return choose([
        () => (isInterfaceType(type) ? fieldOf(type, depth, isInList) : `__typename${directives()}`),
        () => `... on ${on.name}${directives()} { ${inner()} }`,
        () => spread(on.name, inner()),
      ])();
    }
    if (outOf(6)) {
      const interfaces = isObjectType(type) ? type.getInterfaces() : [];
      const on = choose<GraphQLNamedType>(outOf(4) ? [type, ...interfaces] : [type]);
      const innerOf = (given: GraphQLNamedType) => selectionOf(given, depth, isInList);
      return choose([
        () => `... on ${on.name}${directives()} { ${innerOf(on)} }`,
        () => `...${directives()} { ${innerOf(type)} }`,
        () => spread(on.name, innerOf(on)),
        () => spreadTwice(on.name, innerOf(on)),
      ])();
    }
    return fieldOf(type, depth, isInList);
  }

  function fragment(on: string, inner: string): string {
    const name = nameOf('F');
    fragments.push(`fragment ${name} on ${on} { ${inner} }`);
    return name;
  }

  function spread(on: string, inner: string): string {
    return `...${fragment(on, inner)}${directives()}`;
  }

  /** Spreads a fragment twice. graphql-js ignores the second spread, unless directives exclude the first. */
  function spreadTwice(on: string, inner: string): string {
    const name = fragment(on, inner);
    return `...${name}${directives()} ...${name}${directives()}`;
  }

  function fieldOf(type: GraphQLNamedType, depth: number, isInList: boolean): string {
    if (!isObjectType(type) && !isInterfaceType(type)) throw new Error(`${type.name} has no fields`);
    const isRoute = (name: string) => name === 'destinations';
    const isRouteArgument = ({ name }: GraphQLArgument) => name === 'srcToken';
    const fields = Object.values(type.getFields())
      .filter(({ name }) => !without.includes(`${type.name}.${name}`))
      .filter(({ name }) => !isRoute(name) || (hasRoutes && !isInList))
      .filter((field) => isLeafType(getNamedType(field.type)) || depth < MAX_DEPTH);
    const asking = fields.filter(
      ({ name, args }) => isRoute(name) || name === 'tokenSearch' || args.some(isRouteArgument),
    );
    const isAsking = hasRoutes === 'often' && asking.length > 0 && outOf(2);
    const field = choose(isAsking ? asking : [undefined, ...fields]);
    if (!field) return outOf(2) ? '__typename' : `${nameOf('a')}: __typename${directives()}`;
    const below = getNamedType(field.type);
    const args = field.args
      .filter((argument) => !isRouteArgument(argument) || (hasRoutes && !isInList))
      .map(argumentOf)
      .filter((argument) => argument !== undefined);
    const isPlain = isLeafType(below) && args.length === 0;
    const head = `${isPlain && outOf(2) ? '' : `${nameOf('a')}: `}${field.name}${args.length ? `(${args.join(', ')})` : ''}`;
    if (isLeafType(below)) return outOf(8) ? `${head}${directives()} ${head}` : head + directives();
    const list = isNonNullType(field.type) ? field.type.ofType : field.type;
    const inner = () => selectionOf(below, depth + 1, isInList || isListType(list));
    const once = () => `${head}${directives()} { ${inner()} }`;
    return outOf(6) ? `${once()} ${once()}` : once();
  }

  const query = schema.getQueryType();
  if (!query) throw new Error('Expected a query type');
  const queries: string[] = [];
  const names = outOf(3) ? ['A', 'B'] : [outOf(2) ? 'A' : ''];
  for (const name of names) {
    definitions = [];
    const selection = selectionOf(query, 0, false);
    queries.push(
      `query ${name}${definitions.length > 0 ? `(${definitions.join(', ')})` : ''} { ${selection} }`,
    );
  }
  const operationName = names.length > 1 ? choose(names) : choose([undefined, names[0]]);
  const text = [...queries, ...fragments].join('\n');
  return operationName ? { query: text, variables, operationName } : { query: text, variables };
}

/** A JSON value as a literal of GraphQL, without regard to its type. */
export function untypedOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(untypedOf).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{ ${Object.entries(value)
    .map(([name, inner]) => `${name}: ${untypedOf(inner)}`)
    .join(', ')} }`;
}
