import { randomInt } from 'node:crypto';
import { foldAddress, isNativePlaceholder, NATIVE_PLACEHOLDER } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import type { Steps } from '../scheduling/chunks.js';

/** Finds the tokens of one listing by chain and address. It holds hashes and the numbers of rows only. */
export interface AddressTable {
  /**
   * The token on exactly this chain at this address, in any spelling.
   *
   * @param rows those that the table was made of, or others that differ from them in nothing but prices
   */
  find(rows: readonly Token[], chainKey: string, address: string): Token | undefined;
}

const STEP_ROWS = 512;
/** FNV-1a with a random seed, so that nobody can list addresses that have equal hashes. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32);
/** Folds ASCII letters to lower case. It makes other characters equal, too, so matches are compared in full. */
const CASE_BIT = 0x20;
/** The length of `0x` and 20 bytes. Folding such an address changes nothing but its letter case. */
const USUAL_LENGTH = 42;

/**
 * Makes the table in steps. A Map by one string of both would have to join, copy and hash that string for each look-up,
 * at about four times the cost.
 */
export function* addressTableSteps(rows: readonly Token[]): Steps<AddressTable> {
  const mask = 2 ** Math.ceil(Math.log2(rows.length + 1)) - 1;
  /** Row numbers plus one, by bucket; zero is none. Rows in one bucket are linked by `next`. */
  const heads = new Uint32Array(mask + 1);
  const next = new Uint32Array(rows.length);
  const hashes = new Int32Array(rows.length);
  for (const [row, { chainKey, address }] of rows.entries()) {
    const hash = hashOf(chainKey, comparableOf(address));
    hashes[row] = hash;
    next[row] = heads[hash & mask] ?? 0;
    heads[hash & mask] = row + 1;
    if (row % STEP_ROWS === 0) yield;
  }

  return {
    find(listed, chainKey, address) {
      const hash = hashOf(chainKey, comparableOf(address));
      for (let link = heads[hash & mask] ?? 0; link !== 0; link = next[link - 1] ?? 0) {
        if (hashes[link - 1] !== hash) continue;
        const token = listed[link - 1];
        if (token?.chainKey === chainKey && isSameAddress(token.address, address)) return token;
      }
      return undefined;
    },
  };
}

function hashOf(chainKey: string, address: string): number {
  let hash = SEED;
  for (let at = 0; at < chainKey.length; at++) hash = Math.imul(hash ^ chainKey.charCodeAt(at), PRIME);
  for (let at = 0; at < address.length; at++)
    hash = Math.imul(hash ^ (address.charCodeAt(at) | CASE_BIT), PRIME);
  return hash ^ (hash >>> 15);
}

/** Equal for all writings of one address, but for the case of ASCII letters. Folding is slow, and rarely needed. */
function comparableOf(address: string): string {
  if (isNativePlaceholder(address)) return NATIVE_PLACEHOLDER;
  return address.length === USUAL_LENGTH && !address.includes('::') ? address : foldAddress(address);
}

function isSameAddress(one: string, other: string): boolean {
  return one === other || foldAddress(one) === foldAddress(other);
}
