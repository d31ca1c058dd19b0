import { describe, expect, it } from 'vitest';
import { ageText, countText, priceText } from '../../../src/pages/picker/page/text.js';

describe('what the picker writes', () => {
  it.each([
    [0, '$0.00'],
    [1, '$1.00'],
    [0.9998, '$1.00'],
    [0.5, '$0.50'],
    [0.98765, '$0.9877'],
    [0.0123456, '$0.01235'],
    [0.00000012345, '$0.0000001235'],
    [0.0000000012345, '$1.23E-9'],
    [3120.449, '$3,120.45'],
    [94_120.7, '$94,120.70'],
    [123_456_789.12, '$123.46M'],
  ])('a price of %d as %s', (usd, text) => {
    expect(priceText(usd)).toBe(text);
  });

  it.each([
    [-5000, '0 s'],
    [12_900, '12 s'],
    [60_000, '1 min'],
    [3_599_000, '59 min'],
    [7_200_000, '2 h'],
    [200_000_000, '2 d'],
  ])('an age of %d ms as %s', (ms, text) => {
    expect(ageText(ms)).toBe(text);
  });

  it('numbers of things', () => {
    expect([countText(0, 'token'), countText(1, 'token'), countText(1204, 'token')]).toEqual([
      '0 tokens',
      '1 token',
      '1,204 tokens',
    ]);
  });
});
