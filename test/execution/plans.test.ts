/** The operation writer writes a response exactly as graphql-js does, or leaves the operation to graphql-js. */
import fc from 'fast-check';
import {
  buildSchema,
  type ExecutionResult,
  execute,
  type GraphQLFieldResolver,
  GraphQLObjectType,
  type GraphQLSchema,
  getVariableValues,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { expect, it } from 'vitest';
import { exceedsBytes } from '../../src/execution/json.js';
import { createCoercion } from '../../src/execution/variables.js';
import { collectUnhandledRejections } from '../support/ends.js';
import { startServer } from '../support/test-server.js';
import { createWriter } from './support/writer.js';

type Resolve = (source: unknown) => unknown;

/** A schema with these resolvers, by `Type.field`; `Type` alone stands for `isTypeOf` or `resolveType`. */
function schemaWith(resolvers: Readonly<Record<string, Resolve>>): GraphQLSchema {
  const schema = buildSchema(
    `type Query { text: String texts: [String!] lists: [[String]] row: Row rows: [Row!] node: Node all: All }
     interface Node { a: String }
     type Row implements Node { a: String b: String row: Row }
     type All {
       text: String id: ID count: Int ratio: Float flag: Boolean color: Color json: Json strict: String!
       texts: [String!] lists: [[String]] row: Row rows: [Row!] node: Node thing: Thing
     }
     union Thing = Row | All
     scalar Json
     enum Color { RED }`,
  );
  for (const [path, resolve] of Object.entries(resolvers)) {
    const [typeName = '', fieldName] = path.split('.');
    const type = schema.getType(typeName);
    if (fieldName === undefined) Object.assign(type ?? {}, { isTypeOf: resolve, resolveType: resolve });
    else if (type instanceof GraphQLObjectType) Object.assign(type.getFields()[fieldName] ?? {}, { resolve });
  }
  return schema;
}

const written = (schema: GraphQLSchema, text: string) => createWriter(schema, text)({});
const textOf = (parts: readonly Buffer[] | undefined) => parts && Buffer.concat(parts).toString();
const executed = (schema: GraphQLSchema, text: string) =>
  JSON.stringify(execute({ schema, document: parse(text) }) as ExecutionResult);

it('a plan writes long responses of any characters', () => {
  const characters = ['plain', 'é☃', '\u{1f41f}', '\ud83d', '"\n'];
  const schema = schemaWith({
    'Query.texts': () => Array.from({ length: 50_000 }, (_, nth) => characters[nth % 5]),
  });
  const parts = written(schema, '{ texts }') ?? [];
  expect(Buffer.concat(parts).equals(Buffer.from(executed(schema, '{ texts }')))).toBe(true);
});

const rejected = () => Promise.reject(new Error('It fails'));
it.each<[string, Readonly<Record<string, Resolve>>]>([
  ['{ text }', { 'Query.text': rejected }],
  ['{ row { a } }', { 'Query.row': rejected }],
  ['{ texts }', { 'Query.texts': rejected }],
  ['{ texts }', { 'Query.texts': () => ['a', rejected(), rejected()] }],
  ['{ lists }', { 'Query.lists': () => [['a', rejected()], [rejected()], rejected()] }],
  ['{ texts }', { 'Query.texts': () => [null, rejected()] }],
  ['{ text }', { 'Query.text': () => [rejected()] }],
  ['{ row { a } }', { 'Query.row': () => ({}), Row: rejected }],
  ['{ node { a } }', { 'Query.node': () => ({}), Node: rejected }],
  ['{ rows { a } }', { 'Query.rows': () => [{}, rejected(), rejected()], Row: rejected }],
])('a plan handles rejections, which would end the process: %s', async (text, resolvers) => {
  const unhandled = collectUnhandledRejections();
  expect(written(schemaWith(resolvers), text)).toBeUndefined();
  expect(await unhandled()).toEqual([]);
});

const always = (value: unknown) => () => value;

/** Each makes a value that a resolver can return in place of its usual one: a new one, as a promise has a state. */
const ODD_VALUES: readonly ((usual: unknown) => unknown)[] = [
  () => {
    throw new Error('thrown');
  },
  () => {
    throw null;
  },
  () => new Error('returned'),
  (usual) => Promise.resolve(usual),
  () => Promise.reject(new Error('rejected')),
  (usual) => ({
    // biome-ignore lint/suspicious/noThenProperty: an unusual promise.
    then: (resolve: (value: unknown) => void) => resolve(usual),
  }),
  () => () => 'called',
  ...[undefined, null, true, Number.NaN, Number.POSITIVE_INFINITY, -0, 1.5, 2 ** 31, 1e21, 10n].map(always),
  ...['12', 'a "quote"\\, \n\u0000\u001f\u2028\u007fé☃\u{1f41f}', 'lone \ud800', '__proto__'].map(always),
  () => Symbol('symbol'),
  () => ({}),
  () => Object.create(null) as object,
  () => ({ valueOf: () => 3 }),
  () => ({ toJSON: (key: string) => `at ${key}` }),
  () => new Date(0),
  () => ({
    get a(): never {
      throw new Error('getter');
    },
  }),
  (usual) => new Set([usual]),
  (usual) => [usual],
  (usual) => [usual, Promise.reject(new Error('item'))],
  // A hole counts as null.
  () => new Array(2),
  (usual) => Object.assign([usual], { *[Symbol.iterator]() {} }),
];

const ROW = { __typename: 'Row', a: 'x' };
const USUAL = {
  ...{ text: 'x', id: 7, count: 1, ratio: 0.5, flag: true, color: 'RED', json: 'x', strict: 'x' },
  ...{ texts: ['x'], lists: [['x'], null], row: ROW, rows: [ROW], node: ROW, thing: ROW },
};

it.each(Object.entries(USUAL))('field %s is written as by graphql-js or not at all', async (name, usual) => {
  const unhandled = collectUnhandledRejections();
  const below = JSON.stringify(usual).includes('Row') ? ' { ... on Row { a } }' : '';
  const text = `{ all { ${name}${below} } }`;
  for (const [nth, makeOdd] of [() => usual, ...ODD_VALUES].entries()) {
    const get = () => makeOdd(usual);
    for (const resolvers of [
      { 'Query.all': () => ({}), [`All.${name}`]: get },
      { 'Query.all': () => Object.defineProperty({}, name, { enumerable: true, get }) },
    ]) {
      const schema = schemaWith(resolvers);
      const result = execute({ schema, document: parse(text) });
      const { errors } = await result;
      const own = textOf(written(schema, text));
      if (nth === 0 || own !== undefined)
        expect([nth, own]).toEqual([
          nth,
          errors || result instanceof Promise ? undefined : JSON.stringify(result),
        ]);
    }
  }
  // graphql-js, too, leaves rejections unhandled; another test is about the writer alone.
  await unhandled();
});

it('a resolver that reads its path leaves the operation to graphql-js', () => {
  const resolve: GraphQLFieldResolver<unknown, unknown> = (_query, _args, _context, { path }) => path.key;
  const schema = schemaWith({ 'Query.text': resolve as unknown as Resolve });
  expect(written(schema, '{ text }')).toBeUndefined();
});

const schema = buildSchema(
  `type Query { a: Int } enum Color { RED GREEN }
     input Inner { n: Int = 3 list: [String!] color: Color = RED more: Inner }`,
);
const scalars = fc.constantFrom<unknown[]>(
  ...[undefined, null, 0, 1.5, -0, 2 ** 31, 'x', '7', 'RED', true, {}, []],
);
const { value } = fc.letrec((tie) => ({
  value: fc.oneof({ depthSize: 'small' }, scalars, fc.array(tie('value'), { maxLength: 3 }), tie('inner')),
  inner: fc.record(
    {
      n: fc.oneof({ weight: 9, arbitrary: fc.constantFrom(1, null, undefined) }, tie('value')),
      list: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('x', ['x']) }, tie('value')),
      color: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('RED', 'GREEN') }, tie('value')),
      more: fc.oneof({ weight: 9, arbitrary: tie('inner') }, tie('value')),
      constructor: scalars,
    },
    { requiredKeys: [], noNullPrototype: true },
  ),
}));

