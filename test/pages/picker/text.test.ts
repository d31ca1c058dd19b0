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

it.each([
  [0, '$0.00'],
  [1, '$1.00'],
  [0.9998, '$0.9998'],
  [0.99996, '$1.00'],
  [0.5, '$0.50'],
  [0.98765, '$0.9877'],
  [0.0123456, '$0.01235'],
  [0.00000012345, '$0.0000001235'],
  [0.0000001, '$0.0000001'],
  [0.0000000999, '<$0.0000001'],
  [5e-324, '<$0.0000001'],
  [3120.449, '$3,120.45'],
  [94_120.7, '$94,120.70'],
  [9_999_999.996, '$10,000,000.00'],
  [10_000_000, '$10,000,000.00'],
  [123_456_789.12, '$123,456,789.12'],
  [999_996_000, '$999,996,000.00'],
  [2.5e12, '$2,500,000,000,000.00'],
])('the picker writes a price of %d as %s', (usd, text) => {
  expect(priceText(usd)).toBe(text);
});

it.each([
  [-5000, '0 s'],
  [12_900, '12 s'],
  [60_000, '1 min'],
  [3_599_000, '59 min'],
  [7_200_000, '2 h'],
  [200_000_000, '2 d'],
])('the picker writes an age of %d ms as %s', (ms, text) => {
  expect(ageText(ms)).toBe(text);
});

it.each([
  ['USDC', 'USDC'],
  ['USD\u200bC', 'USD[U+200B]C'],
  ['\u202ecba', '[U+202E]cba'],
  ['a\u00a0b', 'a[U+00A0]b'],
  ['\u3164', '[U+3164]'],
  ['\u2800x', '[U+2800]x'],
  ['\ufeffTether\u{e0041}', '[U+FEFF]Tether[U+E0041]'],
  ['x\ufe0f', 'x[U+FE0F]'],
  ['Дай 币 ₮', 'Дай 币 ₮'],
  ['❤️ 👩‍🚀', '❤️ 👩‍🚀'],
])('the picker writes %j, with its invisible characters marked, as %s', (name, text) => {
  expect(markedText(name)).toBe(text);
});

it.each([
  ['usdc', 'u'],
  ['\u200b\u202eETH', 'E'],
  ['🐶coin', '🐶'],
  ['\u200b', '?'],
  ['', '?'],
])('the picker writes the initial of %j as %s', (symbol, initial) => {
  expect(firstCharacter(symbol)).toBe(initial);
});

it.each([
  ['0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913', '0x8335…2913'],
  ['0x1::aptos_coin::AptosCoin', '0x1::a…Coin'],
  ['0x1234567890ab', '0x1234567890ab'],
])('the picker writes the address %s as %s', (address, short) => {
  expect(shortAddress(address)).toBe(short);
});

it.each([
  ['USDC', false],
  ['USD₮0', false],
  ['1INCH', false],
  ['币安', false],
  ['USDС', true],
  ['ЕТН', true],
  ['USDαi', true],
  ['USD币', true],
])('the picker knows whether %s can pass for another symbol: %s', (symbol, isSo) => {
  expect(isMixed(symbol)).toBe(isSo);
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
