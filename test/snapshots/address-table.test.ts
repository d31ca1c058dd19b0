import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NATIVE_PLACEHOLDER, tokenKey } from '../../src/domain/addresses.js';
import type { Token } from '../../src/domain/listing.js';
import { runAtOnce } from '../../src/scheduling/chunks.js';
import { addressTableSteps } from '../../src/snapshots/address-table.js';

const ZERO = `0x${'0'.repeat(40)}`;

/** Few letters, so that many addresses differ in letter case only, or not at all. */
const hex = fc.string({ unit: fc.constantFrom('a', 'A', 'b', 'B', '0'), minLength: 1, maxLength: 4 });
/** Zeros before them, up to the lengths of addresses, are no other address. */
const zeros = fc
  .constantFrom(0, 1, 39, 40, 64)
  .chain((length) => hex.map((digits) => digits.padStart(length, '0')));
const address = fc.oneof(
  hex.map((digits) => `0x${digits}`),
  hex.map((digits) => `0X${digits}`),
  zeros.map((digits) => `0x${digits}`),
  zeros.map((digits) => `0x${digits}::coin::C`),
  hex.map((digits) => digits.padStart(40, '0')),
  // Not hex, so that letter case matters: base58, a Move type, and hex without its prefix.
  fc.constantFrom('Ab9', 'aB9', '0x1::coin::C', '0x1::coin::c', '0x', 'ab', 'AB', '@`', 'é', 'É'),
  fc.constantFrom(
    ZERO,
    NATIVE_PLACEHOLDER,
    NATIVE_PLACEHOLDER.toLowerCase(),
    NATIVE_PLACEHOLDER.toUpperCase(),
  ),
);
const key = fc.record({ chainKey: fc.constantFrom('a', 'ab', ''), address });

function token({ chainKey, address }: { chainKey: string; address: string }): Token {
  const text = { symbol: '', name: '', logoUrl: null, heldBack: [] };
  return { chainKey, address, ...text, decimals: 18, isBridgeable: true, price: null };
}

describe('the table of addresses', () => {
  it('finds what a Map by the key of tokens finds, for each spelling', () => {
    fc.assert(
      fc.property(fc.array(key, { maxLength: 40 }), fc.array(key, { maxLength: 40 }), (listed, asked) => {
        const byKey = new Map(listed.map((each) => [tokenKey(each.chainKey, each.address), token(each)]));
        const rows = [...byKey.values()];
        const table = runAtOnce(addressTableSteps(rows));
        for (const { chainKey, address } of [...asked, ...listed]) {
          expect(table.find(rows, chainKey, address)).toBe(byKey.get(tokenKey(chainKey, address)));
        }
      }),
    );
  });

  it.each([
    { listed: '0xAb', asked: '0xaB', isFound: true },
    { listed: '0xAb', asked: '0XAB', isFound: true },
    { listed: '0xAb', asked: '0x0aB', isFound: true },
    { listed: '0xAb', asked: `${'0'.repeat(38)}aB`, isFound: true },
    { listed: '0xAb', asked: '0xAb0', isFound: false },
    { listed: 'Ab', asked: 'aB', isFound: false },
    { listed: '0x1::coin::C', asked: '0x001::coin::C', isFound: true },
    { listed: '0x1::coin::C', asked: '0x1::coin::c', isFound: false },
    { listed: ZERO, asked: NATIVE_PLACEHOLDER.toLowerCase(), isFound: true },
    { listed: NATIVE_PLACEHOLDER, asked: ZERO, isFound: true },
    { listed: '@b', asked: '`b', isFound: false },
  ])('finds $listed by $asked: $isFound', ({ listed, asked, isFound }) => {
    const rows = [token({ chainKey: 'a', address: listed })];
    const table = runAtOnce(addressTableSteps(rows));
    expect(table.find(rows, 'a', asked)).toBe(isFound ? rows[0] : undefined);
  });

  it('finds each of many tokens, and none that is not listed', () => {
    const rows = Array.from({ length: 3_000 }, (_, number) =>
      token({ chainKey: `chain-${number % 7}`, address: `0x${number.toString(16).padStart(40, '0')}` }),
    );
    const table = runAtOnce(addressTableSteps(rows));
    for (const row of rows) expect(table.find(rows, row.chainKey, row.address)).toBe(row);
    for (const { address } of rows) expect(table.find(rows, 'chain-7', address)).toBeUndefined();
  });

  it('gives the rows that it is asked for, after a refresh that changed prices only', () => {
    const rows = [token({ chainKey: 'a', address: '0xAB' })];
    const table = runAtOnce(addressTableSteps(rows));
    const later = [token({ chainKey: 'a', address: '0xAB' })];
    expect(table.find(later, 'a', '0xab')).toBe(later[0]);
    expect(table.find([], 'a', '0xab')).toBeUndefined();
  });
});
