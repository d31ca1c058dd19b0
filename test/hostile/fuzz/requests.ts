/** Generates requests that any HTTP client could send: operations, odd bodies, and requests for other paths. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type Operation, operationsOf } from '../../support/generated-operations.js';
import { hostileDocument, mutated } from './documents.js';
import {
  among,
  bytesOf,
  type Header,
  jsonOf,
  many,
  nested,
  oddName,
  oddText,
  oddValue,
  opaque,
  type PlainRequest,
  representation,
  size,
  times,
  weighted,
} from './values.js';

interface Parameters {
  readonly query?: unknown;
  readonly variables?: unknown;
  readonly operationName?: unknown;
  readonly extensions?: unknown;
}

/** Lists of all rows. Few operations select them, because these operations take most of the time. */
const LONG = ['Query.tokens', 'Query.chains', 'Chain.tokens'];
const validOperation: fc.Arbitrary<Operation> = fc.oneof(
  weighted(24, operationsOf({ without: LONG, hasRoutes: true })),
  weighted(1, operationsOf({ hasRoutes: true })),
);

/** Documents with one variable: its type, the rest of the document, and a valid value of the variable. */
const TYPED: readonly (readonly [type: string, rest: string, good: unknown])[] = [
  ['[ID!]!', '{ nodes(ids: $v) { id } }', 'WyJDaGFpbiIsImJhc2UiXQ'],
  ['ID!', '{ node(id: $v) { id } }', 'WyJDaGFpbiIsImJhc2UiXQ'],
  ['[String!]!', '{ chainsByKey(chainKeys: $v) { id name } }', 'ethereum'],
  ['[TokenKey!]!', '{ tokensByKey(keys: $v) { id symbol } }', { chainKey: 'ethereum', address: '0x1' }],
  ['[_Any!]!', '{ _entities(representations: $v) { __typename } }', { __typename: 'Chain', chainKey: 'sei' }],
  ['[_Any!]!', '{ _entities(representations: $v) { ... on Token { symbol } } }', { __typename: 'Token' }],
  ['TokenFilter', '{ tokenSearch(filter: $v) { totalCount } }', { symbols: ['ETH'], chainTypes: ['evm'] }],
  ['[String!]', '{ tokenSearch(filter: {symbols: $v, chainKeys: $v}) { totalCount } }', 'ETH'],
  ['String', '{ tokenSearch(query: $v) { edges { node { id } } } }', 'eth'],
  ['String', '{ tokenSearch(after: $v, orderBy: SYMBOL) { edges { cursor } } }', null],
  ['Int', '{ tokenSearch(first: $v) { totalCount } }', 5],
  ['Int = 3', '{ tokenSearch(first: $v) { totalCount } }', 5],
  ['TokenOrder! = NAME', '{ tokenSearch(orderBy: $v) { totalCount } }', 'SYMBOL'],
  ['[String!] = ["evm"]', '{ chains(chainTypes: $v) { id } }', 'evm'],
  ['Boolean!', '{ chains @include(if: $v) { id } }', true],
  ['String!', '{ chain(chainKey: $v) { tokens { id } } tokens(srcChainKey: $v) { id } }', 'ethereum'],
  ['String!', '{ destinations(srcChainKey: "ethereum", srcToken: $v) { chainKey } }', '0x1'],
];

const manyMembers = (max: number) =>
  size(max).map((count) => Object.fromEntries(times(count, (nth) => [`v${nth}`, nth])));

/** The variables with invalid values for one or more of them, or an odd value in place of the whole object. */
function oddVariables(variables: Readonly<Record<string, unknown>>): fc.Arbitrary<unknown> {
  const name = fc.oneof(oddName, fc.constantFrom('v', 'v0', ...Object.keys(variables)));
  const members = fc.dictionary(name, oddValue(), { maxKeys: 2 });
  const whole = fc.constantFrom(JSON.stringify(variables), [], [variables], 5, '', '{', null, '@raw:1e999');
  const missing = fc.constant(Object.fromEntries(Object.entries(variables).slice(1)));
  return fc.oneof(
    { weight: 3, arbitrary: members.map((odd) => ({ ...variables, ...odd })) },
    missing,
    whole,
    manyMembers(20_000),
  );
}

