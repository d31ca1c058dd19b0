/** Guards prices: a price that is probably wrong is served only after the upstream has sent it for a while. */
import type { DoubtedPrice } from '../../domain/guard-memory.js';
import { groupBy, keyedRows } from '../../domain/keyed-rows.js';
import type { Fetched, Token } from '../../domain/listing.js';
import { forEachChunk, yieldThen } from '../../scheduling/chunks.js';
import { TOKENS } from '../../upstream/listing-kinds.js';
import type { GuardedListing } from './guard.js';

const DOUBTED_TIMES = 10;
const DOUBTED_MS = 600_000;

/**
 * Hides prices that differ by a factor of ten from the token's last price, or from a median price of its symbol in the
 * same answer, until the upstream has sent them for ten minutes. The work yields to requests.
 *
 * @param listing rows with the upstream's prices
 * @param before the listing that is served; undefined for the first one
 */
export async function guardPrices(
  listing: GuardedListing<Token>,
  before: Fetched<Token> | undefined,
): Promise<GuardedListing<Token>> {
  const { takenAt } = listing;
  const served = keyedRows(before?.rows ?? [], TOKENS.keyOf);
  const doubts = new Map(before?.guard?.prices.map((doubt) => [doubt.key, doubt]));
  const medians = await yieldThen(() => mediansBySymbol(listing.rows));
  const prices: DoubtedPrice[] = [];
  const rows: Token[] = [];

  function guarded(key: string, token: Token): Token {
    const doubt = doubts.get(key);
    // If the same listing is guarded again, its prices are compared with the same earlier ones.
    const compared = before?.takenAt === takenAt ? doubt?.before : undefined;
    const last = compared ?? served.get(key)?.price?.usd ?? doubt?.before ?? null;
    const usd = token.price?.usd ?? null;
    if (usd === null) {
      // The last price is remembered, to compare it with the next one that the upstream sends.
      if (last !== null) prices.push({ key, before: last, usd, since: takenAt });
      return token;
    }
    const others = medians.get(token.symbol.toLowerCase()) ?? [];
    if (![last ?? usd, ...others].some((other) => isFarFrom(usd, other))) return token;
    const isSame = doubt?.usd != null && !isFarFrom(usd, doubt.usd);
    const since = isSame ? doubt.since : takenAt;
    prices.push({ key, before: last, usd, since });
    return takenAt - since >= DOUBTED_MS ? token : TOKENS.withPrice(token, null, takenAt);
  }

  await forEachChunk([...keyedRows(listing.rows, TOKENS.keyOf)], (chunk) => {
    for (const [key, token] of chunk) rows.push(guarded(key, token));
  });
  // The last price of a removed row is remembered, too: the row can be listed again.
  for (const { row } of listing.guard.gone) {
    const key = TOKENS.keyOf(row);
    const last = served.get(key)?.price?.usd ?? doubts.get(key)?.before ?? null;
    if (last !== null) prices.push({ key, before: last, usd: null, since: takenAt });
  }
  return { ...listing, rows: Object.freeze(rows), guard: { ...listing.guard, prices } };
}

function isFarFrom(one: number, other: number): boolean {
  return Math.max(one, other) >= DOUBTED_TIMES * Math.min(one, other);
}

/** The lower and the upper median price of each symbol: of only two prices that differ so much, both are doubted. */
function mediansBySymbol(tokens: readonly Token[]): ReadonlyMap<string, readonly [number, number]> {
  const priced = tokens.filter(({ price }) => price !== null);
  return new Map(
    [...groupBy(priced, ({ symbol }) => symbol.toLowerCase())].map(([symbol, ofSymbol]) => {
      const sorted = Float64Array.from(ofSymbol, ({ price }) => price?.usd ?? 0).sort();
      const last = sorted.length - 1;
      return [symbol, [sorted[last >> 1] ?? 0, sorted[(last + 1) >> 1] ?? 0]];
    }),
  );
}
