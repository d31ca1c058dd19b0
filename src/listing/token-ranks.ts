import { foldAddress } from './address.js';
import type { Token } from './listing.js';
import { createTextIndex, foldText, lettersOf, type Place, type SearchWord, wordsOf } from './text.js';

/** What is known of the chains by their names. */
export interface ChainNames {
  /**
   * The keys of the chains whose key or names have this word, or a part that is like it.
   *
   * @param byCurrency whether the symbol of what a chain charges fees in counts as a name of it, too
   */
  named(word: SearchWord, byCurrency: boolean): ReadonlyMap<string, Place>;
}

/** The rank of each row by what was typed: the lower, the better, and negative where it was not found. */
export type Ranks = Int32Array;

/**
 * Ranks the rows of a listing; undefined where a blank text finds all of them alike. A chain
 * that is not known counts by its key alone.
 */
export type RankRows = (typed: string, chains: ChainNames | undefined) => Ranks | undefined;

/** How well a word fits a token, by the best of all ways: the lower, the better. */
const FITS = {
  symbol: 0,
  symbolStart: 1,
  // From here on it decides only among tokens that are equally bridgeable and priced.
  address: 2,
  symbolPart: 3,
  name: 4,
  chain: 9,
  none: 14,
} as const;

const NOT_FOUND = -1;
/** The sum of all words' fits counts up to this. */
const MAX_SUM = 255;
/** What a rank grows by where the token cannot be bridged, or has no price: between its symbol's fit and the sum. */
export const NOT_BRIDGEABLE = 2 * (MAX_SUM + 1);
export const NOT_PRICED = MAX_SUM + 1;
/** A search of the longest text that is taken has fewer words. */
const MAX_WORDS = 128;

/**
 * Makes the indexes by which rows are found.
 *
 * @param addresses the rows' addresses as compared
 * @param rowsOfChain the numbers of the rows on each chain
 */
export function createTokenRanks(
  rows: readonly Token[],
  addresses: readonly string[],
  rowsOfChain: ReadonlyMap<string, readonly number[]>,
): RankRows {
  const rowsOfAddress = groupRows(addresses);
  const symbols = createColumn(groupRows(rows.map(({ symbol }) => symbol)));
  const names = createColumn(groupRows(rows.map(({ name }) => name)));
  const chainKeys = createColumn(rowsOfChain);

  function fitsOf(word: SearchWord, chains: ChainNames | undefined, byCurrency: boolean): Uint8Array {
    const fits = new Uint8Array(rows.length).fill(FITS.none);
    const mark = (marked: readonly number[] | undefined, value: number) => {
      for (const row of marked ?? []) if (value < (fits[row] ?? 0)) fits[row] = value;
    };
    symbols.find(word.letters, (symbol, _place, ofSymbol) => mark(ofSymbol, fitOfSymbol(symbol, word)));
    names.find(word.letters, (_name, place, ofName) => mark(ofName, FITS.name + place));
    mark(rowsOfAddress.get(foldAddress(word.typed)), FITS.address);
    chainKeys.find(word.letters, (_key, place, ofChain) => mark(ofChain, FITS.chain + place));
    for (const [chainKey, place] of chains?.named(word, byCurrency) ?? []) {
      mark(rowsOfChain.get(chainKey), FITS.chain + place);
    }
    return fits;
  }

  /** Undefined where no row has all the words. */
  function ranksOf(words: readonly SearchWord[], chains: ChainNames | undefined, byCurrency: boolean) {
    const fitsOfWords = words.map((word) => fitsOf(word, chains, byCurrency));
    const ranks = new Int32Array(rows.length);
    let isAnyFound = false;
    for (let row = 0; row < rows.length; row++) {
      const rank = rankOf(row, fitsOfWords);
      ranks[row] = rank;
      isAnyFound ||= rank !== NOT_FOUND;
    }
    return isAnyFound ? ranks : undefined;
  }

  return (typed, chains) => {
    const words = wordsOf(typed);
    if (words.length === 0) return undefined;
    // Who writes "usdc avax" means the chain that charges AVAX, whatever its name.
    return (
      ranksOf(words, chains, false) ??
      (chains && ranksOf(words, chains, true)) ??
      new Int32Array(rows.length).fill(NOT_FOUND)
    );
  };
}

function fitOfSymbol(symbol: string, { folded, letters }: SearchWord): number {
  const foldedSymbol = foldText(symbol);
  if (foldedSymbol === folded) return FITS.symbol;
  return lettersOf(foldedSymbol).startsWith(letters) ? FITS.symbolStart : FITS.symbolPart;
}

/** The symbol decides first, by the word that it is or begins with, and of several such words by the foremost. */
function rankOf(row: number, fitsOfWords: readonly Uint8Array[]): number {
  let best = FITS.address * MAX_WORDS;
  let sum = 0;
  let position = 0;
  for (const fits of fitsOfWords) {
    const fit = fits[row] ?? FITS.none;
    if (fit === FITS.none) return NOT_FOUND;
    if (fit <= FITS.symbolStart) best = Math.min(best, fit * MAX_WORDS + position);
    sum += fit;
    position++;
  }
  return best * 2 * NOT_BRIDGEABLE + Math.min(sum, MAX_SUM);
}

/** The distinct texts of a column, found by their parts, each with the rows that have it. */
function createColumn(rowsOfText: ReadonlyMap<string, readonly number[]>) {
  const texts = [...rowsOfText];
  const index = createTextIndex(texts.map(([text]) => text));
  return {
    find(letters: string, found: (text: string, place: Place, rows: readonly number[]) => void): void {
      index.find(letters, (number, place) => {
        const [text, rows] = texts[number] ?? ['', []];
        found(text, place, rows);
      });
    },
  };
}

/** The numbers of the rows that have each of these values. */
export function groupRows(values: readonly string[]): ReadonlyMap<string, readonly number[]> {
  const groups = new Map<string, number[]>();
  for (const [row, value] of values.entries()) {
    const group = groups.get(value);
    if (group) group.push(row);
    else groups.set(value, [row]);
  }
  return groups;
}