const typed: fc.Arbitrary<Parameters> = fc.constantFrom(...TYPED).chain(([type, rest, good]) => {
  const items = (make: (nth: number) => unknown) => size(20_000).map((count) => times(count, make));
  const raw = (open: string, close: string) =>
    size(200_000).map((depth) => `@raw:${nested(depth, open, '1', close)}`);
  const value = fc.oneof(
    oddValue(),
    items(() => good),
    items((nth) => (nth % 9 ? good : nth)),
    items((nth) => [{}, 0, null, true][nth % 4]),
    many(300, representation),
    many(300, opaque),
    manyMembers(20_000),
    manyMembers(5_000).map((odd) => ({ symbols: Object.keys(odd), chainKeys: Object.keys(odd) })),
    raw('[', ']'),
    raw("{'a':", '}'),
    oddText(300_000),
  );
  const variables = fc.oneof(
    { weight: 5, arbitrary: value.map((v) => ({ v })) },
    weighted(1, oddVariables({ v: good })),
  );
  return variables.map((all) => ({ query: `query ($v: ${type}) ${rest}`, variables: all }));
});

const persisted: fc.Arbitrary<Parameters> = validOperation.chain((operation) => {
  const hash = createHash('sha256').update(operation.query).digest('hex');
  const version = fc.oneof(fc.constant(1), oddValue(1));
  const sha256Hash = fc.oneof(fc.constantFrom(hash, hash.toUpperCase(), '0'.repeat(64)), oddValue(1));
  const persistedQuery = fc.oneof(fc.record({ version, sha256Hash }), oddValue(2));
  const query = fc.constantFrom(operation.query, undefined);
  return fc.record({ query, persistedQuery }).map((all) => ({
    ...operation,
    query: all.query,
    extensions: { persistedQuery: all.persistedQuery },
  }));
});

const mutatedOperation: fc.Arbitrary<Parameters> = fc
  .tuple(validOperation, validOperation)
  .chain(([{ query, variables, operationName }, other]) =>
    fc.record({
      query: mutated(query, other.query),
      variables: fc.oneof(fc.constant(variables), oddVariables(variables)),
      operationName: fc.constant(operationName),
    }),
  );

const oddParameters: fc.Arbitrary<Parameters> = validOperation.chain(({ query, variables }) =>
  fc.record({
    query: fc.oneof(fc.constant<unknown>(query), oddValue(2)),
    variables: fc.oneof(fc.constant<unknown>(variables), oddValue(2)),
    operationName: oddValue(2),
    extensions: oddValue(2),
  }),
);

const parameters: fc.Arbitrary<Parameters> = fc.oneof(
  weighted(5, validOperation),
  weighted(3, mutatedOperation),
  weighted(5, fc.record({ query: hostileDocument, variables: oddVariables({}) })),
  weighted(3, typed),
  weighted(1, oddParameters),
  weighted(1, persisted),
);

const JSON_TYPE: Header = ['content-type', 'application/json'];
const post = (body: string | Buffer, headers: readonly Header[] = [JSON_TYPE]): PlainRequest => ({
  method: 'POST',
  target: '/graphql',
  headers,
  body: bytesOf(body),
});

/** The text percent-encoded. Lone surrogates, which have no encoding, are replaced. */
const encoded = (text: string): string => encodeURIComponent(Buffer.from(text).toString());
const plain = (value: unknown): string => (typeof value === 'string' ? value : jsonOf(value));

function byPost(all: Parameters): fc.Arbitrary<PlainRequest> {
  // In deeply nested objects, single quotes stand for double quotes, which would be escaped.
  const text = jsonOf(all).replaceAll("'a'", '"a"');
  const doubled = `${text.slice(0, -1)},"query":"{__typename}","__proto__":{"query":"{_sdl}"}}`;
  const batch = `[${times(20, () => text.slice(0, 2_000)).join(',')}]`;
  const odd = fc.constantFrom(doubled, batch, `${' \n'.repeat(1_000)}${text}`);
  return fc.oneof(weighted(9, fc.constant(text)), weighted(1, odd)).map((body) => post(body));
}

