import { foldAddress } from '../domain/addresses.js';
import type { ChainNames } from './chain-names.js';
import { chainScore, NOT_NATIVE, nameScore, SCORES, symbolScore } from './order/ranks.js';
import { foldSymbol, type SearchWord } from './text.js';
import type { ChainPlaces, Places, TokenIndexes } from './token-indexes.js';
import { MATCH, type Match } from './word-starts.js';

/** Exceeds every score. */
export const NO_MATCH = 255;

/** How well one word matches the tokens. */
export interface WordScores {
  /** The best score of each token, by place; {@link NO_MATCH} for one that does not match. */
  readonly scores: Uint8Array;
  /** The tokens that match, in no order. */
  readonly places: Places;
}

/**
 * Scores one word.
 *
 * @param byCurrency whether the symbol of its native currency also names a chain
 */
export function scoresOf(
  word: SearchWord,
  indexes: TokenIndexes,
  chains: ChainNames | undefined,
  byCurrency: boolean,
): WordScores {
  const { letters, folded, addresses, identifier: { addressOn, addressStart, addressEnd = '' } = {} } = word;
  const scores = new Uint8Array(indexes.rowAt.length).fill(NO_MATCH);
  const matching: number[] = [];
  const improve = (places: Places, score: number) => {
    for (const place of places) {
      const before = scores[place] ?? 0;
      if (before === NO_MATCH) matching.push(place);
      if (score < before) scores[place] = score;
    }
  };
  const improveChain = (chain: ChainPlaces | undefined, match: Match) => {
    if (!chain) return;
    improve(chain.natives, chainScore(match));
    improve(chain.all, chainScore(match) + NOT_NATIVE);
  };

  indexes.symbolStarts.find(letters, ([symbol, places], match) => {
    const isExact = match === MATCH.firstWord && foldSymbol(symbol) === folded;
    improve(places, symbolScore(match, isExact));
  });
  indexes.nameStarts.find(letters, ([, places], match) => improve(places, nameScore(match)));
  indexes.chainKeyStarts.find(letters, ([, chain], match) => improveChain(chain, match));
  for (const [chainKey, match] of chains?.named(word, byCurrency) ?? []) {
    improveChain(indexes.chains.get(chainKey), match);
  }

  const onChains = addressOn === undefined ? undefined : (chains?.identifiedBy(addressOn) ?? []);
  const isOn = (place: number) =>
    onChains?.some((chainKey) => indexes.chains.get(chainKey)?.all.includes(place)) ?? true;
  for (const typed of addresses) {
    improve((indexes.addresses.get(foldAddress(typed)) ?? []).filter(isOn), SCORES.address);
  }
  indexes.addressStarts.find(addressStart ?? '', ([address, places]) => {
    if (address.toLowerCase().endsWith(addressEnd)) improve(places, SCORES.address);
  });
  return { scores, places: matching };
}
