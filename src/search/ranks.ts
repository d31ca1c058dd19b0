/** Computes the rank of a token in the order by relevance. Clients store ranks, because cursors contain them. */
import { MAX_LISTING_ROWS } from '../domain/listing.js';
import { MAX_WORDS } from './text.js';
import { MATCH, type Match } from './word-starts.js';

/** The scores of the ways in which a word can match a token; lower is better. The best score counts. */
export const SCORES = {
  symbol: 0,
  wholeName: 1,
  symbolStart: 2,
  address: 3,
  // Each match of a chain has two scores: this one for native assets, and the next one for other tokens.
  chain: 4,
  symbolPart: 6,
  name: 7,
  chainPart: 11,
} as const;

/** Added to the score of a chain for tokens that are not its native asset. */
export const NOT_NATIVE = 1;

/** The number of states of a token: bridgeable or not, and with or without a price. */
const STATES = 4;
// Each limit exceeds all values of its kind. SUM_LIMIT is for the sum of the scores of all words.
const SCORE_LIMIT = 17;
const SUM_LIMIT = MAX_WORDS * SCORE_LIMIT + 1;
/** `Math.clz32` has this many results: 0 to 32. */
const FREQUENCY_CLASSES = 33;
const COUNT_LIMIT = MAX_LISTING_ROWS + 1;
/** The tokens of one chain have at most this many different static ranks. */
const RANKS_OF_CHAIN = FREQUENCY_CLASSES * 2;
const STATIC_RANK_LIMIT = (COUNT_LIMIT + 1) * RANKS_OF_CHAIN;

/** The symbol match of a token if no word is its symbol or the start of it, and no words are its whole name. */
export const NO_SYMBOL_MATCH = SCORES.address * MAX_WORDS;

/**
 * The part of a token's rank that depends neither on the query nor on its price: a number below 2^24; lower is better.
 * The number of chains with the symbol is rounded down to a power of two: its frequency class.
 *
 * @param isTwin whether the native asset of its chain is another token with the same symbol
 */
export function staticRankOf(bridgeableOnChain: number, chainsOfSymbol: number, isTwin: boolean): number {
  const ofChain = COUNT_LIMIT - bridgeableOnChain;
  return ofChain * RANKS_OF_CHAIN + Math.clz32(chainsOfSymbol) * 2 + Number(isTwin);
}

/**
 * Returns the difference between the present ranks of the tokens of a chain and those when a cursor was made. A rank
 * contains the number of bridgeable tokens on the chain, so all of them move together.
 *
 * @param rank the rank in the cursor, of a token on this chain
 */
export function chainShift(rank: number, bridgeableOnChain: number): number {
  const ofChain = Math.floor((rank % STATIC_RANK_LIMIT) / RANKS_OF_CHAIN);
  return (COUNT_LIMIT - bridgeableOnChain - ofChain) * RANKS_OF_CHAIN;
}

/** The state of a token; lower is better. */
export function stateOf(isBridgeable: boolean, isPriced: boolean): number {
  return (isBridgeable ? 0 : 2) + (isPriced ? 0 : 1);
}

/** Combines a token's state and its {@link staticRankOf}, which decides between equal states. */
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

/** The score of a part of a symbol. A whole symbol has the score `SCORES.symbol`. */
export function symbolScore(match: Match): number {
  return match <= MATCH.start ? SCORES.symbolStart : SCORES.symbolPart;
}

/** In a name, a whole first word scores the same as the start of the first word. */
export function nameScore(match: Match): number {
  return SCORES.name + Math.max(match, MATCH.start);
}

/**
 * The score of the native asset of a named chain; add {@link NOT_NATIVE} for the chain's other tokens. The first word
 * of a chain's name counts like the whole name, since the words after it say little, such as "Mainnet".
 */
export function chainScore(match: Match): number {
  return match === MATCH.firstWord ? SCORES.chain : SCORES.chainPart + 2 * (match - MATCH.start);
}
