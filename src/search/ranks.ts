/** Computes the rank of a token in the order by relevance. Clients store ranks, because cursors contain them. */
import { MAX_LISTING_ROWS } from '../domain/listing.js';
import { MAX_WORDS } from './text.js';

/** The scores of the ways in which a word can match a token; lower is better. The best score counts. Lists are by `Match`. */
export const SCORES = {
  symbol: 0,
  wholeName: 1,
  symbolStart: 2,
  address: 3,
  symbolPart: [2, 2, 6, 6, 6],
  // The whole first word scores the same as its start.
  name: [8, 8, 9, 10, 11],
  // Of the native asset of the chain; add NOT_NATIVE for its other tokens. The first word of a chain's name counts like
  // the whole name, since the words after it say little, such as "Mainnet".
  chain: [4, 11, 13, 15, 17],
} as const;
export const NOT_NATIVE = 1;

/** The number of states of a token: bridgeable or not, and with or without a price. */
const STATES = 4;
// Each limit exceeds all values of its kind. SUM_LIMIT is for the sum of the scores of all words.
const SCORE_LIMIT = 17;
const SUM_LIMIT = MAX_WORDS * SCORE_LIMIT + 1;
/** The number of chains with a symbol, rounded down to a power of two. `Math.clz32` has the results 0 to 32. */
const FREQUENCY_CLASSES = 33;
const COUNT_LIMIT = MAX_LISTING_ROWS + 1;
/** The tokens of one chain have at most this many different static ranks. */
const RANKS_OF_CHAIN = FREQUENCY_CLASSES * 2;
const STATIC_RANK_LIMIT = (COUNT_LIMIT + 1) * RANKS_OF_CHAIN;

/** The symbol match of a token if no word is its symbol or the start of it, and no words are its whole name. */
export const NO_SYMBOL_MATCH = SCORES.address * MAX_WORDS;

/**
 * The part of a token's rank that depends neither on the query nor on its price: a number below 2^24.
 *
 * @param isTwin whether the native asset of its chain is another token with the same symbol
 */
export function staticRankOf(bridgeableOnChain: number, chainsOfSymbol: number, isTwin: boolean): number {
  const ofChain = COUNT_LIMIT - bridgeableOnChain;
  return ofChain * RANKS_OF_CHAIN + Math.clz32(chainsOfSymbol) * 2 + Number(isTwin);
}

/** How far the ranks of a chain's tokens have moved since a cursor with this rank: they contain the number of bridgeable ones. */
export function chainShift(rank: number, bridgeableOnChain: number): number {
  const ofChain = Math.floor((rank % STATIC_RANK_LIMIT) / RANKS_OF_CHAIN);
  return (COUNT_LIMIT - bridgeableOnChain - ofChain) * RANKS_OF_CHAIN;
}

/** Lower is better. */
export function stateOf(isBridgeable: boolean, isPriced: boolean): number {
  return (isBridgeable ? 0 : 2) + (isPriced ? 0 : 1);
}

/** @param staticRank the {@link staticRankOf}, which decides between equal states */
export function ownRankOf(state: number, staticRank: number): number {
  return state * STATIC_RANK_LIMIT + staticRank;
}

/** The rank of a token: first by its best symbol match, then by the sum of its words' scores, then by its own rank. */
export function rankOf(symbolMatch: number, sum: number, ownRank: number): number {
  return (symbolMatch * SUM_LIMIT + sum) * STATES * STATIC_RANK_LIMIT + ownRank;
}

/** The rank of a token for a blank query: first by the frequency class of its symbol, then by its own rank. */
export function blankRankOf(ownRank: number): number {
  const frequencyClass = Math.floor((ownRank % STATIC_RANK_LIMIT) / 2) % FREQUENCY_CLASSES;
  return frequencyClass * STATES * STATIC_RANK_LIMIT + ownRank;
}

/** The symbol match of the nth word; lower is better: whole symbol, whole name, start of a symbol; early words first. */
export function symbolMatchOf(score: number, nth: number): number {
  return score <= SCORES.symbolStart ? score * MAX_WORDS + nth : NO_SYMBOL_MATCH;
}
