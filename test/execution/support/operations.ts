import fc from 'fast-check';
import {
  type GraphQLArgument,
  type GraphQLInputType,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isAbstractType,
  isInputObjectType,
  isInterfaceType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { randomFrom } from '../../support/random.js';

/** An operation with variables. Most are valid for their schema. */
export interface Generated {
  readonly text: string;
  readonly variables: Readonly<Record<string, unknown>>;
}

const MAX_DEPTH = 4;
/** Names that mean something in JavaScript. Each is used once in a document, so that few fields conflict. */
const ALIASES = ['then', 'toJSON', '__proto__', 'constructor'];
/** Fields that few operations ask for: the writer leaves most of them to graphql-js. */
const RARE = ['path', 'spoil', 'later'];

/** Documents and their parts are made of literals of these types. */
const LITERALS: Readonly<Record<string, readonly string[]>> = {
  Int: ['0', '1', '2', '5', '-7', '2147483647'],
  Float: ['0.5', '1e3', '7'],
  String: ['"text"', '"\\"\\u2028"', '""'],
  ID: ['"id"', '5'],
  Boolean: ['true', 'false'],
  Color: ['RED', 'GREEN', 'BLUE', 'SAME'],
  Any: ['1', '{ a: [1, { b: "x" }] }', '"any"', '[true]'],
  When: ['5', '"7"'],
};
const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  Int: [0, 1, 3, -7],
  Float: [0.5, 7, -0],
  String: ['text', '"', ''],
  ID: ['id', 5],
  Boolean: [true, false],
  Color: ['RED', 'GREEN', 'BLUE'],
  Any: [1, { a: [1] }, 'any', [{ b: null }]],
  When: [5, '7'],
};

/** Values that few types take. */
const WRONG: readonly unknown[] = [
  {},
  [[]],
  2 ** 31,
  'PINK',
  true,
  0.5,
  { nope: 1 },
  { n: null, constructor: 1 },
];

/**
 * Operations for any schema with arguments of the types above. Of one seed and size comes one operation: to choose
 * each part by fast-check takes longer than to execute them.
 */
export function operationsFor(schema: GraphQLSchema): fc.Arbitrary<Generated> {
  return fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer()).map(([size, seed]) => {
    const random = randomFrom(seed);
    const choose = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    return new Generator(schema, choose, size).generate();
  });
}

