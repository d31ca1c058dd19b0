import { foldAddress } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { chainScore, NOT_NATIVE, nameScore, SCORES, symbolMatchOf, symbolScore } from './order/ranks.js';
import { indexedStart } from './query/identifiers.js';
import { foldSymbol, type Interpretation, type SearchWord } from './text.js';
import { createMatches, MATCH, type Match, type Matches, NO_MATCH } from './text-index.js';
import { at, placeCountOf, type TokenIndexes } from './token-indexes.js';

/** How well one word matches the tokens. */
export interface ScoredWord {
  /** How many tokens match; some are counted more than once. */
  readonly tokenCount: number;
  /** Whether {@link writePlaces} can be called: not if the word matches too many texts. */
  readonly isListed: boolean;
  /** Writes the place of each token that matches, once. Returns how many there are. */
  writePlaces(places: Uint32Array): number;
  /** Adds the scores of this word, which has the position `nth` in the query, and drops candidates that it does not match. */
  score(candidates: Candidates, nth: number): void;
}

/** The columns of the tokens that may be found, of which the first `count` items are used. */
export interface Candidates {
  /** Whether they were found by a blank query, and so have no scores. */
  isBlank: boolean;
  count: number;
  readonly places: Uint32Array;
  readonly symbolMatches: Uint8Array;
  /** The sums of the words' scores. */
  readonly sums: Uint16Array;
}

/** Scores the words of one query, whose interpretations are given in their order. */
export interface QueryScores {
  /**
   * The scores of each word, valid until the next call; undefined if a word matches nothing, or if all scores are
   * those of the interpretation before.
   */
  of(interpretation: Interpretation): readonly ScoredWord[] | undefined;
}

/** Words that match more texts than this part of the tokens are not worth a list of them. */
const LISTED_PART = 1 / 2;

