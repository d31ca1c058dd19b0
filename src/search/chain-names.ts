import { foldText } from '../domain/fold-text.js';
import type { Chain } from '../domain/listing.js';
import { runAtOnce } from '../scheduling/chunks.js';
import { nameLines, type SearchWord } from './text.js';
import { createMatches, MATCH, type Match, textIndexSteps } from './text-index.js';

/** Finds chains by their names. */
export interface ChainNames {
  /** All names, as they are written. */
  readonly texts: readonly string[];
  /**
   * The keys of the chains that have a name with this word, or part of a word, each with its best match.
   *
   * @param byCurrency whether the symbol of its native currency also names a chain
   */
  named(word: SearchWord, byCurrency: boolean): ReadonlyMap<string, Match>;
}

/**
 * Further names that people use for some chains. A Map and no object, since an upstream may name a chain
 * `constructor`.
 */
const NICKNAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['arbitrum', ['Arbitrum One']],
  ['avalanche', ['Avalanche C-Chain']],
  ['bera', ['Berachain']],
  ['bsc', ['Binance Smart Chain', 'BNB Smart Chain']],
  ['ethereum', ['Mainnet', 'Ethereum Mainnet']],
  ['polygon', ['Polygon PoS']],
]);

/** Indexes the names of chains: keys, short and full names, nicknames; each also written as one word. */
export function createChainNames(chains: readonly Chain[]): ChainNames {
  const names = chains.flatMap(({ chainKey, shortName, name }) =>
    [...new Set([chainKey, shortName, name, ...(NICKNAMES.get(chainKey) ?? [])])].map((text) => ({
      chainKey,
      text,
    })),
  );
  const index = runAtOnce(textIndexSteps(names.length, (number) => nameLines(names[number]?.text ?? '')));
  const matches = createMatches(names.length, names.length);
  const currencies = chains.map(({ chainKey, nativeCurrency }) => ({
    chainKey,
    symbol: foldText(nativeCurrency.symbol),
  }));

  return {
    texts: names.map(({ text }) => text),
    named(word, byCurrency) {
      const found = new Map<string, Match>();
      index.find(word.letters, matches);
      for (const number of matches.texts.subarray(0, matches.count)) {
        const chainKey = names[number]?.chainKey;
        if (chainKey === undefined) continue;
        const match = matches.best[number] as Match;
        const known = found.get(chainKey);
        if (known === undefined || match < known) found.set(chainKey, match);
      }
      for (const { chainKey, symbol } of byCurrency ? currencies : []) {
        if (symbol === word.folded) found.set(chainKey, MATCH.firstWord);
      }
      return found;
    },
  };
}
