import { foldAddress } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { chainScore, nameScore, SCORES, symbolScore } from './ranks.js';
import type { Interpretation, SearchWord } from './text.js';
import { at, type TokenIndexes } from './token-indexes.js';

/** How well one word matches the tokens. */
export interface WordScores {
  /** By text. For chain keys, the score of native assets. */
  readonly scores: Uint8Array;
  /** The texts that match. */
  readonly texts: readonly number[];
  /** The places of the tokens with an address that the word is. */
  readonly addressed: readonly number[];
  /** At most so many tokens match. */
  readonly tokenCount: number;
}

/** Scores the words of one query, whose interpretations are given in their order. */
export interface QueryScores {
  /**
   * The scores of each word, valid until the next call; undefined if a word matches nothing, or if all scores are
   * those of the interpretation before.
   */
  of(interpretation: Interpretation): readonly WordScores[] | undefined;
}

/** Scores the words of queries, one query after the other. @param tokenAt the token at a place */
export function createWordScorer(indexes: TokenIndexes, tokenAt: (place: number) => Token) {
  const { symbolCount, firstChain, textCount, places, placesFrom, textIndex, chainTexts, addresses } =
    indexes;
  /** Reused by every query: a search never awaits. */
  const tables: Uint8Array[] = [];

  class Scored implements WordScores {
    readonly texts: number[] = [];
    readonly addressed: number[] = [];
    tokenCount = 0;

    constructor(
      readonly word: SearchWord,
      readonly scores: Uint8Array,
    ) {
      scores.fill(SCORES.none);
      textIndex.find(word.letters, (text, match) => {
        if (text < symbolCount)
          this.improve(
            text,
            symbolScore(() => symbolOf(text), word, match),
          );
        else this.improve(text, text < firstChain ? nameScore(match) : chainScore(match));
      });
      for (const address of new Set(word.addresses.map(foldAddress))) {
        for (const place of addresses.candidates(address)) {
          if (foldAddress(tokenAt(place).address) === address) this.addressed.push(place);
        }
      }
      this.tokenCount += this.addressed.length;
    }

    /** Whether any score changed. */
    improve(text: number, score: number): boolean {
      const before = this.scores[text] ?? 0;
      if (score >= before) return false;
      this.scores[text] = score;
      if (before === SCORES.none) {
        this.texts.push(text);
        this.tokenCount += (placesFrom[text + 1] ?? 0) - (placesFrom[text] ?? 0);
      }
      return true;
    }
  }

  function symbolOf(text: number): string {
    return tokenAt(at(places, at(placesFrom, text))).symbol;
  }

  return (chains: ChainNames | undefined): QueryScores => {
    const scored = new Map<string, Scored>();
    let before: readonly Scored[] = [];

    function scoreOf(word: SearchWord): Scored {
      const key = [word.folded, ...word.addresses].join('\n');
      const known = scored.get(key);
      if (known) return known;
      const table = tables[scored.size] ?? new Uint8Array(textCount);
      tables[scored.size] = table;
      const made = new Scored(word, table);
      scored.set(key, made);
      return made;
    }

    return {
      of({ words, byCurrency }) {
        const found = words.map(scoreOf);
        let isNew = found.some((word, nth) => word !== before[nth]) || found.length !== before.length;
        before = found;
        for (const { word } of found) {
          for (const [chainKey, match] of chains?.named(word, byCurrency) ?? []) {
            const text = chainTexts.get(chainKey);
            // Interpretations only get looser: a currency adds names to chains, and takes none away.
            if (text !== undefined && scoreOf(word).improve(text, chainScore(match))) isNew = true;
          }
        }
        return isNew && found.every(({ tokenCount }) => tokenCount > 0) ? found : undefined;
      },
    };
  };
}
