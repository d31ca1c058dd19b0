/** A very long text costs little, wherever a request can have one: in each place of the schema, and in its head. */

import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql';
import { expect, it } from 'vitest';
import { ERROR_CODES } from '../../src/domain/error-codes.js';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { TOOLS } from '../../src/mcp/tools.js';
import { callOf } from '../mcp/support.js';
import { untypedOf } from '../support/generated-operations.js';
import { type Asked, expectCheap, shareTarget } from '../support/hostile.js';
import { codesOf } from '../support/test-gateway.js';

/** An operation that has a long text somewhere in an argument, and a harmless request of the same size. */
interface LongRequest {
  /** The path of the text and its material, such as `tokenSearch.filter.symbols[]: marks`. */
  readonly name: string;
  readonly body: object;
  /** A request of the same size whose text is ignored. */
  readonly control: object;
}

/** What a long text is made of: a start, and a part that is repeated. */
interface Material {
  readonly name: string;
  readonly start: string;
  readonly part: string;
}

const MATERIALS: readonly Material[] = [
  { name: 'letters', start: '', part: 'aB' },
  { name: 'words and punctuation', start: '', part: 'a a-.:/' },
  { name: 'marks', start: 'a', part: '\u0301\u0323\u05b0' },
  { name: 'an id', start: Buffer.from('["Token",').toString('base64url'), part: 'ImEi' },
  { name: 'hex', start: '0x', part: 'fE' },
];
/** Not one long text, but thousands of short ones of all materials. */
const MANY: Material = { name: 'short texts by the thousand', start: '', part: 'a' };

/** A text of this many bytes in UTF-8, or a few less. */
function textOf({ start, part }: Material, bytes: number): string {
  return start + part.repeat(Math.max(0, bytes - start.length) / Buffer.byteLength(part));
}

/** A place in an argument where long texts can stand: the argument itself, an input field or a list item. */
interface Place {
  readonly path: string;
  /** A value with long texts of this many bytes in all. */
  fill(material: Material, bytes: number): unknown;
}

function placesIn(type: GraphQLInputType, path: string): readonly Place[] {
  if (isNonNullType(type)) return placesIn(type.ofType, path);
  if (isListType(type)) {
    return placesIn(type.ofType, `${path}[]`).map(({ path: inner, fill }) => ({
      path: inner,
      fill: (material, bytes) => (material === MANY ? manyOf(fill, bytes) : [fill(material, bytes)]),
    }));
  }
  if (isInputObjectType(type)) {
    return Object.values(type.getFields()).flatMap((field) =>
      placesIn(field.type, `${path}.${field.name}`).map(({ path: inner, fill }) => ({
        path: inner,
        fill: (material: Material, bytes: number) => ({
          ...(smallestOf(type) as object),
          [field.name]: fill(material, bytes),
        }),
      })),
    );
  }
  if (type.name === '_Any') return representationPlaces(path);
  return [{ path, fill: textOf }];
}

/** A list of this many bytes with short items that are all different. */
function manyOf(fill: Place['fill'], bytes: number): readonly unknown[] {
  const item = (nth: number) => {
    const start = MATERIALS[nth % MATERIALS.length]?.start + nth.toString(36);
    return fill({ ...MANY, start }, start.length + 4);
  };
  const count = Math.floor(bytes / (Buffer.byteLength(JSON.stringify(item(100_000))) + 4));
  return Array.from({ length: count }, (_nothing, nth) => item(nth));
}

function representationPlaces(path: string): readonly Place[] {
  const keys = ['__typename', 'chainKey', 'address', 'id', 'caip2', 'caip19', 'nope'];
  const places = ['Chain', 'Token'].flatMap((__typename) =>
    keys.map((key) => ({
      path: `${path} ${__typename}.${key}`,
      fill(material: Material, bytes: number) {
        const text = textOf(material, bytes);
        const beside = key === 'address' ? { chainKey: 'a' } : key === 'chainKey' ? { address: 'a' } : {};
        return { __typename, ...beside, [key]: text };
      },
    })),
  );
  return [...places, { path, fill: textOf }];
}

function smallestOf(type: GraphQLInputType): unknown {
  if (isNonNullType(type)) return smallestOf(type.ofType);
  if (isListType(type)) return [];
  if (isInputObjectType(type)) {
    const required = Object.values(type.getFields()).filter((field) => isNonNullType(field.type));
    return Object.fromEntries(required.map((field) => [field.name, smallestOf(field.type)]));
  }
  return 'a';
}

/** A value as a literal. The text of {@link VARIABLE} becomes the variable `$v`. */
const literalOf = (value: unknown) => untypedOf(value).replaceAll(JSON.stringify(VARIABLE.start), '$v');

