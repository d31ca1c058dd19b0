import { type Random, times } from './random.js';

/** Names that have a special meaning in JavaScript or GraphQL. */
export const ODD_NAMES =
  'constructor __proto__ prototype toString valueOf hasOwnProperty __defineGetter__ __typename __schema __type then length toJSON null true on fragment query id errors data extensions _ __ _entities'.split(
    ' ',
  );

/** Texts that break careless code. */
const ODD_TEXTS = [
  '',
  ' ',
  '\0',
  '\u{feff}',
  '\u{fffd}',
  '\u{d800}',
  '\u{dfff}x',
  '\u{202e}abc',
  '\u{1f41f}\u{200d}\u{1f469}',
  'e\u{301}\u{301}\u{301}',
  'İıſK',
  'ﷺ',
  '\u{85}\u{2028}\u{2029}',
  '$' + '{7*7}',
  "'; process.exit(1); //",
  '`+process.exit()+`',
  '*/process.exit()/*',
  '</script><script>',
  '../../../../etc/passwd',
  '%00%ff%',
  'http://169.254.169.254/',
  '0x',
  '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  '0x0000000000000000000000000000000000000000',
  'ethereum',
  'ETHEREUM',
  'NaN',
  '-0',
  '1e999',
  '9'.repeat(400),
] as const;

/** A placeholder in JSON for a text that `JSON.stringify` would never write. */
const RAW = '@raw:';
const RAW_VALUES = ['1e999', '-1e999', '-0', '1E400', '123456789012345678901234567890', '1.0', '1e-400'];

/** A text that is odd, long or repetitive, and seldom longer than `max`. */
export function oddText(random: Random, max = 3_000): string {
  return random.weighted<() => string>([
    [6, () => random.pick(ODD_TEXTS)],
    [3, () => random.pick(ODD_NAMES)],
    [2, () => times(random.size(20), () => String.fromCharCode(random.int(0x10000))).join('')],
    [
      2,
      () =>
        random
          .pick(['a', ' ', 'é', '\u{1f41f}', '\u{300}', '-', '0', 'eth ', 'a b'])
          .repeat(random.size(max)),
    ],
    [1, () => times(random.size(12), () => random.pick(ODD_TEXTS)).join(random.pick([' ', '', ',']))],
  ])();
}

/** Any JSON value with at most this depth. */
export function oddValue(random: Random, depth = 3): unknown {
  const inner = () => oddValue(random, depth - 1);
  const scalars: (readonly [number, () => unknown])[] = [
    [4, () => oddText(random)],
    [2, () => random.pick([0, -1, 1, 20, 100, 101, 0.5, 2 ** 31, -(2 ** 31), 2 ** 53, 1e308, 5e-324])],
    [1, () => `${RAW}${random.pick(RAW_VALUES)}`],
    [2, () => random.pick([null, true, false])],
  ];
  if (depth <= 0) return random.weighted(scalars)();
  return random.weighted<() => unknown>([
    ...scalars,
    [2, () => times(random.int(4), inner)],
    [2, () => objectOf(times(random.int(4), () => [random.pick(ODD_NAMES), inner()]))],
    [1, () => representation(random)],
  ])();
}

/** An entity's representation, valid or not. */
export function representation(random: Random): unknown {
  if (random.oneIn(8)) return random.pick([null, 5, 'nope', [], [[]], {}]);
  const names = [
    '__typename',
    'id',
    'chainKey',
    'address',
    'caip2',
    'caip19',
    ...random.pick([[], ODD_NAMES.slice(0, 3)]),
  ];
  const members = names
    .filter(() => !random.oneIn(3))
    .map((name): [string, unknown] => [
      name,
      random.oneIn(4) ? oddValue(random, 1) : goodMember(random, name),
    ]);
  return objectOf(members);
}

function goodMember(random: Random, name: string): string {
  if (name === '__typename') return random.pick(['Chain', 'Token', 'Price', 'Query', 'constructor']);
  if (name === 'id') return craftedOpaque(random);
  if (name === 'caip2') return `eip155:${random.int(80)}`;
  if (name === 'caip19') return `eip155:1/erc20:0xAbCdEf${random.int(2_000).toString(16).padStart(34, '0')}`;
  if (name === 'address') return `0xAbCdEf${random.int(2_000).toString(16).padStart(34, '0')}`;
  return random.pick(['ethereum', 'base', `chain-${random.int(80)}`, 'nope']);
}

/** An id or a cursor that an attacker who knows the format could forge. */
export function craftedOpaque(random: Random): string {
  const parts = random.weighted<() => unknown>([
    [3, () => ['Chain', random.pick(['ethereum', 'base', 'chain-7', ...ODD_NAMES])]],
    [3, () => ['Token', random.pick(['ethereum', 'base', ...ODD_NAMES]), oddText(random, 500)]],
    [2, () => ['SYMBOL', null, oddText(random, 100), 'ethereum', '0x1']],
    [
      2,
      () => ['RELEVANCE', random.pick([0, -1, `${RAW}1e999`, 2 ** 53]), 'tok5', 'base', oddText(random, 500)],
    ],
    [1, () => [random.pick(['NAME', 'PRICE_ASC', 'PRICE_DESC']), oddValue(random, 0), 'a', 'b', 'c']],
    [2, () => times(random.int(9), () => oddValue(random, 1))],
    [1, () => oddValue(random, 2)],
    [1, () => ({ length: 2 ** 31, 0: 'Chain' })],
  ])();
  const text = jsonOf(parts);
  return random.weighted<() => string>([
    [8, () => Buffer.from(text).toString('base64url')],
    [2, () => Buffer.from(text).toString('base64')],
    [1, () => Buffer.from(text.slice(0, -1)).toString('base64url')],
    [1, () => Buffer.from(nested(random.size(5_000), '[', '', ']')).toString('base64url')],
  ])();
}

/** The text `core` between `depth` opening texts and as many closing texts. */
export function nested(depth: number, open: string, core: string, close: string): string {
  return open.repeat(depth) + core + close.repeat(depth);
}

/** The JSON text of a value. The placeholders of {@link RAW} become numbers that `JSON.stringify` would never write. */
export function jsonOf(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replace(/"@raw:([^"]*)"/g, '$1');
}

/** An object that can have `__proto__` as an own member. */
export function objectOf(members: readonly (readonly [string, unknown])[]): Record<string, unknown> {
  const made: Record<string, unknown> = {};
  for (const [name, value] of members) {
    Object.defineProperty(made, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return made;
}
