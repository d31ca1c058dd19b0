/** The public facts in the embedded listing, with which the first listing of an upstream is compared. */
import { tokenKey } from '../domain/addresses.js';
import type { EmbeddedFacts } from '../domain/guarded-facts.js';
import type { Chain, GuardedFact } from '../domain/listing.js';
import { chainFrom } from '../domain/rows.js';
import { readListing } from './listings.js';

let known: EmbeddedFacts | undefined;

/**
 * The embedded chains, and the facts of EVM chains and their tokens. These facts are publicly known; other data in the
 * embedded listing can be made up. The files are read once.
 */
export function readEmbeddedFacts(): EmbeddedFacts {
  known ??= factsOf(
    readListing<{ chains: readonly Omit<Chain, 'caip2' | 'heldBack'>[] }>('chains.json').chains,
    readListing<{ tokens: readonly EmbeddedToken[] }>('tokens.json').tokens,
  );
  return known;
}

interface EmbeddedToken {
  readonly chainKey: string;
  readonly address: string;
  readonly decimals: number;
}

function factsOf(
  rows: readonly Omit<Chain, 'caip2' | 'heldBack'>[],
  tokens: readonly EmbeddedToken[],
): EmbeddedFacts {
  const chains = rows.map(chainFrom);
  const evm = chains.filter(({ chainType }) => chainType === 'evm');
  const evmKeys = new Set(evm.map(({ chainKey }) => chainKey));
  return {
    chains,
    chainKeys: new Map(evm.map(({ caip2, chainKey }) => [caip2 ?? '', chainKey])),
    tokens: new Map(
      tokens
        .filter(({ chainKey }) => evmKeys.has(chainKey))
        .map(({ chainKey, address, decimals }) => {
          const facts: ReadonlyMap<GuardedFact, string> = new Map([['decimals', String(decimals)]]);
          return [tokenKey(chainKey, address), facts];
        }),
    ),
  };
}
