import { foldAddress, isNativePlaceholder } from '../../domain/addresses.js';
import type { EvmChain } from '../../domain/history.js';
import type { Chain, Token } from '../../domain/listing.js';
import { forEachChunk, runInSteps } from '../../scheduling/chunks.js';
import { sortSteps } from '../../search/order/sort-steps.js';

/** A token as the schema of Uniswap's token lists has it, with no other members. */
export interface TokenListEntry {
  readonly chainId: number;
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly logoURI?: string;
}

export interface TokenListContent {
  /** By `chainId`, then by address. */
  readonly entries: readonly TokenListEntry[];
  /** How many tokens of these chains are not among them because the schema does not allow them. Natives do not count. */
  readonly omitted: number;
}

// From tokenlist.schema.json. Lengths are in code points.
const MAX_ENTRIES = 10_000;
const MAX_SYMBOL_LENGTH = 20;
const MAX_NAME_LENGTH = 60;
const SYMBOL = /^\S*$/u;
const NAME = /^[ \S]*$/u;
/** The schema also allows addresses of Solana, which no EVM chain has. */
const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** A part of the URIs of RFC 3986: more than pictures need, and nothing that a strict reader refuses. */
const URI = /^https?:\/\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

/** The EVM chains on which tokens are listed; without those whose number belongs to another chain. */
export function evmChainsOf(
  chains: readonly Chain[],
  hasTokens: { has(chainKey: string): boolean },
): readonly EvmChain[] {
  return chains
    .filter(
      ({ chainKey, chainType, caip2 }) => chainType === 'evm' && caip2 !== null && hasTokens.has(chainKey),
    )
    .map(({ chainKey, chainId, nativeCurrency }): EvmChain => [chainKey, chainId, nativeCurrency.address]);
}

/**
 * The tokens of these chains, as far as a token list may have them. Equal tokens give an equal list, whatever their
 * order. It yields to requests.
 */
export async function tokenListContentOf(
  rows: readonly Token[],
  chains: readonly EvmChain[],
): Promise<TokenListContent> {
  const chainsByKey = new Map(chains.map(([chainKey, chainId, native]) => [chainKey, { chainId, native }]));
  const entries: TokenListEntry[] = [];
  // What they are sorted by: the address without its letter case, then the chain, since chains can share a chainId.
  const places: string[] = [];
  let omitted = 0;
  await forEachChunk(rows, (chunk) => {
    for (const token of chunk) {
      const chain = chainsByKey.get(token.chainKey);
      if (!chain || isNative(token, chain.native)) continue;
      if (chain.chainId >= 1 && isAllowed(token)) {
        entries.push(entryOf(token, chain.chainId));
        places.push(`${token.address.toLowerCase()} ${token.chainKey}`);
      } else omitted++;
    }
  });
  const order = await runInSteps(
    sortSteps(entries.length, (a, b) => {
      const difference = (entries[a]?.chainId ?? 0) - (entries[b]?.chainId ?? 0);
      if (difference !== 0) return difference;
      return (places[a] ?? '') < (places[b] ?? '') ? -1 : 1;
    }),
  );
  const sorted: TokenListEntry[] = [];
  for (const index of order) {
    const entry = entries[index];
    if (!entry) continue;
    const last = sorted.at(-1);
    // To a reader of the list, which does not know chain keys, it is the same token.
    const isRepeated =
      last?.chainId === entry.chainId && last.address.toLowerCase() === entry.address.toLowerCase();
    if (isRepeated || sorted.length === MAX_ENTRIES) omitted++;
    else sorted.push(entry);
  }
  return { entries: sorted, omitted };
}

function isNative({ address }: Token, native: string): boolean {
  if (isNativePlaceholder(address)) return true;
  return !isNativePlaceholder(native) && foldAddress(native) === foldAddress(address);
}

function isAllowed({ address, symbol, name }: Token): boolean {
  return (
    ADDRESS.test(address) &&
    SYMBOL.test(symbol) &&
    NAME.test(name) &&
    isWithin(MAX_SYMBOL_LENGTH, symbol) &&
    isWithin(MAX_NAME_LENGTH, name)
  );
}

function isWithin(maxLength: number, text: string): boolean {
  return text.length <= maxLength || (text.length <= 2 * maxLength && [...text].length <= maxLength);
}

/** A picture is optional: one whose address is no URI is left out, and the token stays. */
function entryOf({ address, decimals, symbol, name, logoUrl }: Token, chainId: number): TokenListEntry {
  const entry = { chainId, address, decimals, symbol, name };
  return logoUrl !== null && URI.test(logoUrl) ? { ...entry, logoURI: logoUrl } : entry;
}
