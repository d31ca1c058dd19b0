/** Computes the rank of a token in the order by relevance. */
import { MAX_LISTING_ROWS } from '../domain/listing.js';
import { MAX_WORDS } from './text.js';
import { MATCH, type Match } from './word-starts.js';

/** The scores of the ways in which a word can match a token; lower is better. The best score counts. */
export const SCORES = {
  symbol: 0,
  wholeName: 1,
  symbolStart: 2,
  address: 3,
  // Two scores for each match of a chain: native assets first, then other tokens.
  chain: 4,
  symbolPart: 6,
  name: 7,
  chainPart: 11,
} as const;

/** Exceeds every score. */
const SCORE_LIMIT = 17;

/** Added to the score of a chain for tokens that are not its native asset. */
export const NOT_NATIVE = 1;

/** Exceeds the sum of the scores of all words. */
const SUM_LIMIT = MAX_WORDS * SCORE_LIMIT + 1;
/** How many states a token can have: bridgeable or not, times priced or not. */
export const STATES = 4;
/** Exceeds every {@link frequencyClassOf}, which is at most the 32 of Math.clz32. */
const FREQUENCY_CLASSES = 33;
/** Exceeds every number of tokens on a chain. */
const COUNT_LIMIT = MAX_LISTING_ROWS + 1;

/** The parts of a token's state, which is the sum of the parts that apply to the token; lower is better. */
export const STATE = { notBridgeable: 2, notPriced: 1 } as const;

/** The symbol match of a token if no word is its symbol or the start of it, and no words are its whole name. */
export const NO_SYMBOL_MATCH = SCORES.address * MAX_WORDS;

/**
 * The frequency class of a count: lower for larger counts, and equal between two powers of two. So symbols that are
 * listed on about as many chains rank alike.
 */
function frequencyClassOf(count: number): number {
  return Math.clz32(count);
}

/**
 * The part of a token's rank that does not depend on the query, as one number below 2^24; lower is better.
 *
 * @param bridgeableOnChain how many bridgeable tokens its chain has
 * @param chainsOfSymbol on how many chains its symbol is listed
 * @param isTwin whether a native asset on its chain has the same symbol
 */
export function staticRankOf(bridgeableOnChain: number, chainsOfSymbol: number, isTwin: boolean): number {
  const ofChain = COUNT_LIMIT - bridgeableOnChain;
  return (ofChain * FREQUENCY_CLASSES + frequencyClassOf(chainsOfSymbol)) * 2 + Number(isTwin);
}

/** Exceeds every {@link staticRankOf}. */
const STATIC_RANK_LIMIT = (COUNT_LIMIT + 1) * FREQUENCY_CLASSES * 2;

/**
 * The rank of a token in the order by relevance: first by its best symbol match, then by the sum of its words' scores,
 * then by its state, then by its {@link staticRankOf}. Clients store ranks, because cursors contain them.
 */
export function rankOf(symbolMatch: number, sum: number, state: number, staticRank: number): number {
  return ((symbolMatch * SUM_LIMIT + sum) * STATES + state) * STATIC_RANK_LIMIT + staticRank;
}

/** The rank of a token for a blank query: by how many chains list its symbol, then by its state and static rank. */
export function blankRankOf(state: number, staticRank: number): number {
  const ofSymbol = Math.floor(staticRank / 2) % FREQUENCY_CLASSES;
  return (ofSymbol * STATES + state) * STATIC_RANK_LIMIT + staticRank;
}

/**
 * The symbol match of a word; lower is better. Whole symbols come first, then whole names, then starts of symbols.
 * Among equal matches, earlier words of the query come first.
 *
 * @param nth the position of the word in the query
 */
export function symbolMatchOf(score: number, nth: number): number {
  return score <= SCORES.symbolStart ? score * MAX_WORDS + nth : NO_SYMBOL_MATCH;
}

/** @param isExact whether the word is the whole symbol */
export function symbolScore(match: Match, isExact: boolean): number {
  if (isExact) return SCORES.symbol;
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
