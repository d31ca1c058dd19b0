import { foldAddress, foldChainKey, partsOfTokenKey, tokenKey } from './addresses.js';
import { type Caip19Parts, isIdentifiedBy } from './caip.js';
import { foldValue } from './guarded-facts.js';
import type { Chain, GuardedFact, Token } from './listing.js';

/*
 * What an operator's rules mean: which rows are served, in which order, and which changes of guarded facts are right.
 */

/** What the operator says of the listings. */
export interface ListingRules {
  /** The number of rules. */
  readonly size: number;
  /**
   * Finds the rows that the rules are about.
   *
   * @param chains the chains by which identifiers by CAIP are looked up, also hidden ones; of several chains with one
   *   identifier the last counts. It is called only if a rule has such an identifier.
   */
  resolve(chains: () => readonly Chain[]): ResolvedRules;
}

/** Rules with the rows that they are about. */
export interface ResolvedRules {
  /** Equal for two resolutions of the same rules that are about the same rows. */
  readonly rows: string;
  /** The chains to serve, in the operator's order. The same array if rules change nothing. */
  selectChains(rows: readonly Chain[]): readonly Chain[];
  /**
   * The tokens to serve, ordered by the place of their chain in the operator's order; tokens of one chain stay in the
   * order that they have. The same array if rules change nothing.
   */
  selectTokens(rows: readonly Token[]): readonly Token[];
  /** Whether a token is hidden, by itself or with its chain. */
  hides(token: Pick<Token, 'chainKey' | 'address'>): boolean;
  /**
   * What the operator says of a change of a guarded fact.
   *
   * @param key the `tokenKey` of a token, or the key of a chain
   * @returns `accept`: take it now; `keep`: never take it; undefined: there is no rule about it
   */
  verdictOn(key: string, fact: GuardedFact, served: string, upstream: string): 'accept' | 'keep' | undefined;
  /** The values of a row that the operator keeps, as they are written in the rules; undefined if there are none. */
  keptFacts(key: string): ReadonlyMap<GuardedFact, string> | undefined;
}

/** A chain, or a token on it; both texts folded. */
export interface RowPlace {
  readonly chainKey: string;
  /** Undefined for a chain. */
  readonly address: string | undefined;
}

/** A chain by CAIP-2, or a token by CAIP-19. Only the row of the chain says where it is. */
export interface CaipPlace {
  readonly caip2: string;
  /** Undefined for a chain. */
  readonly asset: Caip19Parts | undefined;
}

/** The chain or token that a rule names. */
export type Place = RowPlace | CaipPlace;

/** A rule about a guarded fact. */
export type FactRule = {
  readonly line: number;
  readonly place: Place;
  readonly fact: GuardedFact;
  /** The value to serve. */
  readonly value: string;
} & ({ readonly verb: 'accept'; readonly from: string } | { readonly verb: 'keep' });

/** The rules as they were read, in the order of their lines. Those about one place do not contradict each other. */
export interface ParsedRules {
  readonly size: number;
  /** The chains to serve, in their order; undefined: all. */
  readonly order: readonly Place[] | undefined;
  readonly hidden: readonly Place[];
  readonly facts: readonly FactRule[];
}

/** Puts rules that were read into force. */
export function createListingRules(rules: ParsedRules): ListingRules {
  const places = [...(rules.order ?? []), ...rules.hidden, ...rules.facts.map(({ place }) => place)];
  if (!places.some((place) => 'caip2' in place)) {
    const resolved = resolve(rules, '', (place) => ('caip2' in place ? undefined : place));
    return { size: rules.size, resolve: () => resolved };
  }
  return {
    size: rules.size,
    resolve(chains) {
      const byCaip2 = new Map(chains().map((chain) => [chain.caip2, chain]));
      const rowOf = (place: Place) => rowPlaceOf(place, byCaip2);
      return resolve(rules, JSON.stringify(places.map(rowOf)), rowOf);
    },
  };
}

/** No rules: everything is served, in the upstream's order. */
export const NO_RULES: ListingRules = createListingRules({
  size: 0,
  order: undefined,
  hidden: [],
  facts: [],
});

