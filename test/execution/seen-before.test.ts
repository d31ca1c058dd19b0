import { expect, it } from 'vitest';
import { createSeenBefore } from '../../src/execution/seen-before.js';

it('the memory of texts recognises a repeated text, and tells texts apart that differ in one letter or in length', () => {
  const hasSeen = createSeenBefore();
  const text = JSON.stringify(
    Array.from({ length: 50 }, (_, nth) => ({ address: `0x${nth}`.padEnd(42, 'f') })),
  );
  expect(hasSeen(text)).toBe(false);
  expect(hasSeen(text)).toBe(true);
  expect(hasSeen(`${text} `)).toBe(false);
  for (let at = 0; at < text.length; at++)
    expect(hasSeen(`${text.slice(0, at)}☃${text.slice(at + 1)}`), String(at)).toBe(false);
});