const VARIABLE: Material = { name: 'a variable', start: '<v>', part: 'a' };
/** One variable stands in a list this many times: as often as the limit on lexical tokens allows. */
const REPEATED = 120;

/**
 * Operations with a long text of this material in every place of every argument that takes a text: as a variable that 30
 * fields use, and as a literal. Some have one variable in many places of a list.
 *
 * @param bytes the size of all texts of one request
 */
function* longRequests(material: Material, bytes: number): Generator<LongRequest> {
  /** The paths that have had a literal, by type of argument: it costs the same in other fields, and at other keys of an entity. */
  const asLiteral = new Set<string>();
  for (const { field, argument } of allArguments()) {
    for (const { path, fill } of placesIn(argument.type, `${field.name}.${argument.name}`)) {
      const isMany = material === MANY;
      if (isMany && !path.includes('[]')) continue;
      const value = fill(material, bytes);
      const name = `${path}: ${material.name}`;
      const call = fieldWith(field, argument, '$v');
      // If 30 fields used a list of thousands, the operation would exceed the limit on rows, and not read the list.
      const aliases = Array.from({ length: isMany ? 1 : 30 }, (_nothing, nth) => `a${nth}: ${call}`);
      yield request(name, `($v: ${argument.type}) { ${aliases.join(' ')} }`, { v: value });
      if (isMany || !isText(argument.type)) continue;
      const place = `${argument.type}${path.replace(/^\w+\.\w+/, '').replace(/ .*/, '')}`;
      if (!asLiteral.has(place)) {
        asLiteral.add(place);
        yield request(`${name}, as a literal`, `{ ${fieldWith(field, argument, literalOf(value))} }`);
      }
      const list = fill(VARIABLE, VARIABLE.start.length);
      if (!Array.isArray(list)) continue;
      const repeated = literalOf(Array.from({ length: REPEATED }, () => list[0]));
      const type = getNamedType(argument.type).name === 'ID' ? 'ID!' : 'String!';
      yield request(
        `${name}, one variable again and again`,
        `($v: ${type}) { ${fieldWith(field, argument, repeated)} }`,
        { v: textOf(material, bytes) },
      );
    }
  }
}

/** Whether graphql-js accepts a text here or in a field of the type. If not, its error message quotes the text. */
function isText(type: GraphQLInputType): boolean {
  const named = getNamedType(type);
  return isInputObjectType(named) || ['String', 'ID', '_Any'].includes(named.name);
}

function request(name: string, document: string, variables?: Readonly<Record<string, unknown>>): LongRequest {
  const query = `query ${document}`;
  const control = { query: '{ __typename }', extensions: { ignored: variables ?? query } };
  return { name, body: { query, variables }, control };
}

function fieldWith(field: GraphQLField<unknown, unknown>, argument: GraphQLArgument, value: string): string {
  const others = field.args
    .filter((other) => other !== argument && isNonNullType(other.type))
    .map((other) => `${other.name}: ${literalOf(smallestOf(other.type))}, `);
  const selection = isLeafType(getNamedType(field.type)) ? '' : ' { __typename }';
  return `${field.name}(${others.join('')}${argument.name}: ${value})${selection}`;
}

/** All arguments of queries. @throws if a field below the root has arguments: no requests are made for such fields */
function allArguments() {
  const schema = withFederation(ownSchema);
  const query = schema.getQueryType();
  for (const type of Object.values(schema.getTypeMap()).filter(isObjectType)) {
    if (type === query || type.name.startsWith('__')) continue;
    const found = Object.values(type.getFields()).find(({ args }) => args.length > 0);
    if (found) throw new Error(`Expected no arguments below Query: ${type.name}.${found.name}`);
  }
  return Object.values(query?.getFields() ?? {}).flatMap((field) =>
    field.args.map((argument) => ({ field, argument })),
  );
}

/** The most CPU time of the main thread for one request, beyond that of an unread request of the same size. */
const MOST_MS = 100;
/** Slightly less than the limit of a body, and than that of a request head. */
const BYTES = 1_000_000;
const HEADER_BYTES = 14_000;

const CODES: readonly string[] = [...ERROR_CODES, 'GRAPHQL_VALIDATION_FAILED'];

const target = shareTarget();

it.each([...MATERIALS, MANY])(
  'a long text costs little in every place of the graph where a text fits: $name',
  async (material) => {
    let count = 0;
    for (const { name, body, control } of longRequests(material, BYTES)) {
      const answer = await expectCheap(target, name, { body }, MOST_MS, { body: control });
      // Messages show only the start of wrong values, so answers are short. But a list of many keys has a null for each.
      if (material !== MANY) expect(answer.length, name).toBeLessThan(40_000);
      for (const code of codesOf(JSON.parse(answer))) expect(CODES, name).toContain(code);
      count++;
    }
    expect(count).toBeGreaterThan(material === MANY ? 20 : 80);
  },
);

