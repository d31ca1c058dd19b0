import { foldAddress, isNativePlaceholder } from '../domain/addresses.js';
import { foldText } from '../domain/fold-text.js';
import { forEachChunk, yieldThen } from '../scheduling/chunks.js';
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

/** The rank of each row under one interpretation of a query, or {@link NOT_FOUND}; lower is better. */
export type Ranks = Int32Array;

/** Ranks the rows of a listing; undefined if none is found. An unknown chain has its key as its only name. */
export type RankRows = (interpretation: Interpretation, chains: ChainNames | undefined) => Ranks | undefined;

export const NOT_FOUND = -1;

/** How well a word matches a token, by its best match; lower is better. */
const SCORES = {
  symbol: 0,
  symbolStart: 1,
  // From here on, scores decide only between tokens that are equally bridgeable and priced.
  address: 2,
  symbolPart: 3,
  name: 4,
  // Two scores for each match: native assets first, then other tokens.
  chain: 9,
  none: 19,
} as const;

/** Exceeds the sum of all words' scores. */
const SUM_LIMIT = MAX_WORDS * SCORES.none + 1;
/** Bridgeable or not, times priced or not. */
const STATES = 4;

/** Makes the indexes for ranking in steps, so that requests are answered in between. */
export async function createTokenRanks(texts: TokenTexts): Promise<RankRows> {
  const count = texts.symbols.length;
  const rowsOfAddress = await yieldThen(() => groupRows(texts.addresses));
  const rowsOfChain = await yieldThen(() => groupRows(texts.chainKeys));
  const isNative = Uint8Array.from(texts.addresses, (address) => Number(isNativePlaceholder(address)));
  const symbols = await createColumn(await yieldThen(() => groupRows(texts.symbols)), (symbol) => [symbol]);
  const names = await createColumn(await yieldThen(() => groupRows(texts.names)), inOneWordToo);
  const chainKeys = await createColumn(rowsOfChain, (chainKey) => [chainKey]);

  /** The score of each row for one word; undefined if no row matches it. */
  function scoresOf(word: SearchWord, chains: ChainNames | undefined, byCurrency: boolean) {
    const scores = new Uint8Array(count).fill(SCORES.none);
    let anyMatched = false;
    const improve = (matched: readonly number[] = [], score: number) => {
      for (const row of matched) if (score < (scores[row] ?? 0)) scores[row] = score;
      anyMatched ||= matched.length > 0;
    };
    const scoreChain = (matched: readonly number[] = [], match: Match) => {
      const score = SCORES.chain + 2 * match;
      for (const row of matched) improve([row], isNative[row] ? score : score + 1);
    };
    symbols.find(word.letters, (symbol, match, ofSymbol) =>
      improve(ofSymbol, symbolScore(symbol, word, match)),
    );
    // Unlike in a symbol, a whole first word counts no more than the start of one.
    names.find(word.letters, (_name, match, ofName) =>
      improve(ofName, SCORES.name + Math.max(match, MATCH.start)),
    );
    for (const address of word.addresses) improve(rowsOfAddress.get(foldAddress(address)), SCORES.address);
    chainKeys.find(word.letters, (_key, match, ofChain) => scoreChain(ofChain, match));
    for (const [chainKey, match] of chains?.named(word, byCurrency) ?? []) {
      scoreChain(rowsOfChain.get(chainKey), match);
    }
    return anyMatched ? scores : undefined;
  }

  return ({ words, byCurrency }, chains) => {
    const scoresOfWords: Uint8Array[] = [];
    for (const word of words) {
      const scores = scoresOf(word, chains, byCurrency);
      if (!scores) return undefined;
      scoresOfWords.push(scores);
    }
    const ranks = new Int32Array(count);
    let anyFound = false;
    for (let row = 0; row < count; row++) {
      const rank = rankOf(row, scoresOfWords);
      ranks[row] = rank;
      anyFound ||= rank !== NOT_FOUND;
    }
    return anyFound ? ranks : undefined;
  };
}

/** Sorts by the best symbol match first (exact before prefix, earlier words before later), then by the sum of scores. */
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

/** Adds what decides between the symbol match and the sum of scores: bridgeable and priced tokens come first. */
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

/** Indexes the distinct texts of a column, each with the rows that have it. */
async function createColumn(rowsOfText: RowGroups, spellingsOf: (text: string) => readonly string[]) {
  const texts: { readonly text: string; readonly rows: readonly number[] }[] = [];
  const lines: string[] = [];
  await forEachChunk([...rowsOfText], (slice) => {
    for (const [text, rows] of slice) {
      for (const spelling of spellingsOf(text)) {
        texts.push({ text, rows });
        lines.push(indexLine(spelling));
      }
    }
  });
  const index = await yieldThen(() => createTextIndex(lines));
  return {
    find(letters: string, found: (text: string, match: Match, rows: readonly number[]) => void): void {
      index.find(letters, (number, match) => {
        const known = texts[number];
        if (known) found(known.text, match, known.rows);
      });
    },
  };
}
