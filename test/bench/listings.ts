import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';

const CHAINS = 80;

/** What the upstream lists. */
export interface Listings {
  readonly chains: readonly RawChain[];
  readonly tokens: readonly RawToken[];
}

const made = new Map<number, Listings>();

/** The upstream's rows where so many tokens are listed. */
export function listingsOf(tokenCount: number): Listings {
  const known = made.get(tokenCount);
  if (known) return known;
  const { chains, tokens } = generatedListings(CHAINS, tokenCount);
  const listings = { chains: chains as readonly RawChain[], tokens: tokens as readonly RawToken[] };
  made.set(tokenCount, listings);
  return listings;
}