function byGet(all: Parameters): fc.Arbitrary<PlainRequest> {
  const pairs = Object.entries(all).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${encoded(plain(value))}`],
  );
  const more = fc.oneof(weighted(9, fc.constant('')), fc.constantFrom(...pairs, 'query'), oddName);
  return fc.tuple(fc.constantFrom('GET', 'GET', 'GET', 'HEAD'), more).map(([method, odd]) => ({
    method,
    target: `/graphql?${[...pairs, odd].join('&')}`.slice(0, 15_000),
    headers: [],
  }));
}

function byForm({ query, variables }: Parameters): fc.Arbitrary<PlainRequest> {
  const part = (name: string, value: string, more = '') =>
    `--x\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const map = part('map', '{"0":["variables.__proto__.x"]}') + part('0', 'x', '; filename="a"');
  const multipart = 'multipart/form-data; boundary=x';
  return fc
    .constantFrom<readonly [type: string, text: string]>(
      [
        'application/x-www-form-urlencoded',
        `query=${encoded(plain(query))}&variables=${encoded(jsonOf(variables))}`,
      ],
      [multipart, `${part('query', plain(query))}${part('variables', jsonOf(variables))}--x--\r\n`],
      [multipart, part('query', plain(query))],
      [multipart, `${part('operations', jsonOf({ query, variables }))}${map}--x--\r\n`],
      ['application/graphql', plain(query)],
      ['text/plain', plain(query)],
    )
    .map(([type, text]) => post(text, [['content-type', type]]));
}

const oddBody: fc.Arbitrary<string | Buffer> = size(1_200_000).chain((bytes) => {
  const good = '{"query":"{ chains { chainKey } }"}';
  const repeated = (part: string) => part.repeat(bytes / part.length);
  const list = (width: number, make: (nth: number) => string) => times(bytes / width, make).join(',');
  const bodies: readonly (() => string | Buffer)[] = [
    () => '',
    () => good.slice(0, bytes % good.length),
    () => `\u{feff}${good}`,
    () => Buffer.from(good.replace('chainKey', '\u{d8}\u{ff}'), 'latin1'),
    () => Buffer.from(good, 'utf16le'),
    () => gzipSync(good),
    () => nested(bytes / 2, '[', '1', ']'),
    () => nested(bytes / 6, '{"a":', '1', '}'),
    () => repeated('['),
    () => repeated('{"a":'),
    () => `{"query":"{__typename}","variables":${nested(bytes / 2, '[', '', ']')}}`,
    () => `{"query":"{__typename}","extensions":${nested(bytes / 6, '{"a":', '1', '}')}}`,
    () => repeated(' '),
    () => repeated('\0'),
    () => repeated('9'),
    () => `${repeated(' ')}${good}`,
    () => `{${list(60, (nth) => `"query":"{ a${nth}: __typename }"`)}}`,
    () => `{${list(20, (nth) => `"k${nth}":${nth}`)},"query":"{__typename}"}`,
    () => `[${list(40, () => good)}]`,
    () => `query=${repeated('%7B')}&query=%&=&&&variables=%ff`,
  ];
  const known = fc.constantFrom(...bodies).map((make) => make());
  const random = fc.uint8Array({ maxLength: 200 }).map((odd) => Buffer.from(odd));
  return fc.oneof(weighted(9, known), oddValue(4).map(jsonOf), random);
});

/** The text in those bytes that Node's client allows in a header. */
const headerText = oddText(9_000).map((text) => bytesOf(text).replaceAll(/[^\t -~\x80-\xff]/g, ' '));

