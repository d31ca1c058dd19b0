/** Checks that rows agree: on CAIP-2 identifiers, on the decimals of native assets, and on prices. */
import { NATIVE_PLACEHOLDER, tokenKey } from '../domain/addresses.js';
import { caip2Of } from '../domain/caip.js';
import { append, groupBy, keyedRows } from '../domain/keyed-rows.js';
import { type Chain, type Fetched, sentAtOf, type Token } from '../domain/listing.js';
import { type DoubtedPrice, EMPTY_GUARD_MEMORY } from '../domain/listing-memory.js';
import { forEachInSteps, yieldThen } from '../scheduling/steps.js';
import { TOKENS } from '../upstream/listing-kinds.js';
import type { GuardedListing } from './guard.js';
import { heldByKey } from './known-rows.js';

/**
 * Decides which chain has a CAIP-2 identifier that several chains claim: the chain that had it before; otherwise the
 * chain that has it in the demo data; otherwise the only claimant that the operator does not hide. If that chain is not
 * listed or claims another identifier, no chain has it. A wrong identifier would join the tokens of two chains.
 *
 * @param demoChainKeys the keys of the chains in the demo data, by CAIP-2 identifier
 * @param holdBackMs how long a chain that is removed, or has another identifier now, keeps its earlier one, unless the
 *   operator hides the chain
 */
export function assignCaip2(
  listing: GuardedListing<Chain>,
  before: Fetched<Chain> | undefined,
  demoChainKeys: ReadonlyMap<string, string>,
  holdBackMs: number,
): GuardedListing<Chain> {
  const { hides } = listing.rules;
  const withoutBefore = new Set(before?.guard?.unnumbered);
  const identifiers = new Map(listing.rows.map((chain) => [chain.chainKey, caip2Of(chain)]));
  const memories = [before?.guard ?? EMPTY_GUARD_MEMORY, listing.guard];
  const gone = memories
    .flatMap((memory) => [...memory.gone, ...memory.former])
    .filter(({ row, at }) => listing.takenAt - at < holdBackMs && !hides(row))
    .map(({ row }) => row);
  // A chain that now has another identifier is among the former rows with its earlier one.
  const listed = (before?.rows ?? []).filter((chain) => identifiers.get(chain.chainKey) === caip2Of(chain));
  // If several chains have one identifier, the last entry is used: a listed chain, or else the chain removed first.
  const holders = new Map(
    [...gone.reverse(), ...listed]
      .filter(({ chainKey }) => !withoutBefore.has(chainKey))
      .map((chain) => [caip2Of(chain), chain.chainKey]),
  );
  const withoutCaip2 = new Set<string>();
  for (const [caip2, claimants] of groupBy(listing.rows, caip2Of)) {
    if (caip2 === null) continue;
    const known = holders.get(caip2) ?? (claimants.length > 1 ? demoChainKeys.get(caip2) : undefined);
    const shown = claimants.length > 1 ? claimants.filter((chain) => !hides(chain)) : claimants;
    const holder = known ?? (shown.length === 1 ? shown[0]?.chainKey : undefined);
    for (const { chainKey } of claimants) if (chainKey !== holder) withoutCaip2.add(chainKey);
  }
  const rows = listing.rows.map((chain) => {
    const caip2 = withoutCaip2.has(chain.chainKey) ? null : caip2Of(chain);
    return caip2 === chain.caip2 ? chain : Object.freeze({ ...chain, caip2 });
  });
  for (const { row } of listing.guard.gone)
    if (withoutBefore.has(row.chainKey)) withoutCaip2.add(row.chainKey);
  return {
    ...listing,
    rows: Object.freeze(rows),
    guard: { ...listing.guard, unnumbered: [...withoutCaip2] },
  };
}

/**
 * Marks native assets whose decimals differ between both listings (one is wrong), unless a `keep` rule decides. While new
 * decimals of a chain are held back, a token with the served or the sent decimals counts as equal; if the sent rows of the
 * chain contradict each other, only one with the served decimals.
 *
 * @param before an earlier listing: if the asset was held back there with the same decimals, `since` stays
 */
