import {
  GraphQLBoolean,
  GraphQLEnumType,
  type GraphQLFieldConfig,
  GraphQLFloat,
  GraphQLID,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLInterfaceType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLOutputType,
  GraphQLScalarType,
  GraphQLSchema,
  GraphQLString,
  GraphQLUnionType,
} from 'graphql';
import type { Graph } from '../../support/generated-operations.js';
import { COLOR_OBJECT, hash, now, Refused, rows, seedOf, valueFor, type World } from './hostile-values.js';

const Color = new GraphQLEnumType({
  name: 'Color',
  values: { RED: { value: 'r' }, GREEN: { value: 7 }, BLUE: { value: COLOR_OBJECT }, SAME: { value: 'r' } },
});
const Json = new GraphQLScalarType({
  name: 'Json',
  serialize(value) {
    if (value === 'throws') throw new Refused('serialise');
    return typeof value === 'function' ? (value as () => unknown)() : value;
  },
});
const Any = new GraphQLScalarType({ name: 'Any' });
const When = new GraphQLScalarType({
  name: 'When',
  parseLiteral: (node) => new Date('value' in node ? Number(node.value) : 0),
  parseValue: (value) => new Date(Number(value)),
  serialize: (value) => `${now.world.stamp}:${String(value)}`,
});
const Inner = new GraphQLInputObjectType({
  name: 'Inner',
  fields: () => ({
    n: { type: GraphQLInt, defaultValue: 3 },
    list: { type: new GraphQLList(new GraphQLNonNull(GraphQLString)) },
    color: { type: Color, defaultValue: 'r' },
    more: { type: Inner },
  }),
});

type Fields = Record<string, GraphQLFieldConfig<unknown, World>>;

/** A field whose value the seed decides. */
function seeded(type: GraphQLOutputType, name: string): GraphQLFieldConfig<unknown, World> {
  return { type, resolve: (source) => valueFor(type, seedOf(source), name) };
}

const Being: GraphQLInterfaceType = new GraphQLInterfaceType({
  name: 'Being',
  resolveType(value) {
    const { kind } = value as { kind: string };
    if (now.world.evil > 0 && hash(seedOf(value), 'type') % 100 < now.world.evil) {
      const odd: readonly (() => unknown)[] = [
        () => undefined,
        () => 'Nope',
        () => 'Rock',
        () => 'Being',
        () => Promise.resolve(kind),
        () => Promise.reject(new Refused('type')),
        () => Cat,
      ];
      return odd[seedOf(value) % odd.length]?.() as string;
    }
    return kind;
  },
  fields: () => ({
    id: { type: new GraphQLNonNull(GraphQLID) },
    name: { type: GraphQLString },
    friend: { type: Being },
    kin: { type: new GraphQLList(new GraphQLNonNull(Being)) },
  }),
});

function beingFields(own: Fields): () => Fields {
  return () => ({
    id: seeded(new GraphQLNonNull(GraphQLID), 'id'),
    name: { type: GraphQLString },
    friend: seeded(Being, 'friend'),
    kin: seeded(new GraphQLList(new GraphQLNonNull(Being)), 'kin'),
    thing: seeded(Thing, 'thing'),
    // Names that have a meaning in JavaScript.
    // biome-ignore lint/suspicious/noThenProperty: the code must not treat it as a promise.
    then: seeded(GraphQLString, 'then'),
    toJSON: seeded(GraphQLInt, 'toJSON'),
    constructor: seeded(new GraphQLList(GraphQLFloat), 'constructor'),
    ...own,
  });
}

const isEvil = (value: unknown, name: string) => hash(seedOf(value), name) % 100 < now.world.evil;

const Cat: GraphQLObjectType = new GraphQLObjectType({
  name: 'Cat',
  interfaces: [Being],
  isTypeOf(value) {
    if (isEvil(value, 'isCat')) return Promise.reject(new Refused('isTypeOf'));
    return (value as { kind?: string }).kind === 'Cat';
  },
  fields: beingFields({
    color: seeded(new GraphQLNonNull(Color), 'color'),
    json: seeded(Json, 'json'),
    cubs: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLList(GraphQLString))),
      resolve: (source) =>
        valueFor(new GraphQLNonNull(new GraphQLList(new GraphQLList(GraphQLString))), seedOf(source), 'cubs'),
    },
  }),
});
const Dog: GraphQLObjectType = new GraphQLObjectType({
  name: 'Dog',
  interfaces: [Being],
  isTypeOf: (value) => !isEvil(value, 'isDog') && (value as { kind?: string }).kind === 'Dog',
  fields: beingFields({
    bones: seeded(new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLInt))), 'bones'),
    good: seeded(GraphQLBoolean, 'good'),
    tricks: {
      type: Json,
      args: { n: { type: GraphQLInt, defaultValue: 1 } },
      resolve: (source, args) => [seedOf(source), args],
    },
  }),
});
const Rock: GraphQLObjectType = new GraphQLObjectType({
  name: 'Rock',
  isTypeOf: (value) => (value as { kind?: string }).kind === 'Rock',
  fields: () => ({
    weight: seeded(new GraphQLNonNull(GraphQLFloat), 'weight'),
    row: seeded(Row, 'row'),
    on: seeded(Thing, 'on'),
  }),
});
/** Has no `resolveType`: `__typename` and `isTypeOf` decide. */
const Thing: GraphQLUnionType = new GraphQLUnionType({ name: 'Thing', types: () => [Cat, Dog, Rock] });