it.each(['Int', 'Float!', 'ID', 'Boolean', 'Color', 'Inner', 'Inner!', '[[Inner]]', '[String!]!', 'Nope'])(
  'variables are coerced as by graphql-js or not at all: %s',
  (type) => {
    const text = `query ($v: ${type}, $other: ${type.replace(/!$/, '')} = null) { a }`;
    const { definitions } = parse(text);
    const [operation] = definitions as [OperationDefinitionNode];
    const coerceVariables = createCoercion(schema);
    fc.assert(
      fc.property(value, fc.boolean(), (v, isGiven) => {
        const given = isGiven ? { v } : {};
        const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], given);
        expect(coerceVariables(operation, given)).toStrictEqual(coerced);
      }),
    );
  },
);

const bytesOf = (parts: readonly Buffer[] | undefined) =>
  parts?.reduce((bytes, { length }) => bytes + length, 0);

it('the limit on bytes applies to kept JSON, too', () => {
  const rows = Object.freeze(
    Array.from({ length: 30 }, (_, b) => Object.freeze({ a: 'x'.repeat(99_997), b })),
  );
  const schema = schemaWith({ 'Query.rows': () => rows });
  const tracker = {
    track(write: () => void) {
      write();
      return {};
    },
    repeat: () => true,
  };
  const twice = createWriter(schema, '{ rows { a } again: rows { a } }', 1e9);
  const thrice = createWriter(schema, '{ rows { a } x: rows { a } y: rows { a } }', 1e9);
  for (let nth = 0; nth < 3; nth++) {
    expect(bytesOf(twice({ tracker }))).toBeGreaterThan(6_000_000);
    expect(thrice({ tracker })).toBeUndefined();
  }
});

it('the limit on bytes is checked exactly, without making the JSON', () => {
  const values = [
    // fast-check takes two seconds to make its unit `binary`.
    fc.string({ unit: fc.nat(0x10ffff).map((code) => String.fromCodePoint(code)) }),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  ];
  fc.assert(
    fc.property(fc.object({ key: fc.stringMatching(/^[a-z]\w{0,9}$/), values }), (value) => {
      const bytes = Buffer.byteLength(JSON.stringify(value));
      expect(exceedsBytes(value, bytes)).toBe(false);
      expect(exceedsBytes(value, bytes - 1)).toBe(true);
    }),
  );
});

it.each([
  ['{ then: __typename }', '{"data":{"then":"Query"}}'],
  ['{ chain(chainKey: "base") { then: name } }', '{"data":{"chain":{"then":"Base"}}}'],
  ['{ chains(search: "base") { then: chainKey } }', '{"data":{"chains":[{"then":"base"}]}}'],
  ['query ($k: String! = "base") { chain(chainKey: $k) { name } }', '{"data":{"chain":{"name":"Base"}}}'],
])('a field `then` and the default of a non-null variable are executed as usual: %s', async (query, body) => {
  const { post, countExecuted } = await startServer();
  for (let nth = 0; nth < 2; nth++) expect(await (await post({ query })).text()).toBe(body);
  expect((await countExecuted({ query }, { query }, { query })).bodies).toEqual([body, body, body]);
});