export function compareNatives(
  listing: GuardedListing<Token>,
  before: Fetched<Token> | undefined,
  chains: GuardedListing<Chain>,
): GuardedListing<Token> {
  const rows = new Map(keyedRows(listing.rows, TOKENS.keyOf));
  const held = new Map(heldByKey(listing.guard));
  const heldBefore = heldByKey(before?.guard ?? EMPTY_GUARD_MEMORY);
  const heldChains = heldByKey(chains.guard);
  const natives = chains.rows.flatMap((chain) => {
    const [sent = chain, ...others] = heldChains.get(chain.chainKey)?.rows ?? [];
    const rowsOfChain = others.length > 0 ? [chain] : [chain, sent];
    const decimals = rowsOfChain.map(({ nativeCurrency }) => nativeCurrency.decimals);
    const addresses = [chain.nativeCurrency.address, NATIVE_PLACEHOLDER];
    return addresses.map((each) => ({ key: tokenKey(chain.chainKey, each), decimals }));
  });
  for (const { key, decimals } of natives) {
    const token = rows.get(key);
    if (!token || decimals.includes(token.decimals) || token.heldBack.length > 0) continue;
    if (listing.rules.keptFacts(key)?.has('decimals')) continue;
    const mark = heldBefore.get(key);
    const since = mark?.rows[0]?.decimals === token.decimals ? mark.since : sentAtOf(listing);
    const values = { served: String(token.decimals), upstream: String(decimals.at(-1)) };
    rows.set(key, TOKENS.markHeldBack(token, [Object.freeze({ fact: 'decimals', ...values, since })]));
    held.set(key, { key, rows: [token], since });
  }
  if (held.size === listing.guard.held.length) return listing;
  return {
    ...listing,
    rows: Object.freeze([...rows.values()]),
    guard: { ...listing.guard, held: [...held.values()] },
  };
}

/** A price that rises or falls by this factor between two answers is more often wrong than right. */
const DOUBTED_TIMES = 10;
/** Ten minutes, or twenty refreshes: time for a wrong price to disappear. A right price is hidden only for this time. */
const DOUBTED_MS = 600_000;

/**
 * Hides prices that differ by a factor of ten or more from the token's last price, or from a median price of
 * its symbol in the same answer, until all prices of ten minutes were near the first of them. Yields to requests.
 */
