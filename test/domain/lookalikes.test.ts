/** Symbols that people cannot tell apart have one key, and other symbols have different keys. */
import { expect, it } from 'vitest';
import { lookalikeKey } from '../../src/domain/lookalikes.js';
import { demoTokens } from '../fixtures/demo.js';

it.each([
  ['a Cyrillic С', 'USD\u0421', 'USDC'],
  ['a Cyrillic Ѕ', 'U\u0405DC', 'USDC'],
  ['only Greek letters', '\u0395\u03a4\u0397', 'ETH'],
  ['a small Cyrillic т, which looks like its capital', 'USD\u0442', 'USDT'],
  ['a Cyrillic letter with an accent', 'W\u0401TH', 'WETH'],
  ['the sign of the tugrik', 'USD\u20ae', 'USDT'],
  ['full-width letters', '\uff35\uff33\uff24\uff23', 'usdc'],
  ['Greek letters of mathematics', '\u{1d6ac}\u{1d6bb}\u{1d6ae}', 'ETH'],
  ['an accent', 'ÚSDC', 'USDC'],
  ['a zero-width space', 'US\u200bDC', 'USDC'],
  ['a filler of Hangul', 'USDC\u3164', 'USDC'],
  ['white space around it', ' USDC\u00a0', 'USDC'],
  ['an accent of its own', 'USDC\u00b4', 'USDC'],
  ['a hair space within', 'US\u200aDC', 'USDC'],
  ['a control character', 'USDC\u0007', 'USDC'],
  ['an anchor of annotations', '\ufff9USDC', 'USDC'],
  ['Braille without dots', 'USDC\u2800', 'USDC'],
  ['a zero for an O', 'W00', 'WOO'],
  ['a small L for an I', 'UNl', 'UNI'],
  ['a Cyrillic palochka for an I', 'UN\u04c0', 'UNI'],
  ['a one for an L', 'SO1', 'SOL'],
])('two symbols look alike if one has %s', (_what, one, other) => {
  expect(lookalikeKey(one)).toBe(lookalikeKey(other));
});

it.each([
  ['USDC', 'USDT'],
  ['USDC', 'USDC.e'],
  ['USDT', 'USDT0'],
  ['ETH', 'WETH'],
  ['\u0429\u0416', 'USDC'],
  ['', 'USDC'],
  ['🐶', '🐱'],
])('"%s" and "%s" do not look alike', (one, other) => {
  expect(lookalikeKey(one)).not.toBe(lookalikeKey(other));
});

it('different symbols of one chain in the demo listing do not look alike, apart from letter case', () => {
  const symbols = new Map<string, Set<string>>();
  for (const { chainKey, symbol } of demoTokens) {
    const key = `${chainKey} ${lookalikeKey(symbol)}`;
    symbols.set(key, (symbols.get(key) ?? new Set()).add(symbol.toLowerCase()));
  }
  expect([...symbols.values()].filter(({ size }) => size > 1).map((each) => [...each])).toEqual([]);
});
