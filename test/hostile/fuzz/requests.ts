import { gzipSync } from 'node:zlib';
import { type Exchange, exchangeOf, type PlainRequest } from './exchange.js';
import type { Parameters } from './parameters.js';
import { type Random, times } from './random.js';
import { jsonOf, nested, ODD_NAMES, oddText, oddValue } from './values.js';

const JSON_TYPE: Header = ['content-type', 'application/json'];
const PATHS =
  '/ /graphql /live /ready /metrics /picker/ /picker/main.js /graphql/playground/ /nope //live //graphql /graphql/ /graphql/../metrics /./live /%6cive /graphql%2f /%00 /%ff%fe /% /..%2f..%2fetc%2fpasswd /picker/../../package.json /graphql;a=b /graphql? /graphql#x * http://other.test/graphql http://user:secret@other.test:99999/live https:///live javascript:alert(1) graphql ?query={__typename} /graphql?query=%7B__typename%7D /graphql?query={__typename}&query={chains{id}} /graphql?variables=%7B&query={__typename} /graphql?query={__typename}&variables=[]&extensions=5 /graphql?extensions={"persistedQuery":{"version":1}} /graphql?query={__typename}&operationName=constructor /graphql?__proto__=1&constructor=2&query={__typename} /graphql?%f0%9f&query=%c3%28'.split(
    ' ',
  );
const METHODS = 'GET HEAD POST PUT DELETE PATCH OPTIONS TRACE PROPFIND QUERY M-SEARCH'.split(' ');

/** A request with these parameters, by POST or GET, with usual or odd headers. */
export function requestBy(random: Random, parameters: Parameters): Exchange {
  const { kind, operation } = parameters;
  if (operation && random.oneIn(2)) {
    const body = Buffer.from(JSON.stringify(operation));
    const headers = [JSON_TYPE, ...usualHeaders(random)];
    return exchangeOf(kind, { method: 'POST', target: '/graphql', headers, body }, operation);
  }
  const request = random.weighted<() => PlainRequest>([
    [14, () => byPost(random, parameters)],
    [5, () => byGet(random, parameters)],
    [1, () => byForm(random, parameters)],
  ])();
  const odd = random.oneIn(4) ? oddHeaders(random) : usualHeaders(random);
  return exchangeOf(kind, { ...request, headers: [...request.headers, ...odd] });
}

/** A request for any path by any method, with any body. */
export function oddRequest(random: Random, hasBig: boolean): Exchange {
  const method = random.pick(METHODS);
  const target = random.oneIn(8) ? `/${oddTarget(random)}` : random.pick(PATHS);
  const body = random.oneIn(3) ? oddBody(random, hasBig) : undefined;
  const headers = [...(body && random.oneIn(2) ? [JSON_TYPE] : []), ...oddHeaders(random)];
  return exchangeOf('odd path', { method, target, headers, ...(body && { body }) });
}

/** A request to the graph with invalid or odd JSON. */
export function oddBodyRequest(random: Random, hasBig: boolean): Exchange {
  const headers = [
    random.oneIn(3) ? (['content-type', oddContentType(random)] as const) : JSON_TYPE,
    ...usualHeaders(random),
  ];
  return exchangeOf('odd body', {
    method: 'POST',
    target: '/graphql',
    headers,
    body: oddBody(random, hasBig),
  });
}

function byPost(random: Random, { query, variables, operationName, extensions }: Parameters): PlainRequest {
  const members = jsonOf({ query, operationName, variables, extensions });
  // In deeply nested objects, single quotes stand for double quotes, which would be escaped.
  const text = members.replaceAll("'a'", '"a"');
  const body = random.weighted<() => string>([
    [30, () => text],
    [1, () => `[${times(random.size(50), () => text.slice(0, 2_000)).join(',')}]`],
    [1, () => `${text.slice(0, -1)},"query":"{__typename}","__proto__":{"query":"{_sdl}"}}`],
    [1, () => `${' \n'.repeat(random.size(2_000))}${text}`],
  ])();
  return { method: 'POST', target: '/graphql', headers: [JSON_TYPE], body: Buffer.from(body) };
}

