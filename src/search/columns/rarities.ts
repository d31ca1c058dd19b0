import type { Steps } from '../../scheduling/chunks.js';
import { raritiesOf } from '../ranks.js';
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

/**
 * Counts how many bridgeable tokens each chain has, and on how many chains each symbol is listed. Returns the
 * {@link raritiesOf} each token, by place.
 *
 * @param foldedSymbols by the number of the symbol
 */
export function* rarityColumnSteps(
  foldedSymbols: readonly string[],
  symbolAt: Uint32Array,
  chainAt: Uint32Array,
  isBridgeable: (place: number) => boolean,
): Steps<Uint16Array> {
  const bridgeable = new Map<number, number>();
  const chainsOf = new Map<string, Set<number>>();
  for (let place = 0; place < symbolAt.length; place++) {
    const chain = chainAt[place] ?? 0;
    if (isBridgeable(place)) bridgeable.set(chain, (bridgeable.get(chain) ?? 0) + 1);
    const symbol = foldedSymbols[symbolAt[place] ?? 0] ?? '';
    const chains = chainsOf.get(symbol);
    if (chains) chains.add(chain);
    else chainsOf.set(symbol, new Set([chain]));
    if (place % STEP_ROWS === 0) yield;
  }
  const rarities = new Uint16Array(symbolAt.length);
  for (let place = 0; place < rarities.length; place++) {
    const chains = chainsOf.get(foldedSymbols[symbolAt[place] ?? 0] ?? '');
    rarities[place] = raritiesOf(bridgeable.get(chainAt[place] ?? 0) ?? 0, chains?.size ?? 0);
    if (place % STEP_ROWS === 0) yield;
  }
  return rarities;
}
