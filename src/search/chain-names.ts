/** Finds chains by their names and identifiers. */
import { append } from '../domain/keyed-rows.js';
import type { Chain } from '../domain/listing.js';
import { foldSymbol, nameStarts, type SearchWord } from './text.js';
import { WordList } from './word-list.js';
import { createWordStarts, MATCH, type Match } from './word-starts.js';

export interface ChainNames {
  /** The words of all names. */
  readonly words: WordList;
  /**
   * The keys of the chains that this word names, each with its best match. A word names a chain if it equals or begins
   * a word of one of the chain's names, or equals the `chainId` or the CAIP-2 identifier of the chain.
   *
   * @param byCurrency whether a chain is also named by the symbol of its native currency
   */
  named(word: SearchWord, byCurrency: boolean): ReadonlyMap<string, Match>;
  /**
   * The key of the chain with this CAIP-2 identifier, in a list; empty if no chain has it.
   *
   * @param caip2 in lower case
   */
  identifiedBy(caip2: string): readonly string[];
}

/**
 * Further names of some chains, by `chainKey`. Most are present or former names in the list of ethereum-lists/chains
 * that the row of the chain does not contain. The others are the token standards by which exchanges name a chain. A
 * Map, not an object: an upstream may name a chain `constructor`.
 */
const NICKNAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['arbitrum', ['Arbitrum One']],
  ['avalanche', ['Avalanche C-Chain']],
  ['bera', ['Berachain']],
  ['bsc', ['Binance Smart Chain', 'BNB Smart Chain', 'BEP20']],
  ['ethereum', ['Mainnet', 'Ethereum Mainnet', 'ERC20']],
  ['polygon', ['Polygon PoS', 'Matic']],
  ['rootstock', ['RSK']],
  ['solana', ['SPL']],
  ['tron', ['TRC20']],
  ['worldchain', ['World Chain']],
]);

/** Indexes the names of chains: keys, short and full names, and nicknames, each also written as one word. */
export async function createChainNames(chains: readonly Chain[]): Promise<ChainNames> {
  const names: { readonly chainKey: string; readonly text: string }[] = [];
  const words = new WordList();
  /** The keys of chains by `chainId` and by CAIP-2 identifier. One map is enough, since only the latter has a colon. */
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
  const starts = await createWordStarts(names, ({ text }) => nameStarts(text));
  const identifiedBy = (text: string) => identified.get(text) ?? [];

  return {
    words,
    named({ letters, folded, identifier }, byCurrency) {
      const found = new Map<string, Match>();
      for (const { match, texts } of starts.find(letters)) {
        for (const { chainKey } of texts()) {
          if (match < (found.get(chainKey) ?? MATCH.inside)) found.set(chainKey, match);
        }
      }
      const whole = identifiedBy(identifier ? (identifier.caip2 ?? '') : folded);
      const ofCurrency = byCurrency && !identifier ? byCurrencySymbol.get(folded) : undefined;
      for (const chainKey of [...whole, ...(ofCurrency ?? [])]) found.set(chainKey, MATCH.firstWord);
      return found;
    },
    identifiedBy,
  };
}
