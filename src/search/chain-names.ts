import type { Chain } from '../domain/listing.js';
import { runAtOnce } from '../scheduling/chunks.js';
import { foldSymbol, nameLines, type SearchWord } from './text.js';
import { createMatches, MATCH, type Match, textIndexSteps } from './text-index.js';

/** Finds chains by their names and identifiers. */
export interface ChainNames {
  /** All names, as they are written. */
  readonly texts: readonly string[];
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
  const names = chains.flatMap(({ chainKey, shortName, name }) =>
    [...new Set([chainKey, shortName, name, ...(NICKNAMES.get(chainKey) ?? [])])].map((text) => ({
      chainKey,
      text,
    })),
  );
  const index = runAtOnce(
    textIndexSteps([
      {
        count: names.length,
        linesOf: (number) => nameLines(names[number]?.text ?? ''),
        isFoundInside: false,
      },
    ]),
  );
  const matches = createMatches(names.length, names.length);
  const byCurrencySymbol = keysBy(chains, ({ nativeCurrency }) => foldSymbol(nativeCurrency.symbol));
  const byChainId = keysBy(chains, ({ chainId }) => String(chainId));
  const byCaip2 = keysBy(chains, ({ caip2 }) => caip2?.toLowerCase());

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
      const { folded, identifier } = word;
      const caip2 = identifier ? identifier.caip2 : folded;
      if (caip2 !== undefined) addWhole(found, byCaip2.get(caip2));
      if (identifier) return found;
      addWhole(found, byChainId.get(folded));
      if (byCurrency) addWhole(found, byCurrencySymbol.get(folded));
      return found;
    },
    identifiedBy: (caip2) => byCaip2.get(caip2) ?? [],
  };
}

function addWhole(found: Map<string, Match>, chainKeys: readonly string[] | undefined): void {
  if (chainKeys === undefined) return;
  for (const chainKey of chainKeys) found.set(chainKey, MATCH.firstWord);
}

/** The keys of the chains, grouped by a text of theirs. */
function keysBy(
  chains: readonly Chain[],
  textOf: (chain: Chain) => string | undefined,
): ReadonlyMap<string, readonly string[]> {
  const keys = new Map<string, string[]>();
  for (const chain of chains) {
    const text = textOf(chain);
    if (text === undefined) continue;
    keys.set(text, [...(keys.get(text) ?? []), chain.chainKey]);
  }
  return keys;
}