/** @param rowOf finds the row that a rule names; undefined if no chain has its identifier */
function resolve(
  { order, hidden, facts }: ParsedRules,
  rows: string,
  rowOf: (place: Place) => RowPlace | undefined,
): ResolvedRules {
  /** The place of each chain in the operator's order. */
  const ranks = order && new Map<string, number>();
  for (const place of order ?? []) {
    const row = rowOf(place);
    // Of a chain that is named twice, the first place counts.
    if (row && !ranks?.has(row.chainKey)) ranks?.set(row.chainKey, ranks.size);
  }
  const hiddenChains = new Set<string>();
  /** The addresses of hidden tokens by their chain: most chains have none. */
  const hiddenTokens = new Map<string, Set<string>>();
  for (const place of hidden) {
    const { chainKey, address } = rowOf(place) ?? {};
    if (chainKey === undefined) continue;
    if (address === undefined) hiddenChains.add(chainKey);
    else hiddenTokens.set(chainKey, (hiddenTokens.get(chainKey) ?? new Set()).add(address));
  }
  const accepted = new Set<string>();
  const kept = new Map<string, Map<GuardedFact, string>>();
  for (const rule of facts) {
    const { place, fact, value } = rule;
    const row = rowOf(place);
    if (!row) continue;
    const key = rowKey(row);
    if (rule.verb === 'accept') accepted.add(changeKey(key, fact, rule.from, value));
    else {
      const values = kept.get(key) ?? new Map<GuardedFact, string>();
      // Rules by key and by CAIP can name one row without being read as the same place: the first one counts.
      if (!values.has(fact)) kept.set(key, values.set(fact, value));
    }
  }

  function hidesChain({ chainKey }: Pick<Token, 'chainKey'>): boolean {
    const folded = foldChainKey(chainKey);
    return hiddenChains.has(folded) || ranks?.has(folded) === false;
  }
  function hides(token: Pick<Token, 'chainKey' | 'address'>): boolean {
    const onChain = hiddenTokens.get(foldChainKey(token.chainKey));
    return hidesChain(token) || onChain?.has(foldAddress(token.address)) === true;
  }

  return {
    rows,
    selectChains: (chains) => select(chains, ranks, hidesChain),
    selectTokens: (tokens) => select(tokens, ranks, hides),
    hides,
    verdictOn(key, fact, served, upstream) {
      const row = foldRowKey(key);
      const value = kept.get(row)?.get(fact);
      if (value !== undefined)
        return foldValue(fact, value) === foldValue(fact, upstream) ? 'accept' : 'keep';
      return accepted.has(changeKey(row, fact, served, upstream)) ? 'accept' : undefined;
    },
    keptFacts: (key) => (kept.size === 0 ? undefined : kept.get(foldRowKey(key))),
  };
}

/** The change of a fact of a row as one string. */
function changeKey(row: string, fact: GuardedFact, from: string, to: string): string {
  return JSON.stringify([row, fact, foldValue(fact, from), foldValue(fact, to)]);
}

/** The rows that are not hidden, in the order of their chains. It takes time in proportion to the rows. */
function select<Row extends { readonly chainKey: string }>(
  rows: readonly Row[],
  ranks: ReadonlyMap<string, number> | undefined,
  isHidden: (row: Row) => boolean,
): readonly Row[] {
  const shown = rows.filter((row) => !isHidden(row));
  const selected = ranks ? inOrder(shown, ranks) : shown;
  return selected.length === rows.length && selected.every((row, at) => row === rows[at]) ? rows : selected;
}

function inOrder<Row extends { readonly chainKey: string }>(
  rows: readonly Row[],
  ranks: ReadonlyMap<string, number>,
): readonly Row[] {
  const byRank: Row[][] = Array.from(ranks, () => []);
  for (const row of rows) byRank[ranks.get(foldChainKey(row.chainKey)) ?? 0]?.push(row);
  return byRank.flat();
}

/** The row that a place is; undefined if no chain has its identifier. */
function rowPlaceOf(place: Place, byCaip2: ReadonlyMap<string | null, Chain>): RowPlace | undefined {
  if (!('caip2' in place)) return place;
  const { caip2, asset } = place;
  const chain = byCaip2.get(caip2);
  if (!chain || (asset && !isIdentifiedBy(asset, chain, asset))) return undefined;
  return { chainKey: foldChainKey(chain.chainKey), address: asset && foldAddress(asset.address) };
}

/** The folded address of a token; undefined for a chain. */
export function addressOf(place: Place): string | undefined {
  if (!('caip2' in place)) return place.address;
  return place.asset && foldAddress(place.asset.address);
}

/** Equal for places that are the same whatever the listings have. */
export function placeKey(place: Place): string {
  if (!('caip2' in place)) return rowKey(place);
  const { caip2, asset } = place;
  return asset ? `${caip2}/${asset.assetNamespace}:${foldAddress(asset.address)}` : caip2;
}

/** The key of a row with folded texts: {@link tokenKey}, or the key of a chain. */
function rowKey({ chainKey, address }: RowPlace): string {
  return address === undefined ? chainKey : tokenKey(chainKey, address);
}

/** Folds the chain of a {@link tokenKey}, or the key of a chain, which has no white space. */
function foldRowKey(key: string): string {
  if (!key.includes(' ')) return foldChainKey(key);
  const { chainKey, address } = partsOfTokenKey(key);
  return tokenKey(foldChainKey(chainKey), address);
}
