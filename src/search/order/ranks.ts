import { MAX_WORDS } from '../text.js';
import { MATCH, type Match } from '../word-starts.js';

/** How well a word matches a token, by its best match; lower is better. */
export const SCORES = {
  symbol: 0,
  symbolStart: 1,
  // From here on, scores decide only between tokens that are equally bridgeable and priced.
  address: 2,
  // Two scores for each match of a chain: native assets first, then other tokens.
  chain: 3,
  symbolPart: 5,
  name: 6,
  chainPart: 10,
} as const;

/** Exceeds every score. */
const SCORE_LIMIT = 16;

/** Added to the score of a chain for tokens that are not its native asset. */
export const NOT_NATIVE = 1;

/** Exceeds the sum of all words' scores. */
const SUM_LIMIT = MAX_WORDS * SCORE_LIMIT + 1;
/** Bridgeable or not, times priced or not. */
const STATES = 4;
/** Exceeds every {@link rarityOf}. */
const RARITIES = 33;

/** Of a token that is not bridgeable, and of one that has no price; a token's state is their sum. */
export const STATE = { notBridgeable: 2, notPriced: 1 } as const;

/** The symbol match of a token of which no word is the symbol, or the start of it. */
export const NO_SYMBOL_MATCH = SCORES.address * MAX_WORDS;

/**
 * How small a count is: the same for counts between two powers of two, so that a token moves in the order only when a
 * count crosses one.
 */
function rarityOf(count: number): number {
  return Math.clz32(count);
}

/** How rare a token is by what the whole listing says of it, as one number below 2^16. */
export function raritiesOf(bridgeableOnChain: number, chainsOfSymbol: number): number {
  return rarityOf(bridgeableOnChain) * RARITIES + rarityOf(chainsOfSymbol);
}

/**
 * The rank of a token in the order by relevance: first by its best symbol match, then by its state, then by the sum
 * of its words' scores, then by its {@link raritiesOf}. Clients hold ranks in their cursors.
 */
export function rankOf(symbolMatch: number, state: number, sum: number, rarities: number): number {
  return ((symbolMatch * STATES + state) * SUM_LIMIT + sum) * RARITIES ** 2 + rarities;
}

/** The rank of a token for a blank query: first by on how many chains its symbol is listed. */
export function blankRankOf(state: number, rarities: number): number {
  const ofSymbol = rarities % RARITIES;
  const ofChain = (rarities - ofSymbol) / RARITIES;
  return (ofSymbol * STATES + state) * RARITIES + ofChain;
}

/** Exact before prefix, then earlier words before later. @param nth the position of the word in the query */
export function symbolMatchOf(score: number, nth: number): number {
  return score <= SCORES.symbolStart ? score * MAX_WORDS + nth : NO_SYMBOL_MATCH;
}

/** @param isExact whether the word is the whole symbol */
export function symbolScore(match: Match, isExact: boolean): number {
  if (isExact) return SCORES.symbol;
  return match <= MATCH.start ? SCORES.symbolStart : SCORES.symbolPart;
}

/** Unlike in a symbol, a whole first word counts no more than the start of one. */
export function nameScore(match: Match): number {
  return SCORES.name + Math.max(match, MATCH.start);
}

/**
 * The score of a native asset; add {@link NOT_NATIVE} for other tokens. The first word of its name is enough for a
 * chain to be named: the others are words such as "Mainnet".
 */
export function chainScore(match: Match): number {
  return match === MATCH.firstWord ? SCORES.chain : SCORES.chainPart + 2 * (match - MATCH.start);
}