class Generator {
  private readonly variables: Record<string, unknown> = {};
  private readonly definitions: string[] = [];
  private readonly fragments: { readonly name: string; readonly on: string; readonly text: string }[] = [];
  private names = 0;
  private readonly aliases = [...ALIASES];

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly choose: <Item>(items: readonly Item[]) => Item,
    /** How many fields there may be before only leaves are chosen. */
    private budget: number,
  ) {}

  generate(): Generated {
    const query = this.schema.getQueryType();
    if (!query) throw new Error('Expected a query type');
    const selection = this.selectionOf(query, 0);
    const definitions = this.definitions.length > 0 ? `(${this.definitions.join(', ')})` : '';
    const fragments = this.fragments.map(({ name, on, text }) => `fragment ${name} on ${on} { ${text} }`);
    return {
      text: [`query Q${definitions} { ${selection} }`, ...fragments].join('\n'),
      variables: this.variables,
    };
  }

  private outOf(times: number): boolean {
    return this.choose(Array.from({ length: times }, (_, nth) => nth)) === 0;
  }

  private define(type: string, value: unknown, byDefault?: string): string {
    const name = `v${this.names++}`;
    this.definitions.push(`$${name}: ${type}${byDefault === undefined ? '' : ` = ${byDefault}`}`);
    if (value !== undefined) this.variables[name] = value;
    return `$${name}`;
  }

  private alias(): string {
    return `${(this.outOf(4) && this.aliases.pop()) || `x${this.names++}`}: `;
  }

  private directives(): string {
    if (!this.outOf(5)) return '';
    const condition = () =>
      this.choose([
        () => 'true',
        () => 'false',
        () => this.define('Boolean!', this.choose([true, false])),
        () => this.define('Boolean', this.choose([true, undefined, null]), this.choose(['true', 'false'])),
        () => (this.names > 0 && this.definitions[0]?.startsWith('$v0: Boolean!') ? '$v0' : 'true'),
      ])();
    return this.choose([
      () => ` @include(if: ${condition()})`,
      () => ` @skip(if: ${condition()})`,
      () => ` @skip(if: ${condition()}) @include(if: ${condition()})`,
    ])();
  }

  private selectionOf(type: GraphQLNamedType, depth: number): string {
    const parts = Array.from({ length: this.choose([1, 2, 3, 5]) }, () => this.partOf(type, depth));
    return parts.join(' ');
  }

  private partOf(type: GraphQLNamedType, depth: number): string {
    if (isAbstractType(type)) {
      const conditions = [...this.schema.getPossibleTypes(type), ...(isInterfaceType(type) ? [type] : [])];
      return this.choose([
        () => `__typename${this.directives()}`,
        () => (isInterfaceType(type) ? this.fieldOf(type, depth) : '__typename'),
        () => this.inline(this.choose(conditions), depth),
        () => this.inline(this.choose(conditions), depth),
        () => this.spread(this.choose(conditions), depth),
      ])();
    }
    if (this.outOf(5)) {
      const interfaces = isObjectType(type) ? type.getInterfaces() : [];
      const on = this.choose([type, ...interfaces]);
      return this.choose([
        () => this.inline(on, depth),
        () => `...${this.directives()} { ${this.selectionOf(type, depth + 1)} }`,
        () => this.spread(on, depth),
      ])();
    }
    return this.fieldOf(type, depth);
  }

  private inline(on: GraphQLNamedType, depth: number): string {
    return `... on ${on.name}${this.directives()} { ${depth < MAX_DEPTH ? this.selectionOf(on, depth + 1) : '__typename'} }`;
  }

  private spread(on: GraphQLNamedType, depth: number): string {
    const known = this.fragments.filter((fragment) => fragment.on === on.name);
    if (known.length > 0 && this.outOf(2)) return `...${this.choose(known).name}${this.directives()}`;
    const text = depth < MAX_DEPTH ? this.selectionOf(on, depth + 1) : '__typename';
    const name = `F${this.fragments.length}`;
    this.fragments.push({ name, on: on.name, text });
    return `...${name}${this.directives()}`;
  }

  private fieldOf(type: GraphQLNamedType, depth: number): string {
    if (!isObjectType(type) && !isInterfaceType(type)) return '__typename';
    const fields = Object.values(type.getFields()).filter(
      (field) => isLeafType(getNamedType(field.type)) || (depth < MAX_DEPTH && this.budget > 0),
    );
    this.budget--;
    const isRare = this.outOf(15);
    const field = this.choose([undefined, ...fields.filter(({ name }) => isRare || !RARE.includes(name))]);
    if (!field) return `${this.outOf(2) ? '' : this.alias()}__typename`;
    const args = field.args.map((argument) => this.argumentOf(argument)).filter((text) => text !== undefined);
    const alias =
      args.length > 0 || this.outOf(4) ? this.alias() : field.args.length > 0 ? `${field.name}0: ` : '';
    const head = `${alias}${field.name}${args.length > 0 ? `(${args.join(', ')})` : ''}`;
    const below = getNamedType(field.type);
    const once = () =>
      `${head}${this.directives()}${isLeafType(below) ? '' : ` { ${this.selectionOf(below, depth + 1)} }`}`;
    return this.outOf(6) ? `${once()} ${once()}` : once();
  }

  private argumentOf({ name, type }: GraphQLArgument): string | undefined {
    if (!isNonNullType(type) && !this.outOf(3)) return undefined;
    return this.choose([
      () => `${name}: ${this.literalOf(type)}`,
      () => `${name}: ${this.define(String(type), this.valueOf(type))}`,
      () => {
        const given = this.choose([undefined, null, this.valueOf(type)]);
        if (!isNonNullType(type)) return `${name}: ${this.define(String(type), given)}`;
        return `${name}: ${this.define(String(type.ofType), given, '3')}`;
      },
    ])();
  }

  private literalOf(type: GraphQLInputType): string {
    if (isNonNullType(type)) return this.literalOf(type.ofType).replace(/^null$/, '0');
    if (this.outOf(8)) return 'null';
    if (isListType(type)) {
      if (this.outOf(4)) return this.literalOf(type.ofType);
      return `[${Array.from({ length: this.choose([0, 1, 2]) }, () => this.inner(type.ofType)).join(', ')}]`;
    }
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(() => this.outOf(3));
      return `{ ${fields.map((field) => `${field.name}: ${this.inner(field.type)}`).join(', ')} }`;
    }
    return this.choose(LITERALS[type.name] ?? ['null']);
  }

  private inner(type: GraphQLInputType): string {
    return this.outOf(4)
      ? this.define(String(type), this.choose([undefined, this.valueOf(type)]))
      : this.literalOf(type);
  }

  private valueOf(type: GraphQLInputType): unknown {
    if (isNonNullType(type)) return this.valueOf(type.ofType) ?? 1;
    if (this.outOf(8)) return null;
    if (this.outOf(60)) return this.choose(WRONG);
    if (isListType(type) && this.outOf(6)) return this.valueOf(type.ofType);
    if (isListType(type))
      return Array.from({ length: this.choose([0, 1, 2]) }, () => this.valueOf(type.ofType));
    if (isInputObjectType(type)) {
      const fields = Object.values(type.getFields()).filter(() => this.outOf(3));
      return Object.fromEntries(fields.map((field) => [field.name, this.valueOf(field.type)]));
    }
    return this.choose(VALUES[type.name] ?? [null]);
  }
}
