import type { Steps } from '../../scheduling/chunks.js';
import { raritiesOf } from '../order/ranks.js';
import type { StringTable } from '../string-table.js';
import { foldSymbol } from '../text.js';

const STEP_ROWS = 256;

/** The symbols as they are compared. */
export function* foldedSymbolSteps(symbols: readonly string[]): Steps<readonly string[]> {
  const folded: string[] = [];
  for (const symbol of symbols) {
    folded.push(foldSymbol(symbol));
    if (folded.length % STEP_ROWS === 0) yield;
  }
  return folded;
}

/** What is counted, in columns of `TokenIndexes`. */
export interface CountedColumns {
  readonly symbolAt: Uint32Array;
  readonly chainAt: Uint32Array;
  readonly places: Uint32Array;
  readonly placesFrom: Uint32Array;
  /** The numbers of the chain keys. */
  readonly firstChain: number;
  readonly textCount: number;
  /** Symbols by how they are compared. */
  readonly symbols: StringTable;
}

/**
 * Counts how many bridgeable tokens each chain has, and on how many chains each symbol is listed. Returns the
 * {@link raritiesOf} each token, by place.
 *
 * @param foldedSymbols the symbols as they are compared, by their numbers
 */
export function* rarityColumnSteps(
  { symbolAt, chainAt, places, placesFrom, firstChain, textCount, symbols }: CountedColumns,
  foldedSymbols: readonly string[],
  isBridgeable: (place: number) => boolean,
): Steps<Uint16Array> {
  const groups = yield* groupSteps(foldedSymbols, symbols);
  const chainsOfGroup = new Uint32Array(foldedSymbols.length);
  /** The chain, plus one, that each group was counted on last. */
  const countedOn = new Uint32Array(foldedSymbols.length);
  const bridgeable = new Uint32Array(textCount - firstChain);
  for (let chain = 0; chain < bridgeable.length; chain++) {
    const end = placesFrom[firstChain + chain + 1] ?? 0;
    for (let index = placesFrom[firstChain + chain] ?? 0; index < end; index++) {
      const place = places[index] ?? 0;
      if (isBridgeable(place)) bridgeable[chain] = (bridgeable[chain] ?? 0) + 1;
      const group = groups[symbolAt[place] ?? 0] ?? 0;
      if (countedOn[group] !== chain + 1) chainsOfGroup[group] = (chainsOfGroup[group] ?? 0) + 1;
      countedOn[group] = chain + 1;
      if (index % STEP_ROWS === 0) yield;
    }
  }
  const rarities = new Uint16Array(symbolAt.length);
  for (let place = 0; place < rarities.length; place++) {
    const ofChain = bridgeable[(chainAt[place] ?? 0) - firstChain] ?? 0;
    rarities[place] = raritiesOf(ofChain, chainsOfGroup[groups[symbolAt[place] ?? 0] ?? 0] ?? 0);
    if (place % STEP_ROWS === 0) yield;
  }
  return rarities;
}

/** The first symbol that is equal to each symbol as they are compared. */
function* groupSteps(foldedSymbols: readonly string[], symbols: StringTable): Steps<Uint32Array> {
  const groups = new Uint32Array(foldedSymbols.length);
  for (const [symbol, folded] of foldedSymbols.entries()) {
    groups[symbol] = symbol;
    for (const other of symbols.candidates(folded)) {
      if (foldedSymbols[other] !== folded) continue;
      groups[symbol] = other;
      break;
    }
    if (symbol % STEP_ROWS === 0) yield;
  }
  return groups;
}
