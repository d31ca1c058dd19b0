import { foldAddress } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { yieldThen } from '../scheduling/chunks.js';
import { createTokenOrders, type TokenOrders } from './token-order.js';
import { createTokenRanks, type RankRows } from './token-ranks.js';

/** What rows are found by and put in order by, which is all but their prices; rows by their number. */
export interface TokenIndexes {
  readonly orders: TokenOrders;
  readonly ranksOf: RankRows;
  /** In small letters. */
  readonly symbols: readonly string[];
}

/** Makes the indexes of these rows, step by step, so that requests are answered meanwhile. */
export async function createTokenIndexes(rows: readonly Token[]): Promise<TokenIndexes> {
  const texts = await yieldThen(() => ({
    chainKeys: rows.map(({ chainKey }) => chainKey),
    addresses: rows.map(({ address }) => foldAddress(address)),
    symbols: rows.map(({ symbol }) => symbol),
    names: rows.map(({ name }) => name),
  }));
  return {
    orders: await createTokenOrders(texts),
    ranksOf: await createTokenRanks(texts),
    symbols: await yieldThen(() => texts.symbols.map((symbol) => symbol.toLowerCase())),
  };
}
