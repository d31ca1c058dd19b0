import { oddBody } from './bodies.js';
import { type Exchange, exchangeOf, type PlainRequest } from './exchange.js';
import { type Header, oddContentType, oddHeaders, usualHeaders } from './headers.js';
import type { Parameters } from './parameters.js';
import { type Random, times } from './random.js';
import { jsonOf, ODD_NAMES, oddText } from './values.js';

const JSON_TYPE: Header = ['content-type', 'application/json'];
const PATHS = [
  '/',
  '/graphql',
  '/live',
  '/ready',
  '/metrics',
  '/picker/',
  '/picker/main.js',
  '/graphql/playground/',
  '/nope',
  '//live',
  '//graphql',
  '/graphql/',
  '/graphql/../metrics',
  '/./live',
  '/%6cive',
  '/graphql%2f',
  '/%00',
  '/%ff%fe',
  '/%',
  '/..%2f..%2fetc%2fpasswd',
  '/picker/../../package.json',
  '/graphql;a=b',
  '/graphql?',
  '/graphql#x',
  '*',
  'http://other.test/graphql',
  'http://user:secret@other.test:99999/live',
  'https:///live',
  'javascript:alert(1)',
  'graphql',
  '?query={__typename}',
  '/graphql?query=%7B__typename%7D',
  '/graphql?query={__typename}&query={chains{id}}',
  '/graphql?variables=%7B&query={__typename}',
  '/graphql?query={__typename}&variables=[]&extensions=5',
  '/graphql?extensions={"persistedQuery":{"version":1}}',
  '/graphql?query={__typename}&operationName=constructor',
  '/graphql?__proto__=1&constructor=2&query={__typename}',
  '/graphql?%f0%9f&query=%c3%28',
];
const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'DELETE',
  'PATCH',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
];

/** Asks with these parameters, by POST or GET, with headers that are usual or odd. */
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

/** Asks for any path by any method, with a body of any kind. */
export function oddRequest(random: Random, hasBig: boolean): Exchange {
  const method = random.pick(METHODS);
  const target = random.oneIn(8) ? `/${oddTarget(random)}` : random.pick(PATHS);
  const body = random.oneIn(3) ? oddBody(random, hasBig) : undefined;
  const headers = [...(body && random.oneIn(2) ? [JSON_TYPE] : []), ...oddHeaders(random)];
  return exchangeOf('odd path', { method, target, headers, ...(body && { body }) });
}

/** Sends to the graph what is no JSON, or hardly. */
export function oddBodyRequest(random: Random, hasBig: boolean): Exchange {
  const headers = [random.oneIn(3) ? oddContentType(random) : JSON_TYPE, ...usualHeaders(random)];
  return exchangeOf('odd body', {
    method: 'POST',
    target: '/graphql',
    headers,
    body: oddBody(random, hasBig),
  });
}

function byPost(random: Random, { query, variables, operationName, extensions }: Parameters): PlainRequest {
  const members = jsonOf({ query, operationName, variables, extensions });
  // Deeply nested objects are written with other marks, since JSON's own would be escaped.
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
  // Node itself takes no longer heads than 16 kB.
  if (target.length > 15_000 && !random.oneIn(20)) return byPost(random, parameters);
  return { method: random.oneIn(20) ? 'HEAD' : 'GET', target: target.slice(0, 70_000), headers: [] };
}

function byForm(random: Random, { query, variables, operationName }: Parameters): PlainRequest {
  const values = { query: plain(query), variables: jsonOf(variables), operationName: plain(operationName) };
  const [type, text] = random.weighted<() => readonly [string, string]>([
    [
      2,
      () => [
        'application/x-www-form-urlencoded',
        Object.entries(values)
          .map(([name, value]) => `${name}=${encoded(value)}`)
          .join('&'),
      ],
    ],
    [
      1,
      () => [
        'multipart/form-data; boundary=x',
        Object.entries(values)
          .map(([name, value]) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
          .join('') + random.pick(['--x--\r\n', '']),
      ],
    ],
    [
      1,
      () => [
        'multipart/form-data; boundary=x',
        `--x\r\ncontent-disposition: form-data; name="operations"\r\n\r\n${jsonOf({ query, variables })}\r\n--x\r\ncontent-disposition: form-data; name="map"\r\n\r\n{"0":["variables.__proto__.x"]}\r\n--x\r\ncontent-disposition: form-data; name="0"; filename="a"\r\n\r\nx\r\n--x--\r\n`,
      ],
    ],
    [1, () => ['application/graphql', values.query]],
    [1, () => ['text/plain', values.query]],
  ])();
  return { method: 'POST', target: '/graphql', headers: [['content-type', type]], body: Buffer.from(text) };
}

/** A text as it is, anything else as JSON. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value);
}

/** Percent-encoded; lone surrogates, which have no encoding, as what stands for them. */
function encoded(text: string): string {
  return encodeURIComponent(Buffer.from(text).toString('utf8'));
}

function oddTarget(random: Random): string {
  return encoded(oddText(random, 20_000)).replaceAll(/%2F/g, '/').replaceAll(/%3F/g, '?');
}