/** Scores the words of queries, one query after the other. @param tokenAt the token at a place */
export function createWordScorer(indexes: TokenIndexes, tokenAt: (place: number) => Token) {
  const { rowAt, symbolAt, nameAt, chainAt, isPlaceholder } = indexes;
  const { symbolCount, firstChain, textCount, places, placesFrom, textIndex, chainTexts } = indexes;
  /** Reused by every query: a search never awaits. */
  const reused: Matches[] = [];
  const createReused = () => createMatches(textCount, Math.max(1024, rowAt.length * LISTED_PART));

  class Scored implements ScoredWord {
    tokenCount = 0;
    /** By text. For chain keys, the score of native assets. */
    readonly #scores: Uint8Array;
    /** The places of the tokens with an address that the word is. */
    readonly #addressed = new Set<number>();

    constructor(
      readonly word: SearchWord,
      readonly matches: Matches,
      chains: ChainNames | undefined,
    ) {
      this.#scores = matches.best;
      textIndex.find(word.letters, matches);
      this.#replaceMatches();
      this.#addWithAddress(chains);
      this.tokenCount += this.#addressed.size;
    }

    #addWithAddress(chains: ChainNames | undefined): void {
      const { addresses, identifier } = this.word;
      const { addressOn, addressStart, addressEnd = '' } = identifier ?? {};
      const onChains = addressOn === undefined ? undefined : new Set(chains?.identifiedBy(addressOn));
      for (const wanted of new Set(addresses.map(foldAddress))) {
        for (const place of indexes.addresses.candidates(wanted)) {
          const { address, chainKey } = tokenAt(place);
          if (foldAddress(address) !== wanted || onChains?.has(chainKey) === false) continue;
          this.#addressed.add(place);
        }
      }
      if (addressStart === undefined) return;
      for (const place of indexes.addressStarts.candidates(indexedStart(addressStart) ?? '')) {
        const address = foldAddress(tokenAt(place).address).toLowerCase();
        if (address.startsWith(addressStart) && address.endsWith(addressEnd)) this.#addressed.add(place);
      }
    }

    get isListed(): boolean {
      return this.matches.count <= this.matches.texts.length;
    }

    /** Puts scores in the place of matches. */
    #replaceMatches(): void {
      const scores = this.#scores;
      const { texts, count } = this.matches;
      const { isListed } = this;
      for (let index = 0; index < (isListed ? count : textCount); index++) {
        const text = isListed ? (texts[index] ?? 0) : index;
        const match = scores[text] ?? NO_MATCH;
        if (match === NO_MATCH) continue;
        scores[text] = this.#scoreOf(text, match as Match);
        this.tokenCount += placeCountOf(indexes, text);
      }
    }

    #scoreOf(text: number, match: Match): number {
      if (text >= firstChain) return chainScore(match);
      if (text >= symbolCount) return nameScore(match);
      return symbolScore(match, match === MATCH.firstWord && this.#isSymbol(text));
    }

    #isSymbol(text: number): boolean {
      return foldSymbol(tokenAt(at(places, at(placesFrom, text))).symbol) === this.word.folded;
    }

    /** Lets the word match a chain by a further name of it. Returns whether that changes the score. */
    improveChain(text: number, match: Match): boolean {
      const before = this.#scores[text] ?? 0;
      const score = chainScore(match);
      if (score >= before) return false;
      this.#scores[text] = score;
      if (before === NO_MATCH) {
        this.matches.texts[this.matches.count++] = text;
        this.tokenCount += placeCountOf(indexes, text);
      }
      return true;
    }

    writePlaces(out: Uint32Array): number {
      const scores = this.#scores;
      const { texts, count } = this.matches;
      let written = 0;
      for (let index = 0; index < count; index++) {
        const text = texts[index] ?? 0;
        const end = placesFrom[text + 1] ?? 0;
        for (let from = placesFrom[text] ?? 0; from < end; from++) {
          const place = places[from] ?? 0;
          // Each token by its symbol, else by its name, else by its chain, else by its address.
          if (text >= symbolCount && scores[symbolAt[place] ?? 0] !== NO_MATCH) continue;
          if (text >= firstChain && scores[nameAt[place] ?? 0] !== NO_MATCH) continue;
          out[written++] = place;
        }
      }
      for (const place of this.#addressed) {
        const ownTexts = [symbolAt, nameAt, chainAt].map((column) => at(column, place));
        if (ownTexts.every((text) => scores[text] === NO_MATCH)) out[written++] = place;
      }
      return written;
    }

    score(candidates: Candidates, nth: number): void {
      const { count, symbolMatches, sums } = candidates;
      const all = candidates.places;
      const scores = this.#scores;
      const addressed = this.#addressed.size > 0 ? this.#addressed : undefined;
      let kept = 0;
      for (let index = 0; index < count; index++) {
        const place = all[index] ?? 0;
        let score = Math.min(scores[symbolAt[place] ?? 0] ?? 0, scores[nameAt[place] ?? 0] ?? 0);
        const chain = scores[chainAt[place] ?? 0] ?? 0;
        if (chain < score) score = Math.min(score, chain + (isPlaceholder[place] === 1 ? 0 : NOT_NATIVE));
        if (addressed?.has(place)) score = Math.min(score, SCORES.address);
        if (score === NO_MATCH) continue;
        all[kept] = place;
        symbolMatches[kept] = Math.min(symbolMatches[index] ?? 0, symbolMatchOf(score, nth));
        sums[kept] = (sums[index] ?? 0) + score;
        kept++;
      }
      candidates.count = kept;
    }
  }

  return (chains: ChainNames | undefined): QueryScores => {
    const scored = new Map<string, Scored>();
    let before: readonly Scored[] = [];

    function scoreOf(word: SearchWord): Scored {
      const key = [word.folded, ...word.addresses].join('\n');
      const known = scored.get(key);
      if (known) return known;
      const matches = reused[scored.size] ?? createReused();
      reused[scored.size] = matches;
      const made = new Scored(word, matches, chains);
      scored.set(key, made);
      return made;
    }

    return {
      of({ words, byCurrency }) {
        const found = words.map(scoreOf);
        let isNew = found.length !== before.length || found.some((word, nth) => word !== before[nth]);
        before = found;
        for (const scores of found) {
          for (const [chainKey, match] of chains?.named(scores.word, byCurrency) ?? []) {
            const text = chainTexts.get(chainKey);
            // Interpretations only get looser: a currency adds names to chains, and takes none away.
            if (text !== undefined && scores.improveChain(text, match)) isNew = true;
          }
        }
        return isNew && found.every(({ tokenCount }) => tokenCount > 0) ? found : undefined;
      },
    };
  };
}