function byGet(random: Random, parameters: Parameters): PlainRequest {
  const { query, variables, operationName, extensions } = parameters;
  const pairs = Object.entries({ query, operationName, variables, extensions })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encoded(plain(value))}`);
  if (random.oneIn(12)) pairs.push(random.pick(pairs.length > 0 ? pairs : ['query']));
  if (random.oneIn(12)) pairs.push(`${random.pick(ODD_NAMES)}=1`);
  const target = `/graphql?${pairs.join('&')}`;
  // Node itself refuses heads of more than 16 kB, so most long queries are sent by POST.
  if (target.length > 15_000 && !random.oneIn(20)) return byPost(random, parameters);
  return { method: random.oneIn(20) ? 'HEAD' : 'GET', target: target.slice(0, 70_000), headers: [] };
}

function byForm(random: Random, { query, variables, operationName }: Parameters): PlainRequest {
  const values = { query: plain(query), variables: jsonOf(variables), operationName: plain(operationName) };
  const pairs = Object.entries(values);
  const part = (name: string, value: string, more = '') =>
    `--x\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
  const parts = pairs.map(([name, value]) => part(name, value)).join('');
  const upload = [
    part('operations', jsonOf({ query, variables })),
    part('map', '{"0":["variables.__proto__.x"]}'),
    part('0', 'x', '; filename="a"'),
  ];
  const multipart = 'multipart/form-data; boundary=x';
  const urlencoded = pairs.map(([name, value]) => `${name}=${encoded(value)}`).join('&');
  const [type, text] = random.weighted<readonly [string, string]>([
    [2, ['application/x-www-form-urlencoded', urlencoded]],
    [1, [multipart, parts + random.pick(['--x--\r\n', ''])]],
    [1, [multipart, `${upload.join('')}--x--\r\n`]],
    [1, ['application/graphql', values.query]],
    [1, ['text/plain', values.query]],
  ]);
  return { method: 'POST', target: '/graphql', headers: [['content-type', type]], body: Buffer.from(text) };
}

/** A text unchanged, any other value as JSON. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value);
}

/** The text percent-encoded. Lone surrogates, which have no encoding, are replaced. */
function encoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString('utf8'));
}

function oddTarget(random: Random): string {
  return encoded(oddText(random, 20_000)).replaceAll(/%2F/g, '/').replaceAll(/%3F/g, '?');
}

/** A body that is not JSON, nearly JSON, or very long JSON. */
function oddBody(random: Random, hasBig: boolean): Buffer {
  const max = hasBig ? 1_200_000 : 20_000;
  const good = '{"query":"{ chains { chainKey } }"}';
  const many = (bytesEach: number, make: (nth: number) => string) =>
    times(random.size(max / bytesEach), make).join(',');
  const objects = (end: string) => nested(random.size(max / 6), '{"a":', '1', end);
  const body = random.weighted<() => string | Buffer>([
    [2, () => ''],
    [3, () => good.slice(0, random.int(good.length))],
    [2, () => `\u{feff}${good}`],
    [2, () => Buffer.from(good.replace('chainKey', '\u{d8}\u{ff}'), 'latin1')],
    [1, () => Buffer.from(good, 'utf16le')],
    [1, () => gzipSync(good)],
    [2, () => nested(random.size(max / 2), '[', random.pick(['', '1']), random.pick([']', '']))],
    [2, () => objects(random.pick(['}', '']))],
    [1, () => `{"query":"{__typename}","variables":${nested(random.size(max / 2), '[', '', ']')}}`],
    [1, () => `{"query":"{__typename}","extensions":${objects('}')}}`],
    [1, () => random.pick([' ', '\n', '\0', '0', '"', '9']).repeat(random.size(max))],
    [1, () => `${' '.repeat(random.size(max / 2))}${good}`],
    [2, () => `{${many(60, (nth) => `"query":"{ a${nth}: __typename }"`)}}`],
    [1, () => `{${many(20, (nth) => `"k${nth}":${nth}`)},"query":"{__typename}"}`],
    [1, () => `[${many(40, () => good)}]`],
    [2, () => jsonOf(oddValue(random, 4))],
    [1, () => Buffer.from(times(random.size(200), () => random.int(256)))],
    [1, () => `query=${'%7B'.repeat(random.size(max / 4))}&query=%&=&&&variables=%ff`],
  ])();
  return typeof body === 'string' ? Buffer.from(body) : body;
}

/** A header line. */
type Header = readonly [name: string, value: string];

