import { gzipSync } from 'node:zlib';
import { type Random, times } from './random.js';
import { jsonOf, nested, oddValue } from './values.js';

/** What is no JSON, hardly any, or very much of it. */
export function oddBody(random: Random, hasBig: boolean): Buffer {
  const max = hasBig ? 1_200_000 : 20_000;
  const good = '{"query":"{ chains { chainKey } }"}';
  return random.weighted<() => Buffer>([
    [2, () => Buffer.alloc(0)],
    [3, () => Buffer.from(good.slice(0, random.int(good.length)))],
    [2, () => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(good)])],
    [2, () => Buffer.from(good.replace('chainKey', '\u{d8}\u{ff}'), 'latin1')],
    [1, () => Buffer.from(good, 'utf16le')],
    [1, () => gzipSync(good)],
    [2, () => Buffer.from(nested(random.size(max / 2), '[', random.pick(['', '1']), random.pick([']', ''])))],
    [2, () => Buffer.from(nested(random.size(max / 6), '{"a":', '1', random.pick(['}', ''])))],
    [
      1,
      () => Buffer.from(`{"query":"{__typename}","variables":${nested(random.size(max / 2), '[', '', ']')}}`),
    ],
    [
      1,
      () =>
        Buffer.from(
          `{"query":"{__typename}","extensions":${nested(random.size(max / 6), '{"a":', '1', '}')}}`,
        ),
    ],
    [1, () => Buffer.from(`${random.pick([' ', '\n', '\0', '0', '"', '9'])}`.repeat(random.size(max)))],
    [1, () => Buffer.from(`${' '.repeat(random.size(max / 2))}${good}`)],
    [
      2,
      () =>
        Buffer.from(
          `{${times(random.size(max / 60), (nth) => `"query":"{ a${nth}: __typename }"`).join(',')}}`,
        ),
    ],
    [
      1,
      () =>
        Buffer.from(
          `{${times(random.size(max / 20), (nth) => `"k${nth}":${nth}`).join(',')},"query":"{__typename}"}`,
        ),
    ],
    [1, () => Buffer.from(`[${times(random.size(max / 40), () => good).join(',')}]`)],
    [2, () => Buffer.from(jsonOf(oddValue(random, 4)))],
    [1, () => Buffer.from(times(random.size(200), () => random.int(256)))],
    [1, () => Buffer.from(`query=${'%7B'.repeat(random.size(max / 4))}&query=%&=&&&variables=%ff`)],
  ])();
}
