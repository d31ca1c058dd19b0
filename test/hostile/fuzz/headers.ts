import { type Random, times } from './random.js';
import { ODD_NAMES, oddText } from './values.js';

/** A header line. */
export type Header = readonly [name: string, value: string];

/** A few that clients send. */
export function usualHeaders(random: Random): Header[] {
  const headers: Header[] = [];
  if (random.oneIn(3))
    headers.push(['accept', random.pick(['*/*', 'application/json', 'application/graphql-response+json'])]);
  if (random.oneIn(4))
    headers.push(['accept-encoding', random.pick(['gzip', 'br', 'gzip, deflate, br, zstd', 'identity'])]);
  return headers;
}

/** A few that no client sends, or with odd values. */
export function oddHeaders(random: Random): Header[] {
  return times(random.int(4), () => oddHeader(random));
}

function oddHeader(random: Random): Header {
  const rubbish = () => headerText(oddText(random, 9_000));
  const list = (items: readonly string[]) =>
    times(random.size(300), () => random.pick(items)).join(random.pick([',', ', ', ' , ']));
  return random.weighted<() => Header>([
    [
      4,
      () => [
        'accept',
        random.pick([
          'text/html',
          'text/event-stream',
          'multipart/mixed',
          'application/graphql-response+json',
          'application/json;charset=latin1',
          'image/*',
          '',
          ';;;',
          '*',
          'text/html,*/*;q=0',
          rubbish(),
          list(['a/b', '*/*', 'application/json', ';q=1', '']),
        ]),
      ],
    ],
    [
      3,
      () => [
        'accept-encoding',
        random.pick([
          'br;q=0',
          'gzip;q=0.0001',
          '*',
          'zstd',
          'br, br',
          rubbish(),
          list(['br', 'gzip;q=0', 'x', 'q=', '']),
        ]),
      ],
    ],
    [
      3,
      () => [
        'if-none-match',
        random.pick(['*', '"x"', 'W/"x"', rubbish(), list(['"abc"', 'W/"d"', '*', '"'])]),
      ],
    ],
    [2, () => ['x-request-id', rubbish()]],
    [2, () => ['origin', random.pick(['null', 'https://evil.test', 'http://localhost', rubbish()])]],
    [
      1,
      () => [
        'access-control-request-headers',
        random.pick(['content-type', rubbish(), list(['x-a', 'authorization'])]),
      ],
    ],
    [1, () => ['access-control-request-method', rubbish()]],
    [1, () => oddContentType(random)],
    [1, () => ['content-encoding', random.pick(['gzip', 'br', 'identity', 'x', 'gzip, gzip'])]],
    [1, () => ['host', random.pick(['', 'a:99999', '[::1', rubbish()])]],
    [1, () => ['expect', random.pick(['100-continue', 'nothing', rubbish()])]],
    [
      1,
      () => ['connection', random.pick(['close', 'keep-alive', 'upgrade', 'host, x-request-id', rubbish()])],
    ],
    [1, () => ['upgrade', random.pick(['websocket', 'h2c', 'TLS/1.0'])]],
    [1, () => ['range', random.pick(['bytes=0-1', 'bytes=-1', list(['0-1', '5-'])])]],
    [1, () => ['if-modified-since', random.pick(['Thu, 01 Jan 1970 00:00:00 GMT', rubbish()])]],
    [1, () => ['cookie', list(['a=b', '__proto__=1', ';'])]],
    [1, () => ['x-http-method-override', random.pick(['DELETE', 'POST'])]],
    [1, () => ['x-forwarded-for', list(['127.0.0.1', '::1', 'x'])]],
    [
      1,
      () => ['content-length', random.pick(['-1', '0x10', '1e3', '99999999999999999999', '', '+5', '5, 5'])],
    ],
    [
      1,
      () => [
        'transfer-encoding',
        random.pick(['chunked', 'gzip, chunked', 'identity', 'chunked, chunked', 'xchunked']),
      ],
    ],
    [1, () => [random.pick([...ODD_NAMES]), rubbish()]],
    [
      1,
      () => [
        random.pick(['x'.repeat(random.size(5_000)), 'te', 'trailer', 'via', 'authorization']),
        rubbish(),
      ],
    ],
  ])();
}

/** What the body is said to be. */
export function oddContentType(random: Random): Header {
  const type = random.weighted<() => string>([
    [
      4,
      () =>
        random.pick([
          'application/json; charset=utf-8',
          'application/json;charset=utf-16',
          'application/json;',
          'APPLICATION/JSON',
          'application/jsonx',
          'application/graphql+json',
          'application/json, text/plain',
        ]),
    ],
    [
      4,
      () =>
        random.pick([
          'text/plain',
          'application/graphql',
          'application/x-www-form-urlencoded',
          'multipart/form-data',
          'multipart/form-data; boundary=',
          'multipart/form-data; boundary=x',
          'multipart/mixed',
          '',
        ]),
    ],
    [1, () => headerText(oddText(random, 3_000))],
  ])();
  return ['content-type', type];
}

/** Without what would begin another line. */
function headerText(text: string): string {
  return text.replaceAll(/[\r\n]/g, ' ');
}
