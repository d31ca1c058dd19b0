/** The picker writes prices, ages, names and addresses short, exact and without characters that deceive. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lookalikeKey } from '../../../src/domain/lookalikes.js';
import {
  ageText,
  differingParts,
  firstCharacter,
  isMixed,
  lookOf,
  markedText,
  matchedParts,
  priceText,
  shortAddress,
} from '../../../src/pages/picker/text.js';

// Prices, ages, names with their invisible characters marked, initials, short addresses; and whether a symbol can pass for
// another one.
it.each<[write: (value: never) => unknown, value: unknown, written: unknown]>([
  [priceText, 0, '$0.00'],
  [priceText, 1, '$1.00'],
  [priceText, 0.9998, '$0.9998'],
  [priceText, 0.99996, '$1.00'],
  [priceText, 0.5, '$0.50'],
  [priceText, 0.98765, '$0.9877'],
  [priceText, 0.0123456, '$0.01235'],
  [priceText, 0.00000012345, '$0.0000001235'],
  [priceText, 0.0000001, '$0.0000001'],
  [priceText, 0.0000000999, '<$0.0000001'],
  [priceText, 5e-324, '<$0.0000001'],
  [priceText, 3120.449, '$3,120.45'],
  [priceText, 94_120.7, '$94,120.70'],
  [priceText, 9_999_999.996, '$10,000,000.00'],
  [priceText, 10_000_000, '$10,000,000.00'],
  [priceText, 123_456_789.12, '$123,456,789.12'],
  [priceText, 999_996_000, '$999,996,000.00'],
  [priceText, 2.5e12, '$2,500,000,000,000.00'],
  [ageText, -5000, '0 s'],
  [ageText, 12_900, '12 s'],
  [ageText, 60_000, '1 min'],
  [ageText, 3_599_000, '59 min'],
  [ageText, 7_200_000, '2 h'],
  [ageText, 200_000_000, '2 d'],
  [markedText, 'USDC', 'USDC'],
  [markedText, 'USD\u200bC', 'USD[U+200B]C'],
  [markedText, '\u202ecba', '[U+202E]cba'],
  [markedText, 'a\u00a0b', 'a[U+00A0]b'],
  [markedText, '\u3164', '[U+3164]'],
  [markedText, '\u2800x', '[U+2800]x'],
  [markedText, '\ufeffTether\u{e0041}', '[U+FEFF]Tether[U+E0041]'],
  [markedText, 'x\ufe0f', 'x[U+FE0F]'],
  [markedText, 'Дай 币 ₮', 'Дай 币 ₮'],
  [markedText, '❤️ 👩‍🚀', '❤️ 👩‍🚀'],
  [firstCharacter, 'usdc', 'u'],
  [firstCharacter, '\u200b\u202eETH', 'E'],
  [firstCharacter, '🐶coin', '🐶'],
  [firstCharacter, '\u200b', '?'],
  [firstCharacter, '', '?'],
  [shortAddress, '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', '0x8335…2913'],
  [shortAddress, '0x1::aptos_coin::AptosCoin', '0x1::a…Coin'],
  [shortAddress, '0x1234567890ab', '0x1234567890ab'],
  [isMixed, 'USDC', false],
  [isMixed, 'USD₮0', false],
  [isMixed, '1INCH', false],
  [isMixed, '币安', false],
  [isMixed, 'USDС', true],
  [isMixed, 'ЕТН', true],
  [isMixed, 'USDαi', true],
  [isMixed, 'USD币', true],
])('the picker writes by %o what is %j as %j', (write, value, written) => {
  expect(write(value as never)).toBe(written);
});

it.each([
  ['0x11aa', ['0x11aa'], ['0x11aa']],
  ['0x11aaff', ['0x11bbff'], ['0x11', 'aa', 'ff']],
  ['0x11aaff', ['0x11bbff', '0x11aafe'], ['0x11', 'aa', 'f', 'f']],
  ['0xAAcd', ['0xaaCe'], ['0xAAc', 'd']],
  ['EPjFWdd5', ['EPjfWdd5'], ['EPj', 'F', 'Wdd5']],
  ['abc', ['xyz'], ['', 'abc']],
  ['abcd', ['ab'], ['ab', 'cd']],
  ['a😀b', ['a😁b'], ['a', '😀', 'b']],
])('the picker divides %s beside %j into equal and differing parts: %j', (address, others, parts) => {
  expect(differingParts(address, others)).toEqual(parts);
});

it('keys that do not differ from those with which the gateway compares symbols', () => {
  const letters = Array.from({ length: 0x20000 }, (_, code) => String.fromCodePoint(code)).filter((one) =>
    /[\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Latin}\p{Nd}]/u.test(one),
  );
  const differing = letters.filter(
    (one) => lookOf({ chain: null, chainKey: '', symbol: one }) !== `/${lookalikeKey(one)}`,
  );
  expect(differing).toEqual([]);
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'USDCЅОΟ0oIl1ιі₮TтϹ\u0301\u200b É') }), (symbol) => {
      expect(lookOf({ chain: null, chainKey: '', symbol })).toBe(`/${lookalikeKey(symbol)}`);
    }),
  );
});

it.each([
  ['WBTC', 'btc', ['W', 'BTC', '']],
  ['USD Coin', 'coin usd', ['', 'USD', ' ', 'Coin', '']],
  ['a.b*c', '.b*', ['a', '.b*', 'c']],
  ['USDC', '', ['USDC']],
  ['x', '( [ \\', ['x']],
])('the picker divides %s into parts that match the words of "%s", and others', (text, query, parts) => {
  expect(matchedParts(text, query)).toEqual(parts);
});

it('the picker finds words of any character in a text', () => {
  const ascii = Array.from({ length: 94 }, (_, nth) => String.fromCodePoint(0x21 + nth));
  const failing = [...ascii, '…', '₮', '😀', '\ud800'].filter(
    (one) => matchedParts(`${one}0`, one)[1] !== one,
  );
  expect(failing).toEqual([]);
});