/** Some headers that clients send. */
function usualHeaders(random: Random): Header[] {
  const headers: Header[] = [];
  if (random.oneIn(3))
    headers.push(['accept', random.pick(['*/*', 'application/json', 'application/graphql-response+json'])]);
  if (random.oneIn(4))
    headers.push(['accept-encoding', random.pick(['gzip', 'br', 'gzip, deflate, br, zstd', 'identity'])]);
  return headers;
}

/** Some headers that no usual client sends, or that have odd values. */
function oddHeaders(random: Random): Header[] {
  return times(random.int(4), () => oddHeader(random));
}

function oddHeader(random: Random): Header {
  const rubbish = () => headerText(oddText(random, 9_000));
  const list = (...items: readonly string[]) =>
    times(random.size(300), () => random.pick(items)).join(random.pick([',', ', ', ' , ']));
  const headers: readonly (readonly [weight: number, name: string, values: () => readonly string[]])[] = [
    [2, 'accept', () => ['text/html', 'text/event-stream', 'multipart/mixed', 'image/*', '', ';;;', '*']],
    [1, 'accept', () => ['application/graphql-response+json', 'application/json;charset=latin1']],
    [1, 'accept', () => ['text/html,*/*;q=0', rubbish(), list('a/b', '*/*', 'application/json', ';q=1', '')]],
    [2, 'accept-encoding', () => ['br;q=0', 'gzip;q=0.0001', '*', 'zstd', 'br, br']],
    [1, 'accept-encoding', () => [rubbish(), list('br', 'gzip;q=0', 'x', 'q=', '')]],
    [3, 'if-none-match', () => ['*', '"x"', 'W/"x"', rubbish(), list('"abc"', 'W/"d"', '*', '"')]],
    [2, 'x-request-id', () => [rubbish()]],
    [2, 'origin', () => ['null', 'https://evil.test', 'http://localhost', rubbish()]],
    [1, 'access-control-request-headers', () => ['content-type', rubbish(), list('x-a', 'authorization')]],
    [1, 'access-control-request-method', () => [rubbish()]],
    [1, 'content-type', () => [oddContentType(random)]],
    [1, 'content-encoding', () => ['gzip', 'br', 'identity', 'x', 'gzip, gzip']],
    [1, 'host', () => ['', 'a:99999', '[::1', rubbish()]],
    [1, 'expect', () => ['100-continue', 'nothing', rubbish()]],
    [1, 'connection', () => ['close', 'keep-alive', 'upgrade', 'host, x-request-id', rubbish()]],
    [1, 'upgrade', () => ['websocket', 'h2c', 'TLS/1.0']],
    [1, 'range', () => ['bytes=0-1', 'bytes=-1', list('0-1', '5-')]],
    [1, 'if-modified-since', () => ['Thu, 01 Jan 1970 00:00:00 GMT', rubbish()]],
    [1, 'cookie', () => [list('a=b', '__proto__=1', ';')]],
    [1, 'x-http-method-override', () => ['DELETE', 'POST']],
    [1, 'x-forwarded-for', () => [list('127.0.0.1', '::1', 'x')]],
    [1, 'content-length', () => ['-1', '0x10', '1e3', '99999999999999999999', '', '+5', '5, 5']],
    [1, 'transfer-encoding', () => ['chunked', 'gzip, chunked', 'identity', 'chunked, chunked', 'xchunked']],
    [1, random.pick(ODD_NAMES), () => [rubbish()]],
    [0.2, 'x'.repeat(random.size(5_000)), () => [rubbish()]],
    [0.8, random.pick(['te', 'trailer', 'via', 'authorization']), () => [rubbish()]],
  ];
  const [name, values] = random.weighted(headers.map(([weight, ...header]) => [weight, header] as const));
  return [name, random.pick(values())];
}

/** A value of Content-Type, usual or odd. */
function oddContentType(random: Random): string {
  if (random.oneIn(9)) return headerText(oddText(random, 3_000));
  return random.pick([
    ...['application/json; charset=utf-8', 'application/json;charset=utf-16', 'application/json;'],
    ...['APPLICATION/JSON', 'application/jsonx', 'application/graphql+json', 'application/json, text/plain'],
    ...['text/plain', 'application/graphql', 'application/x-www-form-urlencoded', 'multipart/form-data'],
    ...['multipart/form-data; boundary=', 'multipart/form-data; boundary=x', 'multipart/mixed', ''],
  ]);
}

/** The text without characters that would start another line. */
function headerText(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
