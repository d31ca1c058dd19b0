import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';
import { oneOf, randomFrom, shuffled } from '../support/random.js';

const CHAINS = 80;
const SEED = 20_261_122;
/** The syllables of names. They do not occur in names of chains, in symbols, or in words that a search ignores. */
const SYLLABLES =
  'lu mo ra vas ti qui ner bol dex pra sum wi gar zen fi yor bas kel dra pio cus mel jun rix'.split(' ');

/** The rows of the upstream. */
export interface Listings {
  readonly chains: readonly RawChain[];
  readonly tokens: readonly RawToken[];
}

const made = new Map<number, Listings>();

/**
 * Generates a listing of this many tokens. Nearly every token has a unique symbol and name, as in long listings. The order
 * of the rows is random. Otherwise rows that are read one after another would be next to each other in memory, and be read
 * several times as fast as real ones.
 */
export function listingsOf(tokenCount: number): Listings {
  const known = made.get(tokenCount);
  if (known) return known;
  const { chains, tokens } = generatedListings(CHAINS, tokenCount);
  const random = randomFrom(SEED);
  const named = (tokens as readonly RawToken[]).map((token) => ({ ...token, name: nameFrom(random) }));
  const listings = { chains: chains as readonly RawChain[], tokens: shuffled(named, randomFrom(SEED)) };
  made.set(tokenCount, listings);
  return listings;
}

/** Two words of three syllables, such as "Lumovas Zenfikel". */
function nameFrom(random: () => number): string {
  const word = () => {
    const letters = Array.from({ length: 3 }, () => oneOf(SYLLABLES, random)).join('');
    return `${letters.charAt(0).toUpperCase()}${letters.slice(1)}`;
  };
  return `${word()} ${word()}`;
}
