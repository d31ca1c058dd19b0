import { type Exchange, headOf } from './exchange.js';
import { type Random, times } from './random.js';
import { oddText } from './values.js';

const BODY = Buffer.from('{"query":"{ chains { chainKey } }"}');
/** The head of a POST of JSON with these additional headers. */
const postHead = (...more: readonly (readonly [string, string])[]) =>
  headOf('POST', '/graphql', [['host', 'x'], ['content-type', 'application/json'], ...more]);
const lengthOf = (body: Buffer) => ['content-length', String(body.byteLength)] as const;
const GET = 'GET /graphql?query={__typename} HTTP/1.1\r\nhost: x\r\n\r\n';

/** Bytes that no usual HTTP client sends, on a new connection. */
export function rawExchange(random: Random): Exchange {
  return random.weighted<() => Exchange>([
    [3, () => raw(random, 'bad request line', [badLine(random)], ['GET'])],
    [2, () => raw(random, 'bad headers', [badHeaders(random)], ['POST'])],
    [3, () => raw(random, 'lying content-length', [lyingLength(random)], ['POST', 'GET', 'GET'])],
    [3, () => raw(random, 'chunks', chunks(random), ['POST', 'GET', 'GET'])],
    [2, () => pipelined(random)],
    [1, () => continued(random)],
    [
      1,
      () => raw(random, 'rubbish', [Buffer.from(times(random.size(5_000), () => random.int(256)))], ['GET']),
    ],
    [1, () => raw(random, 'TLS', [Buffer.from('16030100f5010000f10303', 'hex')], ['GET'])],
    [1, () => raw(random, 'HTTP/2', [Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')], ['PRI'])],
    [1, () => raw(random, 'nothing', [], [])],
    [1, () => cutOff(random)],
    [1, () => smuggled(random)],
    [
      1,
      () =>
        raw(
          random,
          'long head',
          [
            headOf(
              'GET',
              '/live',
              times(random.size(3_000), (nth) => [`x-${nth}`, 'a']),
            ),
          ],
          ['GET'],
        ),
    ],
  ])();
}

/** An exchange for which an answer is optional, but the connection must end. Bytes after a request can be refused, too. */
function raw(random: Random, kind: string, writes: readonly Buffer[], methods: readonly string[]): Exchange {
  const ending = random.oneIn(8) ? 'cut' : 'half-close';
  return { kind: `raw: ${kind}`, writes, methods: [...methods, 'GET'], answersAtLeast: 0, ending };
}

function badLine(random: Random): Buffer {
  const line = random.weighted<() => string>([
    [
      3,
      () =>
        `${random.pick(['GET', 'get', 'CONNECT', 'G\0T', '', ' GET', 'GETT', 'POST', 'OPTIONS'])} ${random.pick(['/live', '', '*', 'a:80', '/\0', '/ä', `/${'a'.repeat(random.size(90_000))}`])} ${random.pick(['HTTP/1.1', 'HTTP/1.0', 'HTTP/0.9', 'HTTP/2.0', 'HTTP/9.9', 'HTTP', '', 'HTTP/1.1 x'])}`,
    ],
    [1, () => oddText(random)],
    [1, () => '\r\n'.repeat(random.size(10_000))],
  ])();
  return Buffer.from(
    `${line}${random.pick(['\r\n', '\n', '\r'])}${random.pick(['host: x\r\n\r\n', '\r\n', ''])}`,
  );
}

function badHeaders(random: Random): Buffer {
  const header = random.pick([
    'a',
    'a b: c',
    ': x',
    'a\0: b',
    'a: b\0',
    'a:\r b',
    ' folded: x',
    'host: y',
    'content-length: 5\r\ncontent-length: 6',
    'content-length: 35\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ntransfer-encoding: identity',
    'transfer-encoding: , chunked',
    'content-length: 35, 35',
    `a: ${'b'.repeat(20_000)}`,
    '\u{1}: x',
    'expect: 100-continue\r\nexpect: x',
    'connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x',
    'content-type: \u{ff}\u{80}',
  ]);
  return Buffer.concat([
    Buffer.from(`POST /graphql HTTP/1.1\r\nhost: x\r\n${header}\r\n\r\n`, 'latin1'),
    BODY,
  ]);
}

function lyingLength(random: Random): Buffer {
  const length = random.pick([
    BODY.byteLength - random.int(30),
    BODY.byteLength + random.size(2_000_000),
    0,
    2 ** 31,
    2 ** 53,
  ]);
  const head = postHead(['content-length', String(length)]);
  return Buffer.concat([head, BODY, random.oneIn(2) ? Buffer.from(GET) : Buffer.alloc(0)]);
}

/** A chunked body in parts: of one byte each, with extensions and trailers, or malformed. */
function chunks(random: Random): Buffer[] {
  const head = postHead(['transfer-encoding', 'chunked'], ['trailer', 'x-t']);
  const size = random.pick([1, 7, 100]);
  const body = random.oneIn(3) ? Buffer.concat([Buffer.alloc(random.size(20_000), ' '), BODY]) : BODY;
  const pieces = times(Math.ceil(body.byteLength / size), (nth) => {
    const piece = body.subarray(nth * size, (nth + 1) * size);
    const extension = random.oneIn(9)
      ? `;${random.pick(['a', 'a=b', 'a="b', 'x'.repeat(random.size(30_000))])}`
      : '';
    return Buffer.concat([
      Buffer.from(`${piece.byteLength.toString(16)}${extension}\r\n`),
      piece,
      Buffer.from('\r\n'),
    ]);
  });
  if (random.oneIn(4))
    pieces[random.int(pieces.length)] = Buffer.from(
      random.pick([
        '-1\r\n',
        'fffffffffffffffff\r\n',
        '5\r\nabc\r\n',
        'g\r\n',
        '\r\n',
        '0\r\n\r\n',
        '1\na\n',
      ]),
    );
  const end = random.pick([
    '0\r\n\r\n',
    '0\r\nx-t: 1\r\n\r\n',
    `0\r\n${'x-t: 1\r\n'.repeat(random.size(3_000))}\r\n`,
    '0\r\ncontent-length: 5\r\n\r\n',
    '0\r\n',
    '',
  ]);
  const all = [head, ...pieces, Buffer.from(end), Buffer.from(random.oneIn(3) ? GET : '')];
  // Many parts are joined, because separate writes would cost the client more time than the gateway.
  return all.length > 200 ? [Buffer.concat(all)] : all;
}

function pipelined(random: Random): Exchange {
  const count = random.size(100);
  const requests = times(count, () =>
    random.weighted<() => readonly [string, Buffer]>([
      [4, () => ['GET', Buffer.from(GET)]],
      [2, () => ['HEAD', Buffer.from('HEAD /live HTTP/1.1\r\nhost: x\r\n\r\n')]],
      [2, () => ['POST', Buffer.concat([postHead(lengthOf(BODY)), BODY])]],
      [1, () => ['GET', Buffer.from('GET /nope HTTP/1.1\r\nhost: x\r\n\r\n')]],
    ])(),
  );
  const methods = requests.map(([method]) => method);
  const isCut = random.oneIn(6);
  return {
    kind: 'raw: pipelined',
    writes: [Buffer.concat(requests.map(([, bytes]) => bytes))],
    methods,
    answersAtLeast: isCut ? 0 : count,
    ending: isCut ? 'cut' : 'wait',
  };
}

function continued(random: Random): Exchange {
  const writes = [postHead(['expect', '100-continue'], lengthOf(BODY)), BODY];
  return {
    kind: 'raw: 100-continue',
    writes: random.oneIn(3) ? writes.slice(0, 1) : writes,
    methods: ['POST'],
    answersAtLeast: 0,
    ending: 'half-close',
  };
}

/** Disconnects during a good request, or during the answer to an expensive one. */
function cutOff(random: Random): Exchange {
  const body = Buffer.from(JSON.stringify({ query: `{ tokens { id name } } # ${random.int(1e9)}` }));
  const whole = Buffer.concat([postHead(lengthOf(body)), body]);
  const part = random.oneIn(2) ? whole : whole.subarray(0, random.int(whole.byteLength));
  return { kind: 'raw: cut off', writes: [part], methods: ['POST'], answersAtLeast: 0, ending: 'cut' };
}

/** A body with two contradictory lengths, which a proxy could read differently (request smuggling). */
function smuggled(random: Random): Exchange {
  const headers = random.pick([
    'content-length: 4\r\ntransfer-encoding: chunked',
    'transfer-encoding: chunked\r\ncontent-length: 4',
    'transfer-encoding:\tchunked\r\ncontent-length: 4',
    'Transfer-Encoding : chunked',
    'transfer-encoding: xchunked\r\ncontent-length: 4',
    'transfer-encoding: chunked\r\n x: y',
  ]);
  return raw(
    random,
    'two lengths',
    [Buffer.from(`POST /graphql HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n0\r\n\r\n${GET}`)],
    ['POST', 'GET', 'GET'],
  );
}
