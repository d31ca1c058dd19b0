/** Finds chains by their names and identifiers. */
import { append } from '../domain/keyed-rows.js';
import type { Chain } from '../domain/listing.js';
import { foldSymbol, nameStarts, type SearchWord, searchedPart } from './text.js';
import { createWordList } from './word-list.js';
import { createWordStarts, MATCH, type Match } from './word-starts.js';

/**
 * Further names of some chains: those in ethereum-lists/chains that the row of the chain lacks, and the token standards
 * by which exchanges name a chain. A Map, not an object: an upstream may name a chain `constructor`.
 */
const NICKNAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ['ape', ['Apechain']],
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

export type ChainNames = Awaited<ReturnType<typeof createChainNames>>;

/** Indexes the names of chains: keys, short and full names, and nicknames, each also written as one word. */
export async function createChainNames(chains: readonly Chain[]) {
  const names = new Map<string, string[]>();
  /** The keys of chains by `chainId` and by CAIP-2 identifier. One map is enough: only the identifiers have a colon. */
  const identified = new Map<string, string[]>();
  const byCurrencySymbol = new Map<string, string[]>();
  for (const { chainKey, shortName, name, chainId, caip2, nativeCurrency } of chains) {
    for (const text of new Set([chainKey, shortName, name, ...(NICKNAMES.get(chainKey) ?? [])]))
      append(names, searchedPart(text), chainKey);
    append(identified, String(chainId), chainKey);
    if (caip2 !== null) append(identified, caip2.toLowerCase(), chainKey);
    append(byCurrencySymbol, foldSymbol(nativeCurrency.symbol), chainKey);
  }
  const starts = await createWordStarts(names, nameStarts);

  /** @param caip2 a `chainId`, or a CAIP-2 identifier in lower case */
  const identifiedBy = (caip2: string): readonly string[] => identified.get(caip2) ?? [];

  /** The keys of the chains that this word names, each with its best match. @param byCurrency see `Interpretation` */
  function named({ letters, folded, identifier }: SearchWord, byCurrency: boolean) {
    const found = new Map<string, Match>();
    for (const { match, items } of starts.find(letters)) {
      for (const chainKey of items) {
        if (match < (found.get(chainKey) ?? MATCH.inside)) found.set(chainKey, match);
      }
    }
    const whole = identifiedBy(identifier ? (identifier.caip2 ?? '') : folded);
    const ofCurrency = byCurrency && !identifier ? byCurrencySymbol.get(folded) : undefined;
    for (const chainKey of [...whole, ...(ofCurrency ?? [])]) found.set(chainKey, MATCH.firstWord);
    return found;
  }

  return { words: await createWordList(names.keys()), named, identifiedBy };
}
