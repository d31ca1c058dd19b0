import { foldAddress } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import { yieldThen } from '../scheduling/chunks.js';
import { createTokenOrders, type TokenOrders } from './token-order.js';
import { createTokenRanks, type RankRows } from './token-ranks.js';

/** What a search needs besides prices. Rows are meant by their numbers. */
export interface TokenIndexes {
  readonly orders: TokenOrders;
  readonly ranksOf: RankRows;
  /** In lower case, by row number. */
  readonly symbols: readonly string[];
}

/** Makes the indexes of these rows in steps, so that requests are answered in between. */
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
