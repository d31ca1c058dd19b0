/** Spellings of one address fold to one text, however often. */
import { expect, it } from 'vitest';
import { foldAddress, rowName, tokenKey } from '../../src/domain/addresses.js';

it('the usual spelling of an address folds to lower case, so that keys and ids stay the same, and folding any address twice gives the same as folding it once', () => {
  for (const address of [
    '0x0b2C639c533813f4Aa9D7837CAf62653d097Ff85',
    '0x04718f5a0fc34cc1af16a1cdee98ffb20c31f5cd61d6ab07201858f4287c938d',
    '0x1::aptos_coin::aptos',
    `0x${'0f'.repeat(32)}::usdc::usdc`,
  ]) {
    expect(foldAddress(address)).toBe(address.toLowerCase());
  }
  for (const address of ['0x1', '0X00Ab', 'e'.repeat(40), '0x0001::a::B<0x02::c::D>', '0x', 'Base58'])
    expect(foldAddress(foldAddress(address))).toBe(foldAddress(address));
});

it('the log names a token by chain and address as rules do, and a chain by its key', () => {
  expect(rowName(tokenKey('Base', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'))).toBe(
    'base:0x833589fcd6edb6e08f4c7c32d4f71b54bda02913',
  );
  expect(rowName(tokenKey('aptos', '0x1::aptos_coin::AptosCoin'))).toBe('aptos:0x1::aptos_coin::AptosCoin');
  for (const chainKey of ['ethereum', 'o & c', '1 a']) expect(rowName(chainKey)).toBe(chainKey);
});
