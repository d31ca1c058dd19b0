/** Scores how well each word of a query matches each token. */
import { foldAddress } from '../domain/addresses.js';
import type { Token } from '../domain/listing.js';
import type { ChainNames } from './chain-names.js';
import { withoutPunctuationAround } from './identifiers.js';
import { NOT_NATIVE, SCORES } from './ranks.js';
import { foldSymbol, type Interpretation, type SearchWord } from './text.js';
import { type ChainsByKey, nativesOn, type Places, type TokenIndexes } from './token-indexes.js';
import type { Match } from './word-starts.js';

/** Exceeds every score: the largest number of a Uint8Array. */
export const NO_MATCH = 255;

/** The part of the chain listing that a search needs. */
export interface KnownChains extends ChainNames, ChainsByKey {}

export type WordScores = ReturnType<typeof scoresOfWord>;

/** Further and former names of the native assets of some chains, in the form of {@link SearchWord.letters}. */
const NATIVE_NAMES: ReadonlyMap<string, string> = new Map([
  ['binancecoin', 'bsc'],
  ['ethereum', 'ethereum'],
  ['klay', 'klaytn'],
  ['pol', 'polygon'],
]);

/** The asset in the long form of a symbol such as WETH: "wrapped eth" or "wrapped ether". */
const WRAPPED = /^wrapped(.+)/;

/**
 * Forms of an asset. After one as the first word, the second names the asset, not a chain: "wrapped bnb" does not mean
 * WBTC on BNB Chain, but "usdc bridged optimism" does mean the chain.
 */
const FORMS: ReadonlySet<string> = new Set(['bridged', 'staked', 'wrapped']);

/** Neighbouring words that are a token's whole name, or the long form of its symbol, score almost as its symbol does. */
export function scoresOf(
  { words, byCurrency }: Interpretation,
  tokens: readonly Token[],
  indexes: TokenIndexes,
  chains: KnownChains | undefined,
): readonly WordScores[] {
  const namedBy = (letters: string): Places => [
    ...(indexes.names.get(letters) ?? []),
    ...(indexes.chains.get(NATIVE_NAMES.get(letters) ?? '')?.natives ?? []),
  ];
  /** The tokens whose symbol is a W before the symbol of this asset, which is given by its symbol or its whole name. */
  const wrappedForms = (asset: string): Places => {
    const symbols = namedBy(asset).map((place) => foldSymbol(tokens[place]?.symbol ?? ''));
    return [...new Set([asset, ...symbols])].flatMap((symbol) => indexes.symbols.get(`w${symbol}`) ?? []);
  };
  const named = words.map((): (readonly [Places, score: number])[] => []);
  for (let start = 0; start < words.length; start++) {
    let letters = '';
    for (let end = start; end < words.length && words[end]?.letters; end++) {
      letters += words[end]?.letters;
      const [, asset] = WRAPPED.exec(letters) ?? [];
      const whole = namedBy(letters);
      const wrapped = asset === undefined ? [] : wrappedForms(asset);
      for (const ofWord of named.slice(start, end + 1))
        ofWord.push([whole, SCORES.wholeName], [wrapped, SCORES.symbolStart]);
    }
  }
  const isOfForm = FORMS.has(words[0]?.letters ?? '');
  return words.map((word, nth) => {
    const isAsset = isOfForm && nth === 1 && indexes.symbols.has(word.folded);
    return scoresOfWord({ ...word, isAsset }, named[nth] ?? [], indexes, chains, byCurrency);
  });
}

/** @param named the tokens whose whole name, or the long form of whose symbol, is this word with its neighbours */
function scoresOfWord(
  word: SearchWord & { readonly isAsset: boolean },
  named: readonly (readonly [Places, score: number])[],
  indexes: TokenIndexes,
  chains: KnownChains | undefined,
  byCurrency: boolean,
) {
  const { letters, folded, addresses, identifier: { addressOn, addressStart, addressEnd = '' } = {} } = word;
  const scores = new Uint8Array(indexes.rowAt.length).fill(NO_MATCH);
  const matching: number[] = [];
  const improve = (places: Places | undefined, score: number) => {
    for (const place of places ?? []) {
      const before = scores[place] ?? 0;
      if (before === NO_MATCH) matching.push(place);
      if (score < before) scores[place] = score;
    }
  };
  const improveChain = (chainKey: string, match: Match) => {
    if (word.isAsset) return;
    improve(nativesOn(chainKey, indexes, chains), SCORES.chain[match]);
    improve(indexes.chains.get(chainKey)?.all, SCORES.chain[match] + NOT_NATIVE);
  };

  const ofSymbol =
    indexes.symbols.get(folded) ?? indexes.symbols.get(withoutPunctuationAround(folded) || folded);
  if (letters !== '') improve(ofSymbol, SCORES.symbol);
  for (const [places, score] of named) improve(places, score);
  for (const { match, items } of indexes.symbolStarts.find(letters)) improve(items, SCORES.symbolPart[match]);
  for (const { match, items } of indexes.nameStarts.find(letters)) improve(items, SCORES.name[match]);
  for (const { match, items } of indexes.chainKeyStarts.find(letters)) {
    for (const chainKey of items) improveChain(chainKey, match);
  }
  for (const [chainKey, match] of chains?.named(word, byCurrency) ?? []) improveChain(chainKey, match);

  const onChains = addressOn === undefined ? undefined : (chains?.identifiedBy(addressOn) ?? []);
  const isOn = (place: number) =>
    onChains?.some((chainKey) => indexes.chains.get(chainKey)?.all.includes(place)) ?? true;
  for (const typed of addresses) {
    improve(indexes.addresses.get(foldAddress(typed))?.filter(isOn), SCORES.address);
  }
  for (const { items } of indexes.addressStarts.find(addressStart ?? '')) {
    for (const address of items) {
      if (address.toLowerCase().endsWith(addressEnd)) improve(indexes.addresses.get(address), SCORES.address);
    }
  }
  return {
    /** The best score of each token, by its place (see {@link Places}); {@link NO_MATCH} for one that does not match. */
    scores,
    /** The tokens that match, in any order. */
    places: matching,
  };
}
