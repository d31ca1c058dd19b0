import { isNativeOf, tokenKey } from '../../domain/addresses.js';
import { caip2Of } from '../../domain/caip.js';
import { keyedRows } from '../../domain/keyed-rows.js';
import { type Chain, type Fetched, sentAtOf, type Token } from '../../domain/listing.js';
import { TOKENS } from '../../upstream/listing-kinds.js';
import type { GuardedListing, OperatorWord } from './guard.js';

/*
 * What rows must agree on with each other: several chains cannot have one CAIP-2 identifier, and the decimals of a
 * native asset are the same in both listings.
 */

/**
 * Gives a CAIP-2 identifier that several chains claim to the one that had it before, else to the one that has it in the
 * embedded listing, else to none: a wrong one would join the tokens of one chain with those of another.
 *
 * @param before the listing that is served; undefined for the first one
 * @param embedded the keys of the chains in the embedded listing, by CAIP-2 identifier
 * @param holdBackMs for how long a chain that has gone keeps its identifier
 */
export function numberChains(
  listing: GuardedListing<Chain>,
  before: Fetched<Chain> | undefined,
  embedded: ReadonlyMap<string, string>,
  holdBackMs: number,
): GuardedListing<Chain> {
  const numbers = new Map(listing.rows.map((chain) => [chain.chainKey, caip2Of(chain)]));
  const holders = new Map<string, string>();
  const unnumberedBefore = new Set(before?.guard?.unnumbered);
  for (const chain of before?.rows ?? []) {
    const caip2 = caip2Of(chain);
    // A chain that is listed with another number by now has given up this one.
    const isSame = caip2 !== null && numbers.get(chain.chainKey) === caip2;
    if (isSame && !unnumberedBefore.has(chain.chainKey)) holders.set(caip2, chain.chainKey);
  }
  for (const { row, at } of [...(before?.guard?.gone ?? []), ...listing.guard.gone]) {
    const caip2 = unnumberedBefore.has(row.chainKey) ? null : caip2Of(row);
    const isHolder = caip2 !== null && listing.takenAt - at < holdBackMs;
    if (isHolder && !holders.has(caip2)) holders.set(caip2, row.chainKey);
  }
  const claims = new Map<string, string[]>();
  for (const chain of listing.rows) {
    const caip2 = caip2Of(chain);
    if (caip2 === null) continue;
    const claim = claims.get(caip2);
    if (claim) claim.push(chain.chainKey);
    else claims.set(caip2, [chain.chainKey]);
  }
  const unnumbered = new Set<string>();
  for (const [caip2, keys] of claims) {
    const first = holders.get(caip2) ?? embedded.get(caip2);
    const holder = keys.length === 1 && !holders.has(caip2) ? keys[0] : first;
    for (const key of keys) if (key !== holder) unnumbered.add(key);
  }
  const rows = listing.rows.map((chain) => {
    const caip2 = unnumbered.has(chain.chainKey) ? null : caip2Of(chain);
    return caip2 === chain.caip2 ? chain : Object.freeze({ ...chain, caip2 });
  });
  for (const { row } of listing.guard.gone)
    if (unnumberedBefore.has(row.chainKey)) unnumbered.add(row.chainKey);
  return {
    ...listing,
    rows: Object.freeze(rows),
    guard: { ...listing.guard, unnumbered: [...unnumbered] },
  };
}

/**
 * Marks native assets to which the two listings give different decimals: one of the two is wrong, and the gateway
 * cannot tell which. A `keep` rule of the operator settles it.
 *
 * @param chains the rows of the chain listing
 */
export function compareNatives(
  listing: GuardedListing<Token>,
  before: Fetched<Token> | undefined,
  chains: readonly Chain[],
  rules: Pick<OperatorWord, 'keptFacts'>,
): GuardedListing<Token> {
  const rows = new Map(keyedRows(listing.rows, TOKENS.keyOf));
  const held = new Map(listing.guard.held.map((each) => [each.key, each]));
  const clocks = new Map(before?.guard?.held.map((each) => [each.key, each]));
  for (const chain of chains) {
    const { address, decimals } = chain.nativeCurrency;
    const key = tokenKey(chain.chainKey, address);
    const token = rows.get(key);
    if (!token || token.decimals === decimals || token.heldBack.length > 0 || !isNativeOf(chain, token))
      continue;
    if (rules.keptFacts(key)?.has('decimals')) continue;
    const since = clocks.get(key)?.since ?? sentAtOf(listing);
    const fact = {
      fact: 'decimals',
      served: String(token.decimals),
      upstream: String(decimals),
      since,
    } as const;
    rows.set(key, TOKENS.heldBack(token, [Object.freeze(fact)]));
    held.set(key, { key, rows: [token], since });
  }
  return {
    ...listing,
    rows: Object.freeze([...rows.values()]),
    guard: { ...listing.guard, held: [...held.values()] },
  };
}
