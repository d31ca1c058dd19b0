import { GraphQLList, GraphQLNonNull, type GraphQLOutputType } from 'graphql';

/*
 * Everything that a resolver can return. A value depends on the world, its field and the seed of its
 * object alone, so that two executions of an operation meet the same values in any order.
 */

/** The input of resolvers besides their source. */
export interface World {
  /** Percentage of values that are errors, promises and the like. */
  readonly evil: number;
  /** Percentage of values that are null. */
  readonly nulls: number;
  /** Worlds with different numbers have different values for equal seeds. */
  readonly luck: number;
  /** Differs from one execution to the next, and is part of some values. */
  readonly stamp: number;
}

/** The world of the running execution, for getters. */
export const now: { world: World } = { world: { evil: 0, nulls: 0, luck: 0, stamp: 0 } };

export function enterWorld(world: World): void {
  now.world = world;
}

export function hash(seed: number, text: string): number {
  let mixed = seed ^ now.world.luck ^ 0x9e3779b9;
  for (let index = 0; index < text.length; index++)
    mixed = Math.imul(mixed ^ text.charCodeAt(index), 0x85ebca6b);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

export class Refused extends Error {}

/** Values that no type accepts. Made for each use, since promises and errors have an identity. */
const EVILS: readonly ((usual: unknown) => unknown)[] = [
  () => {
    throw new Refused('thrown');
  },
  () => {
    throw null;
  },
  () => new Refused('returned'),
  (usual) => Promise.resolve(usual),
  () => Promise.reject(new Refused('rejected')),
  (usual) => ({
    // biome-ignore lint/suspicious/noThenProperty: an unusual promise.
    then: (resolve: (value: unknown) => void) => resolve(usual),
  }),
  () => undefined,
  () => null,
  () => () => 'called',
  () => Number.NaN,
  () => Symbol('symbol'),
  () => 10n,
  () => ({}),
  (usual) => new Set([usual]),
  (usual) => [usual],
  () => 'no list',
  () => 1.5,
  () => 2 ** 31,
  (usual) => Object.assign([usual], { *[Symbol.iterator]() {} }),
];

const TEXTS: readonly unknown[] = [
  'plain',
  '',
  'a "quote"',
  'back\\slash',
  'line\nfeed\u0000\u001f',
  '\u2028\u2029',
  '\u007f\u0080é☃',
  '\u{1f41f}',
  'lone \ud800',
  '\udc00 lone',
  'x'.repeat(300),
  5,
  -0,
  1e21,
  0.1,
  true,
  { valueOf: () => 'of an object' },
  '__proto__',
];
const POOLS: Readonly<Record<string, readonly unknown[]>> = {
  String: TEXTS,
  ID: ['a', '"', 7, -0, 2 ** 40, '\ud83d'],
  Int: [0, -0, 1, -1, 2 ** 31 - 1, -(2 ** 31), '12', true, { valueOf: () => 3 }],
  Float: [0, -0, 1e21, 1e-7, 0.1 + 0.2, '1.5', false, Number.MAX_VALUE, 5e-324, 1_000_000],
  Boolean: [true, false, 0, 1, -0],
  Color: ['r', 7, null, undefined],
  Json: [
    1,
    -0,
    'text "',
    { b: [1, undefined, 'x'], a: undefined },
    [Number.NaN, () => 1],
    true,
    '\ud800',
    { toString: 1 },
  ],
};
const JSON_EVILS: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => -0,
  () => 10n,
  () => ({ in: 10n }),
  () => () => 1,
  () => Symbol('s'),
  () => new Date(0),
  () => ({ toJSON: (key: string) => `at ${key}` }),
  () => ({ toJSON: () => undefined }),
  () => Number.POSITIVE_INFINITY,
  () => ({
    get got(): never {
      throw new Refused('getter');
    },
  }),
  () => Promise.resolve(1),
  () => Promise.reject(new Refused('x')),
  () => new Refused('serialised'),
  () => Object(1),
  () => ({ deep: { toJSON: (key: string) => key } }),
];

interface Seeded {
  readonly seed: number;
}

export function seedOf(source: unknown): number {
  return typeof source === 'object' && source !== null ? ((source as Partial<Seeded>).seed ?? 1) : 1;
}

export const COLOR_OBJECT = { an: 'object' };

function poolOf(type: GraphQLOutputType): string {
  return String(type).replaceAll(/[[\]!]/g, '');
}