const Nested = new GraphQLObjectType({
  name: 'Nested',
  fields: { a: { type: GraphQLString }, b: { type: GraphQLInt } },
});
const Row: GraphQLObjectType = new GraphQLObjectType({
  name: 'Row',
  fields: {
    id: { type: new GraphQLNonNull(GraphQLID) },
    text: { type: GraphQLString },
    size: { type: GraphQLInt },
    weight: { type: GraphQLFloat },
    color: { type: Color },
    nested: { type: Nested },
    label: {
      type: GraphQLString,
      resolve: (row) => `label ${(row as { id: unknown }).id}`,
    },
    /** Shows the context, so its JSON must never be kept. */
    seen: { type: GraphQLInt, resolve: (_row, _args, { stamp }) => stamp },
    when: { type: When, resolve: () => 1 },
  },
});

const ECHO_ARGS = {
  s: { type: GraphQLString },
  n: { type: GraphQLInt, defaultValue: 20 },
  f: { type: GraphQLFloat },
  b: { type: GraphQLBoolean, defaultValue: null },
  e: { type: Color, defaultValue: 7 },
  ids: { type: new GraphQLList(new GraphQLNonNull(GraphQLID)) },
  inner: { type: Inner, defaultValue: { n: 5, color: 'r' } },
  inners: { type: new GraphQLList(Inner) },
  any: { type: Any },
  when: { type: When },
};

const list = (type: GraphQLOutputType) => new GraphQLList(type);
const strict = (type: GraphQLOutputType) => new GraphQLNonNull(type as GraphQLObjectType);

const Query: GraphQLObjectType<unknown, World> = new GraphQLObjectType<unknown, World>({
  name: 'Query',
  fields: (): Fields => ({
    being: seeded(Being, 'being'),
    beings: {
      ...seeded(list(Being), 'beings'),
      args: { seed: { type: GraphQLInt, defaultValue: 1 } },
      resolve: (_q, { seed }) => valueFor(list(Being), Number(seed), 'beings'),
    },
    strictBeings: seeded(strict(list(strict(Being))), 'strictBeings'),
    cats: {
      ...seeded(list(strict(Cat)), 'cats'),
      args: { seed: { type: new GraphQLNonNull(GraphQLInt) } },
      resolve: (_q, { seed }) => valueFor(list(strict(Cat)), Number(seed), 'cats'),
    },
    things: {
      ...seeded(list(list(Thing)), 'things'),
      args: { seed: { type: GraphQLInt } },
      resolve: (_q, { seed }) => valueFor(list(list(Thing)), Number(seed), 'things'),
    },
    matrix: seeded(strict(list(list(strict(GraphQLInt)))), 'matrix'),
    rows: { type: list(Row), resolve: () => (now.world.evil > 0 ? rows : rows.slice(0, 5)) },
    strictRow: {
      type: strict(Row),
      args: { n: { type: GraphQLInt, defaultValue: 0 } },
      resolve: (_q, { n }) => rows[Number(n) % 5] ?? rows[0],
    },
    echo: { type: Json, args: ECHO_ARGS, resolve: (_q, args) => args },
    /** Changes its arguments, which graphql-js makes for every call. */
    spoil: {
      type: Json,
      args: ECHO_ARGS,
      resolve(_q, args) {
        const shown = JSON.stringify(args);
        args.s = 'spoiled';
        for (const inner of [args.inners, args.any]) if (Array.isArray(inner)) inner.push(null);
        return shown;
      },
    },
    query: {
      type: Query,
      args: { seed: { type: GraphQLInt } },
      resolve: (_q, { seed }) => ({ seed: Number(seed ?? 1) }),
    },
    number: { type: Cat, resolve: () => (now.world.evil > 0 ? 5 : null) },
    info: {
      type: GraphQLString,
      args: ECHO_ARGS,
      resolve: (
        _q,
        _args,
        _c,
        {
          fieldName,
          fieldNodes,
          returnType,
          parentType,
          fragments,
          variableValues,
          operation,
          schema: whole,
          rootValue,
        },
      ) =>
        JSON.stringify([
          fieldName,
          fieldNodes.length,
          String(returnType),
          parentType.name,
          Object.keys(fragments),
          variableValues,
          operation.name?.value,
          whole === schema,
          rootValue,
        ]),
    },
    path: {
      type: GraphQLString,
      resolve(_q, _args, _c, info) {
        try {
          return String(info.path.key);
        } catch {
          return 'caught';
        }
      },
    },
    later: {
      type: GraphQLString,
      async resolve(_q, _args, _c, info) {
        await null;
        return JSON.stringify(info.variableValues);
      },
    },
  }),
});

export const schema: GraphQLSchema = new GraphQLSchema({ query: Query, types: [Cat, Dog, Rock] });

/** By the names of types. */
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  Int: [0, 1, 3, -7, 2 ** 31 - 1],
  Float: [0.5, 7, -0, 1e3],
  String: ['text', '"\u2028', ''],
  ID: ['id', 5],
  Color: ['RED', 'GREEN', 'BLUE', 'SAME'],
  Any: [1, { a: [1, { b: 'x' }] }, 'any', [true], [{ b: null }]],
  When: [5, '7'],
};

/** The writer leaves most of the rare fields to graphql-js. The aliases have a meaning in JavaScript. */
export const hostileGraph: Graph = {
  schema,
  valuesOf: ({ name }) => VALUES[name],
  rare: ['path', 'spoil', 'later'],
  aliases: ['then', 'toJSON', '__proto__', 'constructor'],
};
