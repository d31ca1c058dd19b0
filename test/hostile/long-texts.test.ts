/** A very long text costs little, wherever a request can have one: in each place of the schema, and in its head. */
import {
  type GraphQLInputType,
  getNullableType,
  isInputObjectType,
  isListType,
  isObjectType,
  isRequiredArgument,
  isRequiredInputField,
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

const MATERIALS = [
  { name: 'letters', start: '', part: 'aB' },
  { name: 'words and punctuation', start: '', part: 'a a-.:/' },
  { name: 'marks', start: 'a', part: '\u0301\u0323\u05b0' },
  { name: 'an id', start: Buffer.from('["Token",').toString('base64url'), part: 'ImEi' },
  { name: 'hex', start: '0x', part: 'fE' },
  { name: 'zeros', start: '0x', part: '0' },
  { name: 'accounts of Move', start: '', part: '0x1::' },
];
/** Slightly less than the limit of a body, and than that of a request head. */
const BYTES = 1_000_000;
const HEADER_BYTES = 14_000;

/** A text of this many bytes in UTF-8, or a few less. */
const textOf = ({ start, part }: (typeof MATERIALS)[number], bytes = BYTES) =>
  start + part.repeat((bytes - start.length) / Buffer.byteLength(part));

/** Fills one place of a value with a text, or with several if the place is in a list. */
type Fill = (texts: readonly string[]) => unknown;
/** A place for texts: a field whose argument is `$v`, the type of `$v`, and how texts fill its value. */
type Place = readonly [field: string, type: string, fill: Fill];

const SCHEMA = withFederation(ownSchema);
const REPRESENTATIONS = ['Chain', 'Token'].flatMap((__typename): ((text: string) => unknown)[] => [
  (text) => text,
  (text) => ({ __typename, chainKey: text, address: 'a' }),
  (text) => ({ __typename, chainKey: 'a', address: text }),
  ...['__typename', 'id', 'caip2', 'caip19', 'nope'].map((key) => (text: string) => ({
    __typename,
    [key]: text,
  })),
]);

/** One fill for each place of a value of this type. In place of an object, there can be a text, too. */
function fillsOf(type: GraphQLInputType): readonly Fill[] {
  const given = getNullableType(type);
  if (isListType(given))
    return fillsOf(given.ofType).map((fill) => (texts) => texts.map((text) => fill([text])));
  if (given.name === '_Any')
    return REPRESENTATIONS.map(
      (of) =>
        ([text = '']) =>
          of(text),
    );
  const fields = isInputObjectType(given) ? Object.values(given.getFields()) : [];
  const required = Object.fromEntries(fields.filter(isRequiredInputField).map(({ name }) => [name, 'a']));
  const inFields = fields.flatMap(({ name, type }) =>
    fillsOf(type).map(
      (fill): Fill =>
        (texts) => ({ ...required, [name]: fill(texts) }),
    ),
  );
  return [([text]) => text, ...inFields];
}

const PLACES = Object.values(SCHEMA.getQueryType()?.getFields() ?? {}).flatMap(({ name, args }) =>
  args.flatMap((argument) => {
    const given = args.filter((each) => each === argument || isRequiredArgument(each));
    const values = given.map((each) => `${each.name}: ${each === argument ? '$v' : '"a"'}`);
    const field = `${name}(${values.join(', ')})`;
    return fillsOf(argument.type).map((fill): Place => [field, String(argument.type), fill]);
  }),
);
const IN_LISTS = PLACES.filter(([, , fill]) => JSON.stringify(fill(['one', 'other'])).includes('other'));

/** The most CPU time of the main thread for one request, beyond that of an unread request of the same size. */
const MOST_MS = 100;
const CODES: readonly string[] = [...ERROR_CODES, 'GRAPHQL_VALIDATION_FAILED'];

const target = shareTarget();

async function expectCheapFields(fields: string, type?: string, v?: unknown): Promise<string> {
  const query = type === undefined ? `{ ${fields} }` : `query ($v: ${type}) { ${fields} }`;
  const control = { body: { query: '{ __typename }', extensions: { ignored: v ?? query } } };
  const name = `${type} ${fields.slice(0, 100)}`;
  const answer = await expectCheap(target, name, { body: { query, variables: { v } } }, MOST_MS, control);
  for (const code of codesOf(JSON.parse(answer))) expect(CODES, name).toContain(code);
  return answer;
}

/** This text in a literal becomes the variable `$v`. */
const VARIABLE = '<v>';
const literalOf = (value: unknown) => untypedOf(value).replaceAll(JSON.stringify(VARIABLE), '$v');
/** One variable stands in a list this many times: as often as the limit on lexical tokens allows. */
const REPEATED: readonly string[] = Array(120).fill(VARIABLE);

it.each(MATERIALS)('a long text costs little in every argument of the graph: $name', async (material) => {
  const text = textOf(material);
  /** The literals so far: one costs the same in other fields of its type, and at other keys of an entity. */
  const literals = new Set<string>();
  // Messages show only the start of wrong values.
  const expectShort = async (...asked: Parameters<typeof expectCheapFields>) =>
    expect((await expectCheapFields(...asked)).length, asked[0].slice(0, 100)).toBeLessThan(40_000);
  for (const [field, type, fill] of PLACES) {
    const fields = Array.from({ length: 30 }, (_nothing, nth) => `a${nth}: ${field} { __typename }`);
    await expectShort(fields.join(' '), type, fill([text]));
    if (!/String|ID|TokenKey|TokenFilter|_Any/.test(type)) continue;
    const withLiteral = (texts: readonly string[]) =>
      `${field.replace('$v', literalOf(fill(texts)))} { __typename }`;
    const kind = type === '[_Any!]!' ? type : type + literalOf(fill(['']));
    if (!literals.has(kind)) await expectShort(withLiteral([text]));
    literals.add(kind);
    if (type.startsWith('['))
      await expectShort(withLiteral(REPEATED), type === '[ID!]!' ? 'ID!' : 'String!', text);
  }
});

it('thousands of short texts cost little in every list of the graph', async () => {
  const short = (nth: number) => `${MATERIALS[nth % MATERIALS.length]?.start}${nth.toString(36)}aaaa`;
  for (const [field, type, fill] of IN_LISTS) {
    const count = Math.floor(BYTES / (JSON.stringify(fill([short(100_000)])).length + 4));
    const v = fill(Array.from({ length: count }, (_nothing, nth) => short(nth)));
    // If 30 fields used the list, the operation would exceed the limit on rows, and not read the list.
    await expectCheapFields(`${field} { __typename }`, type, v);
  }
});

it('only fields of the query type have arguments, so that each argument has a place above', () => {
  const types = Object.values(SCHEMA.getTypeMap()).filter(({ name }) => !/^(__|Query$)/.test(name));
  const fields = types.filter(isObjectType).flatMap((type) => Object.values(type.getFields()));
  expect(fields.filter(({ args }) => args.length > 0)).toEqual([]);
});

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
    'a hash of a long document': { query: `{ __typename } # ${long}`, extensions: persisted('a'.repeat(64)) },
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
    for (const material of MATERIALS) {
      const text = textOf(material, BYTES / names.length - 100);
      const values = names.map((argument) => (argument === 'filter' ? { symbols: [text] } : text));
      const call = (prefix: string): Asked => {
        const args = names.map((argument, nth) => [prefix + argument, values[nth]]);
        return { path: '/mcp', body: callOf(name, Object.fromEntries(args)) };
      };
      await expectCheap(target, `${name}: ${material.name}`, call(''), MOST_MS, call('unknown'));
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