/** A value that the type accepts, and sometimes one that it does not. */
export function valueFor(type: GraphQLOutputType, seed: number, name: string, depth = 0): unknown {
  const { evil, nulls } = now.world;
  const dice = hash(seed, `${name}/${depth}`);
  if (dice % 100 < evil) {
    if (poolOf(type) === 'Json' && dice % 2 === 0) return JSON_EVILS[(dice >>> 8) % JSON_EVILS.length];
    // Not the first two kinds within a list: they end or hide an unfinished list, and its promises could not be handled.
    const made = depth > 0 ? EVILS.slice(2) : EVILS;
    const isList = String(type).startsWith('[');
    return made[(dice >>> 8) % made.length]?.(isList ? undefined : usualOf(type, seed, name, depth, dice));
  }
  if (!(type instanceof GraphQLNonNull) && (dice >>> 4) % 100 < nulls) {
    return dice % 2 === 0 ? null : undefined;
  }
  return usualOf(type, seed, name, depth, dice);
}

function usualOf(type: GraphQLOutputType, seed: number, name: string, depth: number, dice: number): unknown {
  if (type instanceof GraphQLNonNull) return usualOf(type.ofType, seed, name, depth, dice);
  if (type instanceof GraphQLList) {
    const items = Array.from({ length: (dice >>> 6) % 4 }, (_, index) =>
      valueFor(type.ofType, hash(seed, `${name}[${index}`), name, depth + 1),
    );
    // A hole in the array, which counts as null.
    if (dice % 7 === 0 && !(type.ofType instanceof GraphQLNonNull)) delete items[0];
    return dice % 3 === 0 ? Object.freeze(items) : items;
  }
  const pool = poolOf(type);
  if (pool === 'Color') return now.world.evil > 0 && dice % 3 === 0 ? COLOR_OBJECT : POOLS.Color?.[dice % 2];
  if (pool === 'When') return dice % 1000;
  // The writer leaves objects that stand for scalars to graphql-js.
  const values = POOLS[pool]?.filter((value) => now.world.evil > 0 || typeof value !== 'object');
  if (values) return values[(dice >>> 5) % values.length];
  if (pool === 'Row') return rows[dice % (now.world.evil > 0 ? rows.length : 5)];
  return beingOf(pool, dice);
}

class Instance {
  constructor(
    readonly seed: number,
    readonly kind: string,
  ) {}
  get name(): string {
    return `instance ${this.seed}`;
  }
}

function beingOf(type: string, seed: number): unknown {
  const kinds = { Cat: ['Cat'], Dog: ['Dog'], Rock: ['Rock'] }[type] ?? [
    'Cat',
    'Dog',
    ...(type === 'Being' ? [] : ['Rock']),
  ];
  const kind = kinds[seed % kinds.length] ?? 'Cat';
  const marks = type === 'Thing' && seed % 4 === 0 ? { __typename: kind } : {};
  switch ((seed >>> 3) % 5) {
    case 0:
      return Object.freeze({ seed, kind, name: 'frozen', ...marks });
    case 1:
      return new Instance(seed, kind);
    case 2:
      // The world decides, although it is frozen.
      return Object.freeze({
        seed,
        kind,
        get name() {
          return `stamp ${now.world.stamp}`;
        },
        ...marks,
      });
    case 3:
      return Object.assign(Object.create(null), { seed, kind, name: 'no prototype', ...marks });
    default:
      return { seed, kind, name: `mutable ${now.world.stamp}`, ...marks };
  }
}

export const rows: readonly unknown[] = [
  Object.freeze({
    seed: 1,
    id: 'row',
    text: 'te"xt',
    size: 1,
    weight: 0.5,
    color: 'r',
    nested: Object.freeze({ a: 'a', b: 2 }),
  }),
  Object.freeze({ seed: 2, id: 5, text: null, size: -0, weight: 1e21, color: 7, nested: null }),
  Object.freeze({
    seed: 3,
    id: 'getter',
    get text() {
      return `stamp ${now.world.stamp}`;
    },
    size: 3,
    weight: 3,
    color: 'r',
    nested: null,
  }),
  Object.freeze({
    seed: 4,
    id: 'not frozen within',
    text: '',
    size: 4,
    weight: 4,
    color: 'r',
    nested: {
      get a() {
        return `stamp ${now.world.stamp}`;
      },
      b: 1,
    },
  }),
  {
    seed: 5,
    id: 'not frozen',
    get text() {
      return `stamp ${now.world.stamp}`;
    },
    size: 5,
    weight: 5,
    color: 'r',
    nested: null,
  },
  Object.freeze({
    seed: 6,
    id: 'of an object',
    text: { valueOf: () => `stamp ${now.world.stamp}` },
    size: 6,
    weight: 6,
    color: 'r',
    nested: null,
  }),
  Object.freeze(
    Object.assign(
      Object.create({
        get text() {
          return `stamp ${now.world.stamp}`;
        },
      }),
      { seed: 7, id: 'inherits', size: 7, weight: 7, color: 'r' },
    ),
  ),
  Object.freeze({ seed: 8, id: 'short' }),
];
