import type { Chain } from '../domain/listing.js';
import { runAtOnce } from '../scheduling/chunks.js';
import { WordList } from './suggestions/word-list.js';
import { foldSymbol, nameStarts, type SearchWord } from './text.js';
import { append } from './token-indexes.js';
import { MATCH, type Match, wordStartsSteps } from './word-starts.js';

/** Finds chains by their names and identifiers. */
export interface ChainNames {
  /** The words of all names. */
  readonly words: WordList;
  /**
   * The keys of the chains that have a name that this word is, or a word of which it is the start, each with its best
   * match. The `chainId` and the CAIP-2 identifier of a chain are names of it, too.
   *
   * @param byCurrency whether the symbol of its native currency also names a chain
   */
  named(word: SearchWord, byCurrency: boolean): ReadonlyMap<string, Match>;
  /** The keys of the chains with this CAIP-2 identifier, in lower case. More than one if several have a `chainId`. */
  identifiedBy(caip2: string): readonly string[];
}

/**
 * Further names that people use for some chains: those that a chain has or had in the list of ethereum-lists/chains, if
 * they follow neither from its key, its names nor its native currency. A Map and no object, since an upstream may name
 * a chain `constructor`.
 */
const NICKNAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['arbitrum', ['Arbitrum One']],
  ['avalanche', ['Avalanche C-Chain']],
  ['bera', ['Berachain']],
  ['bsc', ['Binance Smart Chain', 'BNB Smart Chain']],
  ['ethereum', ['Mainnet', 'Ethereum Mainnet']],
  ['polygon', ['Polygon PoS', 'Matic']],
  ['rootstock', ['RSK']],
  ['worldchain', ['World Chain']],
]);

/** Indexes the names of chains: keys, short and full names, nicknames; each also written as one word. */
export function createChainNames(chains: readonly Chain[]): ChainNames {
  const names: { readonly chainKey: string; readonly text: string }[] = [];
  const words = new WordList();
  /** By `chainId` and by CAIP-2 identifier: no text is both. */
  const identified = new Map<string, string[]>();
  const byCurrencySymbol = new Map<string, string[]>();
  for (const { chainKey, shortName, name, chainId, caip2, nativeCurrency } of chains) {
    for (const text of new Set([chainKey, shortName, name, ...(NICKNAMES.get(chainKey) ?? [])])) {
      names.push({ chainKey, text });
      words.add(text);
    }
    append(identified, String(chainId), chainKey);
    if (caip2 !== null) append(identified, caip2.toLowerCase(), chainKey);
    append(byCurrencySymbol, foldSymbol(nativeCurrency.symbol), chainKey);
  }
  const starts = runAtOnce(wordStartsSteps(names, ({ text }) => nameStarts(text)));
  const identifiedBy = (text: string) => identified.get(text) ?? [];

  return {
    words,
    named({ letters, folded, identifier }, byCurrency) {
      const found = new Map<string, Match>();
      starts.find(letters, ({ chainKey }, match) => {
        if (match < (found.get(chainKey) ?? MATCH.inside)) found.set(chainKey, match);
      });
      const whole = identifiedBy(identifier ? (identifier.caip2 ?? '') : folded);
      const ofCurrency = byCurrency && !identifier ? byCurrencySymbol.get(folded) : undefined;
      for (const chainKey of [...whole, ...(ofCurrency ?? [])]) found.set(chainKey, MATCH.firstWord);
      return found;
    },
    identifiedBy,
  };
}
