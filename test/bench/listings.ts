import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';
import { oneOf, randomFrom, shuffled } from '../support/random.js';

const CHAINS = 80;
const SEED = 20_261_122;
/** Of which names are made. None is part of a chain's name, of a symbol, or of a word that a search ignores. */
const SYLLABLES =
  'lu mo ra vas ti qui ner bol dex pra sum wi gar zen fi yor bas kel dra pio cus mel jun rix'.split(' ');

/** What the upstream lists. */
export interface Listings {
  readonly chains: readonly RawChain[];
  readonly tokens: readonly RawToken[];
}

const made = new Map<number, Listings>();

/**
 * The upstream's rows where so many tokens are listed. Nearly every token has a symbol and a name of its own, as in
 * long listings. The rows are in no order, least of all that of a search: rows that a program has made in the order
 * in which it reads them are next to each other in memory, and are read several times as fast.
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
