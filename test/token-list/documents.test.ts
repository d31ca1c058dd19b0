import { describe, expect, it } from 'vitest';
import {
  createChainSnapshot,
  createTokenSnapshot,
  type TokenSnapshot,
} from '../../src/snapshots/snapshot.js';
import { createTokenListDocuments, type TokenListDocument } from '../../src/token-list/documents.js';
import { CHAINS, TOKENS } from '../../src/upstream/listing-kinds.js';
import { generatedListings } from '../fixtures/rows.js';

const CHAIN_COUNT = 20;
const listings = generatedListings(CHAIN_COUNT, 400);

async function chains() {
  return createChainSnapshot(await CHAINS.parse(listings.chains, { source: 'v1', takenAt: 1 }));
}

async function tokens(takenAt: number, changes: object = {}, before?: TokenSnapshot): Promise<TokenSnapshot> {
  const rows = listings.tokens.map((row) => ({ ...row, ...changes }));
  return createTokenSnapshot(await TOKENS.parse(rows, { source: 'v1', takenAt }), before, await chains());
}

describe('token lists', () => {
  it('are made once, however many ask at a time, and stay while only prices change', async () => {
    const made: TokenListDocument[] = [];
    const find = createTokenListDocuments((whole) => made.push(whole));
    const first = { chains: await chains(), tokens: await tokens(1) };
    const asked = await Promise.all([1, 2, 3].map(() => find(first)));
    expect(new Set(asked).size).toBe(1);
    const repriced = { ...first, tokens: await tokens(2, { price: { usd: 3 } }, first.tokens) };
    expect(await find(repriced)).toBe(made[0]);
    expect(made).toHaveLength(1);
    const renamed = { ...first, tokens: await tokens(3, { name: 'Other' }, repriced.tokens) };
    expect(await find(renamed)).not.toBe(made[0]);
    expect(made).toHaveLength(2);
  });

  it('of single chains are made once, too, and no key of a client adds to them', async () => {
    const find = createTokenListDocuments(() => {});
    const served = { chains: await chains(), tokens: await tokens(1) };
    const keys = listings.chains.map(({ chainKey }) => String(chainKey));
    const first = await Promise.all(keys.map((key) => find(served, key)));
    expect(new Set(first).size).toBe(CHAIN_COUNT);
    for (const [nth, key] of keys.entries()) expect(await find(served, key.toUpperCase())).toBe(first[nth]);
    for (const key of ['', 'nope', '__proto__', 'constructor', 'x'.repeat(100_000)]) {
      expect(await find(served, key)).toBeUndefined();
    }
  });
});
