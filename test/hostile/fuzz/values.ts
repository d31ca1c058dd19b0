/** Generators of odd names, texts, values and sizes for hostile requests, and the exchanges that are made from them. */
import fc from 'fast-check';

export const weighted = <Value>(weight: number, arbitrary: fc.Arbitrary<Value>) => ({ weight, arbitrary });

const USUAL_SIZE = 20_000;

/** A whole number from 1 to `max`. All magnitudes are equally likely, but few numbers exceed {@link USUAL_SIZE}. */
export function size(max: number): fc.Arbitrary<number> {
  const upTo = (most: number) =>
    fc.noBias(fc.nat(999)).map((step) => Math.max(1, Math.round(most ** (step / 999))));
  if (max <= USUAL_SIZE) return upTo(max);
  return fc.oneof(weighted(24, upTo(USUAL_SIZE)), weighted(1, upTo(max)));
}

export const many = <Item>(max: number, item: fc.Arbitrary<Item>): fc.Arbitrary<Item[]> =>
  size(max).chain((length) => fc.array(item, { minLength: length, maxLength: length }));

export const times = <Item>(count: number, make: (nth: number) => Item): Item[] =>
  Array.from({ length: count }, (_, nth) => make(nth));

export const nested = (depth: number, open: string, core: string, close: string): string =>
  open.repeat(depth) + core + close.repeat(depth);

const words = (text: string) => fc.constantFrom(...text.split(' '));
export const among = (texts: string): fc.Arbitrary<string> => fc.constantFrom(...texts.split('|'));

export const oddName = words(
  'constructor __proto__ prototype toString valueOf hasOwnProperty __defineGetter__ __typename __schema __type then length toJSON null true on fragment query id errors data extensions _ __ _entities',
);

const ODD_TEXTS = [
  ...['', ' ', '\0', '\u{feff}', '\u{fffd}', '\u{d800}', '\u{dfff}x', '\u{202e}abc', 'İıſK', 'ﷺ'],
  ...['\u{1f41f}\u{200d}\u{1f469}', 'e\u{301}\u{301}\u{301}', '\u{85}\u{2028}\u{2029}', '$' + '{7*7}'],
  ...["'; process.exit(1); //", '`+process.exit()+`', '*/process.exit()/*', '</script><script>'],
  ...['../../../../etc/passwd', '%00%ff%', 'http://169.254.169.254/', '0x', 'ethereum', 'ETHEREUM'],
  ...['0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE', '0x0000000000000000000000000000000000000000'],
  ...['NaN', '-0', '1e999', '9'.repeat(400)],
];

/** A text that is odd, long or repetitive, and seldom longer than `max`. */
export function oddText(max = 3_000): fc.Arbitrary<string> {
  const repeated = fc.constantFrom('a', ' ', 'é', '\u{1f41f}', '\u{300}', '-', '0', 'eth ', 'a b');
  const known = fc.constantFrom(...ODD_TEXTS);
  return fc.oneof(
    weighted(6, known),
    weighted(3, oddName),
    { weight: 2, arbitrary: many(20, fc.nat(0xffff)).map((codes) => String.fromCharCode(...codes)) },
    { weight: 2, arbitrary: fc.tuple(repeated, size(max)).map(([part, count]) => part.repeat(count)) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(many(12, known), fc.constantFrom(' ', '', ','))
        .map(([texts, by]) => texts.join(by)),
    },
  );
}

/** A placeholder in JSON for a text that `JSON.stringify` would never write. */
const RAW = '@raw:';
const numbers = fc.oneof(
  fc.constantFrom(0, -1, 1, 20, 100, 101, 0.5, 2 ** 31, -(2 ** 31), 2 ** 53, 1e308, 5e-324),
  words('1e999 -1e999 -0 1E400 123456789012345678901234567890 1.0 1e-400').map((text) => RAW + text),
);