it('a long text costs little in a document and beside it', async () => {
  const long = 'x'.repeat(BYTES);
  const persisted = (sha256Hash: string) => ({ persistedQuery: { version: 1, sha256Hash } });
  const documents: Readonly<Record<string, string>> = {
    'an alias': `{ tokens { ${long}: symbol } }`,
    'a field': `{ ${long} }`,
    'a field that is like many': `{ tokens { ${'symbo'.repeat(BYTES / 5)} } }`,
    'an argument': `{ chains(${long}: 1) { name } }`,
    'a fragment': `{ ...${long} } fragment ${long.slice(0, 9)} on Query { __typename }`,
    'a type': `query ($v: ${long}) { __typename }`,
    'a variable': `query ($${long}: Int) { __typename }`,
    'a directive': `{ __typename @${long} }`,
    'an operation': `query ${long} { nope }`,
    'an operation with ten errors': `query ${long} { ${'nope '.repeat(20)} }`,
    'a value of an enum': `{ tokenSearch(orderBy: ${long}) { totalCount } }`,
    'a text that is no value of an enum': `{ tokenSearch(orderBy: "${long}") { totalCount } }`,
    'a text that is no number': `{ tokenSearch(first: "${long}") { totalCount } }`,
    'a number': `{ tokenSearch(first: ${'1'.repeat(BYTES)}) { totalCount } }`,
    'a comment': `{ __typename } # ${long}`,
    'many comments': `{ __typename }${'#\n'.repeat(BYTES / 3)}`,
    'a block string': `{ chain(chainKey: """${'\n x'.repeat(BYTES / 4)}""") { name } }`,
    'a block string of empty lines': `{ chain(chainKey: """${'\n'.repeat(BYTES / 2)}""") { name } }`,
    'a text after a syntax error': `{ chain("${long}") }`,
    'no document': long,
  };
  const bodies: Readonly<Record<string, object>> = {
    ...Object.fromEntries(Object.entries(documents).map(([name, query]) => [name, { query }])),
    'names of variables': { query: '{ __typename }', variables: { [long]: 1 } },
    'the name of the operation': { query: 'query A { nope }', operationName: long },
    'the id of a document': { query: '{ __typename }', documentId: long },
    'the hash of a document': { extensions: persisted(long) },
    'the hash of a long document': {
      query: `{ __typename } # ${long}`,
      extensions: persisted('a'.repeat(64)),
    },
    'a member': { query: '{ __typename }', [long]: 1 },
  };
  for (const [name, body] of Object.entries(bodies)) {
    const control = { query: '{ __typename }', extensions: { ignored: JSON.stringify(body) } };
    await expectCheap(target, name, { body }, MOST_MS, { body: control });
  }
});

it('a long text costs little as the arguments of a tool', async () => {
  for (const { name, document } of TOOLS) {
    const names = [...document.matchAll(/\$(\w+):/g)].map(([, argument = '']) => argument);
    if (names.length === 0) continue;
    for (const { start, part } of MATERIALS) {
      const text = start + part.repeat(BYTES / names.length / Buffer.byteLength(part) - start.length);
      const values = names.map((argument) => (argument === 'filter' ? { symbols: [text] } : text));
      const call = (prefix: string): Asked => {
        const args = names.map((argument, nth) => [prefix + argument, values[nth]]);
        return { path: '/mcp', body: callOf(name, Object.fromEntries(args)) };
      };
      await expectCheap(target, `${name}: ${part}`, call(''), MOST_MS, call('unknown'));
    }
  }
});

it('a long text costs little in the head of a request, at its greatest length', async () => {
  const path = `/graphql?query=${encodeURIComponent('{ tokens { symbol } }')}`;
  const control = { path, headers: { 'x-nobody-reads': 'x'.repeat(HEADER_BYTES) } };
  const filled = (part: string) => part.repeat(HEADER_BYTES / part.length);
  const names =
    'x-request-id if-none-match accept accept-encoding content-type origin x-forwarded-for access-control-request-headers user-agent traceparent';
  for (const name of names.split(' ')) {
    for (const part of ['x', 'a,', 'a;q=0,', '"a",', '1.1.1.1,', '00-', ' ;']) {
      const asked = { path, headers: { [name]: filled(part) } };
      await expectCheap(target, `${name}: ${part}`, asked, MOST_MS, control);
    }
  }
  for (const parameter of ['query', 'variables', 'operationName', 'extensions', 'documentId', 'chainKey']) {
    for (const part of ['x', '%7B', '%CC%81', '%5B', `&${parameter}=`]) {
      for (const before of [`${path}&`, '/tokenlist.json?']) {
        const asked = { path: `${before}${parameter}=${filled(part)}` };
        await expectCheap(target, asked.path.slice(0, 80), asked, MOST_MS, control);
      }
    }
  }
});