const ODD_HEADERS = Object.entries({
  accept: 'text/html|text/event-stream|multipart/mixed|*|;;;|text/html,*/*;q=0|a/b|application/json|;q=1|',
  'accept-encoding': 'br;q=0|gzip;q=0.0001|*|zstd|br|x|q=|',
  'if-none-match': '*|"x"|W/"x"|"',
  'x-request-id': 'a|\u{ff}',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01|00-|ff',
  origin: 'null|https://evil.test|http://localhost',
  'access-control-request-headers': 'x-a|authorization',
  'content-type':
    'application/json; charset=utf-8|application/json;charset=utf-16|application/json;|APPLICATION/JSON|application/jsonx|application/graphql+json|text/plain|multipart/form-data|multipart/form-data; boundary=|multipart/mixed|',
  'content-encoding': 'gzip|br|identity|x',
  host: '|a:99999|[::1',
  expect: '100-continue|nothing',
  connection: 'close|keep-alive|upgrade|host|x-request-id',
  upgrade: 'websocket|h2c|TLS/1.0',
  range: 'bytes=0-1|bytes=-1|5-',
  'x-forwarded-for': '127.0.0.1|::1|x',
});
const oddHeader: fc.Arbitrary<Header> = fc.constantFrom(...ODD_HEADERS).chain(([name, values]) => {
  const value = among(values);
  const list = fc.tuple(many(300, value), fc.constantFrom(',', ', ', ' , ')).map(([all, by]) => all.join(by));
  return fc.tuple(fc.oneof(fc.constant(name), oddName), fc.oneof(value, list, headerText));
});
const oddHeaders = fc.uniqueArray(oddHeader, { maxLength: 4, selector: ([name]) => name });
const usualHeaders: fc.Arbitrary<readonly Header[]> = fc.subarray<Header>([
  ['accept', 'application/graphql-response+json'],
  ['accept-encoding', 'gzip, deflate, br, zstd'],
]);

const PATHS =
  '/ /graphql /live /ready /metrics /picker/ /picker/main.js /graphql/playground/ /mcp /tokenlist.json /nope //live //graphql /graphql/ /graphql/../metrics /./live /%6cive /graphql%2f /%00 /%ff%fe /% /..%2f..%2fetc%2fpasswd /picker/../../package.json /graphql;a=b /graphql? /graphql#x * http://other.test/graphql http://user:secret@other.test:99999/live https:///live javascript:alert(1) graphql ?query={__typename} /graphql?query=%7B__typename%7D /graphql?query={__typename}&query={chains{id}} /graphql?variables=%7B&query={__typename} /graphql?query={__typename}&variables=[]&extensions=5 /graphql?extensions={"persistedQuery":{"version":1}} /graphql?query={__typename}&operationName=constructor /graphql?__proto__=1&constructor=2&query={__typename} /graphql?%f0%9f&query=%c3%28'.split(
    ' ',
  );
const METHODS = 'GET HEAD POST PUT DELETE PATCH OPTIONS TRACE PROPFIND QUERY M-SEARCH'.split(' ');

const oddRequest: fc.Arbitrary<PlainRequest> = fc.record({
  method: fc.constantFrom(...METHODS),
  target: fc.oneof(
    weighted(7, fc.constantFrom(...PATHS)),
    weighted(
      1,
      oddText(14_000).map(
        (text) => `/${encoded(text).slice(0, 14_000).replaceAll('%2F', '/').replaceAll('%3F', '?')}`,
      ),
    ),
  ),
  headers: oddHeaders,
  body: fc.oneof(fc.constant(''), oddBody.map(bytesOf)),
});

const byParameters = parameters.chain((all) =>
  fc.oneof(weighted(14, byPost(all)), weighted(5, byGet(all)), weighted(1, byForm(all))),
);
const withHeaders = fc
  .tuple(byParameters, fc.oneof(weighted(3, usualHeaders), weighted(1, oddHeaders)))
  .map(([request, headers]) => ({ ...request, headers: [...request.headers, ...headers] }));

export const plainRequest: fc.Arbitrary<PlainRequest> = fc.oneof(
  weighted(70, withHeaders),
  { weight: 6, arbitrary: oddBody.map((body) => post(body)) },
  weighted(8, oddRequest),
);
