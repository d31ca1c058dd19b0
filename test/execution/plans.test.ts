import fc from 'fast-check';
import {
  buildSchema,
  type ExecutionResult,
  execute,
  GraphQLObjectType,
  type GraphQLSchema,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql';
import { describe, expect, it, vi } from 'vitest';
import { type PlanOptions, planOperation } from '../../src/execution/operation-plan.js';
import { createPlanCache } from '../../src/execution/plan-cache.js';
import { exceedsBytes } from '../../src/execution/result-bytes.js';
import { JsonWriter } from '../../src/execution/writing/json-writer.js';
import { RowJsonBudget } from '../../src/execution/writing/row-json.js';

const schema = buildSchema(`
  type Query { row: Row rows: [Row!] text: String texts(n: Int): [String!] lists: [[String]] node: Node any: Thing }
  type Row { a: String b: Int c: Float row: Row rows: [Row!] text: String }
  interface Node { id: ID node: Node }
  type One implements Node { id: ID node: Node }
  type Two implements Node { id: ID node: Node }
  union Thing = One | Two
`);

type Resolve = (source: unknown, args: { n?: number }, context: unknown) => unknown;

/** Gives the fields of Query and Row these resolvers for one test. */
function withResolvers(resolvers: Readonly<Record<string, Resolve>>): GraphQLSchema {
  const own = buildSchema(
    `type Query { row: Row rows: [Row!] text: String texts(n: Int): [String!] lists: [[String]] }
     type Row { a: String b: Int c: Float row: Row text: String }`,
  );
  for (const [path, resolve] of Object.entries(resolvers)) {
    const [typeName = '', fieldName = ''] = path.split('.');
    const type = own.getType(typeName);
    const field = type instanceof GraphQLObjectType ? type.getFields()[fieldName] : undefined;
    if (!field) throw new Error(`Expected a field ${path}`);
    field.resolve = resolve;
  }
  return own;
}

function plan(text: string, of: GraphQLSchema = schema, options?: PlanOptions) {
  const document = parse(text);
  const operation = document.definitions.find(
    (definition): definition is OperationDefinitionNode => definition.kind === Kind.OPERATION_DEFINITION,
  );
  if (!operation) throw new Error('Expected an operation');
  return planOperation(of, document, operation, options);
}

function answer(of: GraphQLSchema, text: string): string {
  return JSON.stringify(execute({ schema: of, document: parse(text) }) as ExecutionResult);
}

describe('a plan', () => {
  it.each([
    ['a mutation', 'mutation { a }'],
    ['a subscription', 'subscription { a }'],
    ['introspection', '{ row { a } __schema { types { name } } }'],
    ['introspection in a fragment', '{ ...F } fragment F on Query { __type(name: "Row") { name } }'],
    ['an unknown directive', '{ row { a @shown } }'],
    ['@defer', '{ row { a } ... @defer { text } }'],
    ['a directive of the operation', 'query @live { text }'],
    ['a fragment within itself', '{ row { ...F } } fragment F on Row { a row { ...F } }'],
    [
      'five conditions',
      'query ($a: Boolean!, $b: Boolean!, $c: Boolean!, $d: Boolean!, $e: Boolean!) { text @skip(if: $a) b: text @skip(if: $b) c: text @skip(if: $c) d: text @skip(if: $d) e: text @skip(if: $e) }',
    ],
  ])('is not made for %s', (_name, text) => {
    expect(plan(text)).toBeUndefined();
  });

  it('is refused by its size before fragments that spread each other are expanded', () => {
    const levels = Array.from(
      { length: 60 },
      (_, nth) => `fragment F${nth} on Row { a: row { ...F${nth + 1} } b: row { ...F${nth + 1} } }`,
    );
    expect(plan(`{ row { ...F0 } } ${levels.join(' ')} fragment F60 on Row { a }`)).toBeUndefined();
    // Within the limit, the same fragments are planned.
    const few = levels.slice(0, 5).join(' ').replaceAll('F5', 'Last');
    expect(plan(`{ row { ...F0 } } ${few} fragment Last on Row { a }`)).toBeDefined();
  });

  it('is refused by its size before interfaces are expanded to their object types', () => {
    const nested = (depth: number): string => (depth === 0 ? 'id' : `id node { ${nested(depth - 1)} }`);
    expect(plan(`{ node { ${nested(40)} } }`)).toBeUndefined();
    expect(plan(`{ node { ${nested(4)} } }`)).toBeDefined();
    expect(plan(`{ row { a b c } }`, schema, { maxFields: 3 })).toBeUndefined();
    expect(plan(`{ row { a b c } }`, schema, { maxFields: 4 })).toBeDefined();
  });

  it('leaves a condition that is null or missing to graphql-js', () => {
    const made = plan('query ($y: Boolean = true) { text @include(if: $y) }');
    expect(String(made?.write({}, { y: true }))).toBe('{"data":{"text":null}}');
    expect(String(made?.write({}, { y: false }))).toBe('{"data":{}}');
    expect(made?.write({}, { y: null })).toBeUndefined();
    expect(made?.write({}, {})).toBeUndefined();
  });

  it('writes long answers of any characters', () => {
    const texts = Array.from(
      { length: 50_000 },
      (_, nth) => ['plain', 'é☃', '\u{1f41f}', '\ud83d', '"\n'][nth % 5],
    );
    const own = withResolvers({ 'Query.texts': () => texts });
    const made = plan('{ texts }', own);
    for (let nth = 0; nth < 2; nth++) {
      const [bytes, ...others] = made?.write({}, {}) ?? [];
      expect(others).toEqual([]);
      expect(bytes?.equals(Buffer.from(answer(own, '{ texts }')))).toBe(true);
      // Of exactly its size: it goes into a cache that counts its bytes.
      expect(bytes?.buffer.byteLength).toBe(bytes?.length);
    }
  });

  it('gives each answer bytes of its own', () => {
    const made = plan('{ texts }', withResolvers({ 'Query.texts': (_q, _a, context) => [context] }));
    const first = made?.write('first', {});
    const second = made?.write('other', {});
    expect([String(first), String(second)]).toEqual([
      '{"data":{"texts":["first"]}}',
      '{"data":{"texts":["other"]}}',
    ]);
  });

  it('can be written within a resolver of another', () => {
    const inner = plan('{ texts }', withResolvers({ 'Query.texts': () => ['inner'.repeat(20_000)] }));
    const outer = plan(
      '{ texts }',
      withResolvers({ 'Query.texts': () => ['a', String(inner?.write({}, {})), 'b'] }),
    );
    const [a, text, b] = JSON.parse(String(outer?.write({}, {}))).data.texts;
    expect([a, JSON.parse(text).data.texts[0].length, b]).toEqual(['a', 100_000, 'b']);
  });

  it('says whether it met a promise or an error', () => {
    const promise = plan('{ text }', withResolvers({ 'Query.text': async () => 'later' }));
    expect([promise?.write({}, {}), promise?.metPromise]).toEqual([undefined, true]);
    const error = plan('{ text }', withResolvers({ 'Query.text': () => new Error('text') }));
    expect([error?.write({}, {}), error?.metPromise]).toEqual([undefined, false]);
  });

  it('handles the rejections of all promises in a list', async () => {
    const made = plan(
      '{ lists }',
      withResolvers({
        'Query.lists': () => [
          ['a', Promise.reject(new Error('first')), Promise.reject(new Error('second'))],
          [Promise.reject(new Error('third'))],
          Promise.reject(new Error('fourth')),
        ],
      }),
    );
    expect(made?.write({}, {})).toBeUndefined();
    // vitest reports rejections that nothing handles.
    await new Promise((resolve) => setTimeout(resolve, 20));
  });
});

describe('the limit on the bytes of an answer', () => {
  const texts = (count: number) =>
    withResolvers({ 'Query.texts': () => Array(count).fill('x'.repeat(99_997)) });

  it('ends a plan that goes beyond it', () => {
    expect(plan('{ texts }', texts(83))?.write({}, {})?.[0]?.length).toBeGreaterThan(8_300_000);
    expect(plan('{ texts }', texts(84))?.write({}, {})).toBeUndefined();
    const context = { maxResponseBytes: () => 8_500_000 };
    expect(plan('{ texts }', texts(84))?.write(context, {})?.[0]?.length).toBeGreaterThan(8_400_000);
    expect(plan('{ texts }', texts(86))?.write(context, {})).toBeUndefined();
  });

  it('is for kept JSON, too', () => {
    const rows = Object.freeze(
      Array.from({ length: 30 }, (_, b) => Object.freeze({ a: 'x'.repeat(99_997), b })),
    );
    const own = withResolvers({ 'Query.rows': () => rows });
    const recorder = { begin: () => ({}), end: () => ({}), repeat: () => true };
    const made = plan('{ rows { a } again: rows { a } }', own, { budget: new RowJsonBudget(1e9) });
    const thrice = plan('{ rows { a } x: rows { a } y: rows { a } }', own, {
      budget: new RowJsonBudget(1e9),
    });
    for (let nth = 0; nth < 3; nth++) {
      const parts = made?.write({ recorder }, {}) ?? [];
      expect(parts.reduce((sum, { length }) => sum + length, 0)).toBeGreaterThan(6_000_000);
      expect(thrice?.write({ recorder }, {})).toBeUndefined();
    }
  });

  it('is found without making JSON, exactly', () => {
    const values = [
      fc.string({ unit: 'binary' }),
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

  it.each(['write', 'copy'] as const)('is not met by an answer that is cut: a short %s throws', (method) => {
    const writer = new JsonWriter(() => false);
    writer.text = 'a text';
    const short = vi.spyOn(Buffer.prototype, method).mockReturnValueOnce(5);
    expect(() => writer.append(Buffer.from('some more'))).toThrow(RangeError);
    short.mockRestore();
    writer.release();
  });
});

describe('the kept JSON of rows', () => {
  const rows = Array.from({ length: 20 }, (_, b) => Object.freeze({ a: `row ${b}`, b, c: b / 7 }));

  it('stays the same beyond its bound, and is not kept for what depends on the context', () => {
    const own = withResolvers({ 'Query.rows': () => rows, 'Row.text': (_row, _args, context) => context });
    for (const maxBytes of [0, 1_000, 1e6]) {
      const made = plan('{ rows { a b c text } }', own, { budget: new RowJsonBudget(maxBytes) });
      for (const context of ['first', 'second', 'third', 'fourth']) {
        const data = { rows: rows.map((row) => ({ ...row, text: context })) };
        expect(String(made?.write(context, {}))).toBe(JSON.stringify({ data }));
      }
    }
  });

  it('is not kept for rows that can change', () => {
    const changing = { a: 'a', b: 1, c: 1 };
    const nested = Object.freeze({ a: 'a', b: 1, c: 1, row: changing });
    const made = plan(
      '{ rows { a b c row { a b c } } }',
      withResolvers({ 'Query.rows': () => [changing, nested] }),
    );
    for (let b = 0; b < 5; b++) {
      changing.b = b;
      const data = {
        rows: [
          { ...changing, row: null },
          { a: 'a', b: 1, c: 1, row: changing },
        ],
      };
      expect(String(made?.write({}, {}))).toBe(JSON.stringify({ data }));
    }
  });
});

describe('the cache of plans', () => {
  const documents = Array.from({ length: 50 }, (_, nth) => parse(`query Q${nth} { row { a b c } }`));
  const operationOf = (nth: number) => documents[nth]?.definitions[0] as OperationDefinitionNode;

  it('stays within its bytes, and drops what was not used for longest', () => {
    const cache = createPlanCache(schema, { maxBytes: 100_000 });
    const [first] = documents;
    if (!first) throw new Error('Expected a document');
    const kept = cache.planFor(first, operationOf(0));
    for (const [nth, document] of documents.entries()) {
      cache.planFor(document, operationOf(nth));
      expect(cache.bytes).toBeLessThanOrEqual(100_000);
      expect(cache.planFor(first, operationOf(0))).toBe(kept);
    }
    expect(cache.count).toBeGreaterThan(5);
    expect(cache.count).toBeLessThan(50);
  });

  it('leaves a plan out for more and more requests after promises, and for none after errors', () => {
    let found: unknown = Promise.resolve('later');
    const own = withResolvers({ 'Query.text': () => found });
    const cache = createPlanCache(own);
    const document = parse('{ text }');
    const operation = document.definitions[0] as OperationDefinitionNode;
    const requests = (count: number) =>
      Array.from({ length: count }, () => {
        const made = cache.planFor(document, operation);
        made?.write({}, {});
        return made ? 'x' : '-';
      }).join('');
    expect(requests(13)).toBe('x-x---x-------'.slice(0, 13));
    found = 'now';
    expect(requests(5)).toBe('-xxxx');
    found = new Error('not now');
    expect(requests(3)).toBe('xxx');
  });
});