export async function guardPrices(listing: GuardedListing<Token>, before: Fetched<Token> | undefined) {
  const { takenAt } = listing;
  const isAgain = before?.takenAt === takenAt;
  const served = keyedRows(before?.rows ?? [], TOKENS.keyOf);
  const doubts = new Map(before?.guard?.prices.map((doubt) => [doubt.key, doubt]));
  const medians = await yieldThen(() => mediansBySymbol(listing.rows));
  const prices: DoubtedPrice[] = [];
  /** By key: removed rows, with their last prices. The rows of another upstream count as removed. */
  const gone = await yieldThen(() => new Map(before?.guard?.gone.map(({ row }) => [TOKENS.keyOf(row), row])));

  function guarded(key: string, token: Token): Token {
    const usd = token.price?.usd ?? null;
    const doubt = doubts.get(key);
    // If the same listing is guarded again, its prices are compared with the same earlier prices as before.
    const known = (isAgain ? doubt?.before : undefined) ?? served.get(key)?.price?.usd ?? doubt?.before;
    const lastUsd = known ?? (served.has(key) ? null : (gone.get(key)?.price?.usd ?? null));
    if (usd === null) {
      // The last price is remembered, to compare it with the next price that the upstream sends.
      if (lastUsd !== null) prices.push({ key, before: lastUsd, usd, since: takenAt });
      return token;
    }
    const others = medians.get(token.symbol.toLowerCase()) ?? [];
    if (![lastUsd ?? usd, ...others].some((other) => isFarFrom(usd, other))) return token;
    const first = firstDoubted(doubt);
    const isSame = first !== undefined && !isFarFrom(usd, first);
    // The ten minutes begin when the request is sent, as for guarded facts, even if the answer is older because it is
    // from a cache. If `doubt.since` is later than `sentAt`, the clock was set back.
    const sentAt = sentAtOf(listing);
    // If the same listing is guarded again, `since` stays: it may be later than the request.
    const since = doubt && isSame ? (isAgain ? doubt.since : Math.min(doubt.since, sentAt)) : sentAt;
    prices.push({ key, before: lastUsd, usd, first: isSame ? first : usd, since });
    return isDoubted({ usd, since }, takenAt) ? TOKENS.withPrice(token, null, takenAt) : token;
  }

  const keyed = await yieldThen(() => keyedRows(listing.rows, TOKENS.keyOf));
  const rows: Token[] = [];
  /** The symbols of the listed prices that are not doubted. */
  const priced = new Set<string>();
  await forEachInSteps(keyed, ([key, token]) => {
    const row = guarded(key, token);
    rows.push(row);
    if (row.price) priced.add(row.symbol.toLowerCase());
  });
  // The last price of a removed row is remembered, too: the row can be listed again.
  for (const { row } of listing.guard.gone) {
    const key = TOKENS.keyOf(row);
    const last = served.get(key)?.price?.usd ?? doubts.get(key)?.before ?? null;
    if (last !== null) prices.push({ key, before: last, usd: null, since: takenAt });
  }
  // While all listed prices of a symbol are doubted, all prices of the symbol in routes are doubted, too.
  const forRoutes = new Map(
    Array.from(medians, ([symbol, each]) => [symbol, priced.has(symbol) ? each : NONE_NEAR]),
  );
  return { ...listing, rows: Object.freeze(rows), medians: forRoutes, guard: { ...listing.guard, prices } };
}

/** Median prices from which every price is far. */
const NONE_NEAR = [0, 0] as const;

/** Removes the price of a row if it is far from any of these prices. */
export function withComparedPrice(row: Token, others: readonly number[]): Token {
  const { price } = row;
  const isFar = price && others.some((other) => isFarFrom(price.usd, other));
  return isFar ? TOKENS.withPrice(row, null, price.asOf) : row;
}

/** The price with which the later ones of the ten minutes are compared; undefined without a doubted price. */
export function firstDoubted(doubt: DoubtedPrice | undefined): number | undefined {
  // Memories of older gateways have no `first`.
  return doubt?.usd == null ? undefined : (doubt.first ?? doubt.usd);
}

/** Whether a price is not served yet in a listing with this `takenAt`. */
export function isDoubted({ usd, since }: Pick<DoubtedPrice, 'usd' | 'since'>, takenAt: number): boolean {
  return usd !== null && takenAt - since < DOUBTED_MS;
}

export function isFarFrom(one: number, other: number): boolean {
  return Math.max(one, other) >= DOUBTED_TIMES * Math.min(one, other);
}

/**
 * Computes the lower and the upper median price of each symbol. Of two prices, these are the lower and the higher one,
 * so each is compared with the other. Tokens with an empty symbol are left out, because they have nothing in common.
 */
export function mediansBySymbol(tokens: readonly Token[]): NonNullable<Fetched<Token>['medians']> {
  const bySymbol = new Map<string, number[]>();
  for (const { price, symbol } of tokens)
    if (price && symbol.trim() !== '') append(bySymbol, symbol.toLowerCase(), price.usd);
  return new Map(
    Array.from(bySymbol, ([symbol, prices]) => {
      const sorted = Float64Array.from(prices).sort();
      const last = sorted.length - 1;
      return [symbol, [sorted[last >> 1] ?? 0, sorted[(last + 1) >> 1] ?? 0]];
    }),
  );
}
