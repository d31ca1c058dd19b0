/** Generates raw bytes that are no usual HTTP request, such as broken heads, chunks and pipelines. */
import fc from 'fast-check';
import { among, type Header, headOf, many, oddText, type RawBytes, size, times, weighted } from './values.js';

const BODY = '{"query":"{ chains { chainKey } }"}';
const postHead = (...more: readonly Header[]) =>
  headOf('POST', '/graphql', [['host', 'x'], ['content-type', 'application/json'], ...more]);
const POST = postHead(['content-length', `${BODY.length}`]) + BODY;
const LIVE = 'GET /live HTTP/1.1\r\nhost: x\r\n\r\n';
const LAST = LIVE.replace('host: x', 'host: x\r\nconnection: close');
const GET = 'GET /graphql?query={__typename} HTTP/1.1\r\nhost: x\r\n\r\n';

const badLine = fc.record({
  method: among('GET|get|CONNECT|G\0T|| GET|GETT|POST|OPTIONS'),
  path: fc.oneof(
    weighted(6, among('/live||*|a:80|/\0|/ä')),
    size(90_000).map((length) => `/${'a'.repeat(length)}`),
  ),
  version: among('HTTP/1.1|HTTP/1.0|HTTP/0.9|HTTP/2.0|HTTP/9.9|HTTP||HTTP/1.1 x'),
  end: among('\r\nhost: x\r\n\r\n|\n\r\n|\r|\r\n'),
});

const badHeader = fc.oneof(
  among(
    'a|a b: c|: x|a\0: b|a: b\0|a:\r b| folded: x|host: y|\u{1}: x|content-type: \u{ff}\u{80}|trailer: x',
  ),
  among('-1|0x10|1e3|+5||35, 35|99999999999999999999|5\r\ncontent-length: 6').map(
    (length) => `content-length: ${length}`,
  ),
  among('gzip, chunked|, chunked|chunked\r\ntransfer-encoding: identity').map(
    (coding) => `transfer-encoding: ${coding}`,
  ),
  among(
    'expect: 100-continue\r\nexpect: x|connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-key: x',
  ),
  size(20_000).map((length) => `a: ${'b'.repeat(length)}`),
);

/** Two contradictory lengths of a body, which a proxy could read differently (request smuggling). */
const twoLengths = fc.oneof(
  among('content-length: 4\r\ntransfer-encoding: chunked|transfer-encoding: chunked\r\ncontent-length: 4'),
  among('transfer-encoding:\tchunked\r\ncontent-length: 4|transfer-encoding: xchunked\r\ncontent-length: 4'),
  among('Transfer-Encoding : chunked|transfer-encoding: chunked\r\n x: y'),
);

/** A chunked body in parts: of one byte each, with extensions and trailers, or malformed. */
const chunked = fc
  .record({
    size: fc.constantFrom(1, 7, 100),
    spaces: fc.oneof(weighted(2, fc.constant(0)), size(20_000)),
    extension: fc.oneof(weighted(3, fc.constant('')), among(`;a|;a=b|;a="b|;${'x'.repeat(30_000)}`)),
    malformed: among('||||-1\r\n|fffffffffffffffff\r\n|5\r\nabc\r\n|g\r\n|\r\n|1\na\n'),
    end: fc.oneof(
      among('0\r\n\r\n|0\r\nx-t: 1\r\n\r\n|0\r\ncontent-length: 5\r\n\r\n|0\r\n|'),
      size(3_000).map((count) => `0\r\n${'x-t: 1\r\n'.repeat(count)}\r\n`),
    ),
    next: fc.constantFrom('', '', GET),
  })
  .map(({ size, spaces, extension, malformed, end, next }) => {
    const body = ' '.repeat(spaces) + BODY;
    const chunks = times(Math.ceil(body.length / size), (nth) => {
      const part = body.slice(nth * size, (nth + 1) * size);
      return `${part.length.toString(16)}${nth === 0 ? extension : ''}\r\n${part}\r\n`;
    });
    const head = postHead(['transfer-encoding', 'chunked'], ['trailer', 'x-t']);
    const writes = [head, ...chunks, malformed + end + next];
    // Many parts are joined, because separate writes would cost the client more time than the gateway.
    return writes.length > 200 ? [writes.join('')] : writes;
  });

const dear = fc.nat(1e9).map((nth) => {
  const body = JSON.stringify({ query: `{ tokens { id name } } # ${nth}` });
  return postHead(['content-length', `${body.length}`]) + body;
});

const badPost = (headers: string, body: string) =>
  `POST /graphql HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${body}`;
const wrongLength = fc.oneof(fc.nat(BODY.length), fc.constantFrom(36, 2_000_000, 2 ** 31, 2 ** 53));

const manyHeaders = size(3_000).map((count) => times(count, (nth): Header => [`x-${nth}`, 'a']));

const oddBytes: fc.Arbitrary<string> = fc.oneof(
  badLine.map(({ method, path, version, end }) => `${method} ${path} ${version}${end}`),
  oddText().map((text) => `${text}\r\n\r\n`),
  size(10_000).map((count) => '\r\n'.repeat(count)),
  manyHeaders.map((headers) => headOf('GET', '/live', headers)),
  badHeader.map((header) => badPost(header, BODY)),
  twoLengths.map((lengths) => badPost(lengths, `0\r\n\r\n${GET}`)),
  fc
    .tuple(wrongLength, fc.constantFrom('', GET))
    .map(([length, next]) => postHead(['content-length', `${length}`]) + BODY + next),
  among(`|${BODY}`).map((rest) => postHead(['expect', '100-continue'], ['content-length', '35']) + rest),
  fc.uint8Array({ maxLength: 5_000 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
  among('\x16\x03\x01\0\xf5\x01\0\0\xf1\x03\x03|PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n|'),
);

const pipelined = many(100, fc.constantFrom(GET, POST, LIVE, GET.replace('/graphql', '/nope')));

const odd: fc.Arbitrary<RawBytes> = fc
  .tuple(
    fc.oneof(weighted(1, chunked), { weight: 6, arbitrary: oddBytes.map((bytes) => [bytes]) }),
    fc.nat(7),
  )
  .map(([writes, chance]) => ({ writes, isCut: chance === 7, answersAtLeast: 0 }));
const manyAtOnce: fc.Arbitrary<RawBytes> = pipelined.map((all) => ({
  writes: [all.join('') + LAST],
  isCut: false,
  answersAtLeast: all.length + 1,
}));
const cutOff: fc.Arbitrary<RawBytes> = fc
  .tuple(dear, fc.constantFrom(1, 1, 0.9, 0.5, 0.1))
  .map(([bytes, share]) => ({
    writes: [bytes.slice(0, bytes.length * share)],
    isCut: true,
    answersAtLeast: 0,
  }));

export const rawBytes = fc.oneof(weighted(18, odd), weighted(2, manyAtOnce), weighted(2, cutOff));
