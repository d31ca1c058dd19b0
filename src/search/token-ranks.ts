import { foldAddress, isNativePlaceholder } from '../domain/addresses.js';
import { foldText } from '../domain/fold-text.js';
import { forEachSlice, step } from '../scheduling/chunks.js';
import type { ChainNames } from './chain-names.js';
import { groupRows, type RowGroups } from './groups.js';
import {
  createTextIndex,
  type Interpretation,
  indexLine,
  MATCH,
  MAX_WORDS,
  type Match,
  type SearchWord,
} from './text.js';
import type { TokenTexts } from './token-order.js';

/** The rank of each row by a interpretation of what was typed; {@link NOT_FOUND} where it is not meant. */
export type Ranks = Int32Array;

/**
 * Ranks the rows of a listing; undefined where none is meant. A chain that is not known has its key as its
 * only name.
 */
export type RankRows = (interpretation: Interpretation, chains: ChainNames | undefined) => Ranks | undefined;

/** The rank of a row that was not found. */
export const NOT_FOUND = -1;

/** How well a word scores a token, by the best of all ways: the lower, the better. */
const SCORES = {
  symbol: 0,
  symbolStart: 1,
  // From here on it decides only among tokens that are equally bridgeable and priced.
  address: 2,
  symbolPart: 3,
  name: 4,
  // By each of the places, once for native assets and once for all others.
  chain: 9,
  none: 19,
} as const;

/** The sum of all words' scores is below this. */
const SUM_LIMIT = MAX_WORDS * SCORES.none + 1;
/** Bridgeable or not, and priced or not. */
const STATES = 4;

/**
 * Makes the indexes by which rows are found, step by step.
 */
export async function createTokenRanks(texts: TokenTexts): Promise<RankRows> {
  const count = texts.symbols.length;
  const rowsOfAddress = await step(() => groupRows(texts.addresses));
  const rowsOfChain = await step(() => groupRows(texts.chainKeys));
  const isNative = Uint8Array.from(texts.addresses, (address) => Number(isNativePlaceholder(address)));
  const symbols = await createColumn(await step(() => groupRows(texts.symbols)), (symbol) => [symbol]);
  const names = await createColumn(await step(() => groupRows(texts.names)), inOneWordToo);
  const chainKeys = await createColumn(rowsOfChain, (chainKey) => [chainKey]);

  /** How well each row scores one word; undefined where none does. */
  function scoresOf(word: SearchWord, chains: ChainNames | undefined, byCurrency: boolean) {
    const scores = new Uint8Array(count).fill(SCORES.none);
    let isAnyMarked = false;
    const mark = (marked: readonly number[] = [], score: number) => {
      for (const row of marked) if (score < (scores[row] ?? 0)) scores[row] = score;
      isAnyMarked ||= marked.length > 0;
    };
    const markChain = (marked: readonly number[] = [], match: Match) => {
      const score = SCORES.chain + 2 * match;
      for (const row of marked) mark([row], isNative[row] ? score : score + 1);
    };
    symbols.find(word.letters, (symbol, match, ofSymbol) => mark(ofSymbol, symbolScore(symbol, word, match)));
    // Beginning with it is as good as beginning with a longer word.
    names.find(word.letters, (_name, match, ofName) =>
      mark(ofName, SCORES.name + Math.max(match, MATCH.start)),
    );
    for (const address of word.addresses) mark(rowsOfAddress.get(foldAddress(address)), SCORES.address);
    chainKeys.find(word.letters, (_key, match, ofChain) => markChain(ofChain, match));
    for (const [chainKey, match] of chains?.named(word, byCurrency) ?? []) {
      markChain(rowsOfChain.get(chainKey), match);
    }
    return isAnyMarked ? scores : undefined;
  }

  return ({ words, byCurrency }, chains) => {
    const scoresOfWords: Uint8Array[] = [];
    for (const word of words) {
      const scores = scoresOf(word, chains, byCurrency);
      if (!scores) return undefined;
      scoresOfWords.push(scores);
    }
    const ranks = new Int32Array(count);
    let isAnyFound = false;
    for (let row = 0; row < count; row++) {
      const rank = rankOf(row, scoresOfWords);
      ranks[row] = rank;
      isAnyFound ||= rank !== NOT_FOUND;
    }
    return isAnyFound ? ranks : undefined;
  };
}

/** The symbol decides first, by the word that it is or begins with, and of several such words by the foremost. */
function rankOf(row: number, scoresOfWords: readonly Uint8Array[]): number {
  let best = SCORES.address * MAX_WORDS;
  let sum = 0;
  for (let position = 0; position < scoresOfWords.length; position++) {
    const score = scoresOfWords[position]?.[row] ?? SCORES.none;
    if (score === SCORES.none) return NOT_FOUND;
    if (score <= SCORES.symbolStart) best = Math.min(best, score * MAX_WORDS + position);
    sum += score;
  }
  return best * STATES * SUM_LIMIT + sum;
}

/** The rank by what was typed, with what decides between the symbol and the rest of it. */
export function rankWith(rank: number, isBridgeable: boolean, isPriced: boolean): number {
  return rank + ((isBridgeable ? 0 : 2) + (isPriced ? 0 : 1)) * SUM_LIMIT;
}

function symbolScore(symbol: string, { folded }: SearchWord, match: Match): number {
  if (foldText(symbol).trim() === folded) return SCORES.symbol;
  return match <= MATCH.start ? SCORES.symbolStart : SCORES.symbolPart;
}

function inOneWordToo(text: string): readonly string[] {
  return [...new Set([text, text.replace(/\s+/g, '')])];
}

/** The distinct texts of a column, found by their parts, each with the rows that have it. */
async function createColumn(rowsOfText: RowGroups, writingsOf: (text: string) => readonly string[]) {
  const texts: { readonly text: string; readonly rows: readonly number[] }[] = [];
  const lines: string[] = [];
  await forEachSlice([...rowsOfText], (slice) => {
    for (const [text, rows] of slice) {
      for (const writing of writingsOf(text)) {
        texts.push({ text, rows });
        lines.push(indexLine(writing));
      }
    }
  });
  const index = await step(() => createTextIndex(lines));
  return {
    find(letters: string, found: (text: string, match: Match, rows: readonly number[]) => void): void {
      index.find(letters, (number, match) => {
        const known = texts[number];
        if (known) found(known.text, match, known.rows);
      });
    },
  };
}
