import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonReader } from '../../src/domain/json-reader.js';

/** Reads a text in pieces of these lengths, in turn. */
function readIn(bytes: Uint8Array, lengths: readonly number[], maxBatchBytes: number): unknown {
  const reader = new JsonReader(maxBatchBytes);
  for (let at = 0, nth = 0; at < bytes.length; nth++) {
    const length = lengths[nth % lengths.length] ?? 1;
    reader.add(bytes.subarray(at, at + length));
    at += length;
  }
  return reader.end();
}

/** The value, or that there is none. */
function outcome(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch {
    return 'refused';
  }
}

const whole = (bytes: Uint8Array) => JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));

const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 });
const batches = fc.integer({ min: 1, max: 60 });
const values = fc.jsonValue({ maxDepth: 4 });
const listings = fc.record({
  before: values,
  tokens: fc.array(values, { maxLength: 20 }),
  'a "name", [odd] {too} \\': values,
  '': fc.array(values),
});

describe('the reader of JSON', () => {
  it('gives what JSON.parse gives, however the text is cut', () => {
    fc.assert(
      fc.property(
        fc.oneof(listings, values),
        fc.boolean(),
        lengths,
        batches,
        (value, isSpaced, lengths, max) => {
          const bytes = Buffer.from(JSON.stringify(value, null, isSpaced ? 1 : undefined));
          expect(readIn(bytes, lengths, max)).toStrictEqual(whole(bytes));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('refuses what JSON.parse refuses, and nothing else', () => {
    const bits = fc.constantFrom(
      ...[
        '{',
        '}',
        '[',
        ']',
        ',',
        ':',
        '"',
        '\\',
        ' ',
        '1',
        '0',
        '-',
        'e',
        'null',
        '"a"',
        '"a":',
        '[1,2]',
        '{}',
      ],
      ...['\n', '\u0000', '\ufeff', '"é\ud83d\ude00"', '{"tokens":[', ']}', '\\u0041'],
    );
    const broken = fc
      .tuple(fc.oneof(listings, values), fc.array(fc.tuple(fc.nat(), fc.nat(3), bits), { maxLength: 3 }))
      .map(([value, changes]) => {
        let text = JSON.stringify(value);
        for (const [at, dropped, bit] of changes) {
          const place = at % (text.length + 1);
          text = text.slice(0, place) + bit + text.slice(place + dropped);
        }
        return Buffer.from(text);
      });
    const scrap = fc.array(bits, { maxLength: 12 }).map((parts) => Buffer.from(parts.join('')));
    const bytes = fc
      .uint8Array({ maxLength: 8 })
      .map((given) => Buffer.concat([Buffer.from('{"a":["'), given, Buffer.from('"]}')]));
    let refused = 0;
    let read = 0;
    fc.assert(
      fc.property(fc.oneof(broken, scrap, bytes), lengths, batches, (bytes, lengths, max) => {
        const expected = outcome(() => whole(bytes));
        if (expected === 'refused') refused++;
        else read++;
        expect(outcome(() => readIn(bytes, lengths, max))).toStrictEqual(expected);
      }),
      { numRuns: 3_000 },
    );
    expect(refused).toBeGreaterThan(300);
    expect(read).toBeGreaterThan(300);
  });

  it.each([
    '{"tokens":[1],"tokens":[2,3]}',
    '{"__proto__":[1,2],"tokens":[]}',
    '{"tokens":[1,]}',
    '{"tokens":[,1]}',
    '{"tokens":[1,,2]}',
    '{"tokens":[ ]}',
    '{"tokens":[1,\ufeff2]}',
    '\ufeff{"tokens":[1]}',
    '{"tokens":[1}',
    '{"tokens":[1]',
    '{"tokens":[[1],[2]],"more":[[0]]}',
    '[[1,2],[3]]',
    '"text"',
    '',
  ])('gives of %s what JSON.parse gives', (text) => {
    const bytes = Buffer.from(text);
    for (const max of [1, 1_000]) {
      expect(outcome(() => readIn(bytes, [3], max))).toStrictEqual(outcome(() => whole(bytes)));
    }
  });
});
