import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { createSeenBefore } from '../../src/execution/seen-before.js';

/** A list of keys such as clients send. @param changed the index of a key that differs from the other lists */
function keys(count: number, changed?: number): string {
  const addressOf = (nth: number) => {
    const hash = createHash('sha1').update(nth === changed ? `other ${nth}` : String(nth));
    return `0x${hash.digest('hex')}`;
  };
  return JSON.stringify(Array.from({ length: count }, (_nothing, nth) => ({ address: addressOf(nth) })));
}

describe('the memory of texts', () => {
  it.each([1, 20, 50, 1_000])('recognises a repeated list of %d keys, and no other', (count) => {
    const hasSeen = createSeenBefore();
    expect(hasSeen(keys(count))).toBe(false);
    expect(hasSeen(keys(count))).toBe(true);
    expect(hasSeen(keys(count + 1))).toBe(false);
  });

  it('distinguishes lists that differ in one key', () => {
    const hasSeen = createSeenBefore();
    hasSeen(keys(50));
    for (let changed = 0; changed < 50; changed++) expect(hasSeen(keys(50, changed))).toBe(false);
  });

  it('distinguishes texts that differ in one letter', () => {
    const hasSeen = createSeenBefore();
    const text = 'a'.repeat(3_000);
    hasSeen(text);
    for (let at = 0; at < text.length; at++)
      expect(hasSeen(`${text.slice(0, at)}A${text.slice(at + 1)}`), String(at)).toBe(false);
  });
});