export const oddValue = (maxDepth = 3): fc.Arbitrary<unknown> =>
  fc.anything({
    key: oddName,
    values: [oddText(), oddText(), numbers, fc.constantFrom(null, true, false)],
    maxDepth,
    maxKeys: 4,
  });

/** The JSON text of a value. The placeholders become numbers that `JSON.stringify` would never write. */
export function jsonOf(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(/"@raw:([^"]*)"/g, '$1');
}

export const opaque: fc.Arbitrary<string> = fc
  .tuple(
    fc
      .oneof(
        fc.tuple(fc.constant('Chain'), fc.oneof(words('ethereum base chain-7'), oddName)),
        fc.tuple(fc.constant('Token'), fc.oneof(words('ethereum base'), oddName), oddText(500)),
        fc.tuple(fc.constant('SYMBOL'), fc.constant(null), oddText(100), fc.constant('ethereum')),
        fc.tuple(fc.constant('RELEVANCE'), numbers, fc.constant('tok5'), fc.constant('base'), oddText(500)),
        fc.tuple(
          words('NAME PRICE_ASC PRICE_DESC'),
          oddValue(0),
          ...['a', 'b', 'c'].map((text) => fc.constant(text)),
        ),
        fc.array(oddValue(1), { maxLength: 9 }),
        oddValue(2),
        fc.constant({ length: 2 ** 31, 0: 'Chain' }),
        size(5_000).map((depth) => `${RAW}${nested(depth, '[', '', ']')}`),
      )
      .map(jsonOf),
    fc.constantFrom('base64url', 'base64url', 'base64url', 'base64'),
    fc.constantFrom(0, 0, 0, 0, -1),
  )
  .map(([text, encoding, end]) =>
    Buffer.from(end ? text.slice(0, end) : text).toString(encoding as BufferEncoding),
  );

const address = fc.nat(1_999).map((nth) => `0xAbCdEf${nth.toString(16).padStart(34, '0')}`);
const members = {
  __typename: words('Chain Token Price Query constructor'),
  id: opaque,
  chainKey: words('ethereum base chain-7 chain-79 nope'),
  address,
  caip2: fc.nat(79).map((nth) => `eip155:${nth}`),
  caip19: address.map((text) => `eip155:1/erc20:${text}`),
};

export const representation: fc.Arbitrary<unknown> = fc.oneof(
  weighted(7, fc.record(members, { requiredKeys: [] })),
  weighted(
    3,
    fc.record(
      { ...members, chainKey: oddValue(1), address: oddValue(1), id: oddValue(1) },
      { requiredKeys: [] },
    ),
  ),
  weighted(1, fc.constantFrom(null, 5, 'nope', [], [[]], {})),
);

export type Header = readonly [name: string, value: string];

/** One request that any HTTP client could send. In all texts each character is one byte. */
export interface PlainRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: readonly Header[];
  readonly body?: string;
}

/** Bytes for a new connection, in the parts in which they are sent. Each character is one byte. */
export interface RawBytes {
  readonly writes: readonly string[];
  readonly isCut: boolean;
  readonly answersAtLeast: number;
}

export type Exchange = PlainRequest | RawBytes;

/** The text with one character for each of its bytes in UTF-8. */
export const bytesOf = (text: string | Buffer): string => Buffer.from(text).toString('latin1');

export function headOf(method: string, target: string, headers: readonly Header[]): string {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const MAX_SHOWN = 4_000;

export function reported<Sent extends Exchange>(exchange: Sent): Sent {
  const [all, name] =
    'writes' in exchange
      ? [exchange.writes.join(''), `raw bytes, ${exchange.isCut ? 'then cut off' : 'then half-closed'}`]
      : [headOf(exchange.method, exchange.target, exchange.headers) + (exchange.body ?? ''), 'request'];
  const text = () => `${name}, ${all.length} bytes: ${JSON.stringify(all.slice(0, MAX_SHOWN))}`;
  return { ...exchange, [fc.toStringMethod]: text };
}
