/**
 * The search of the servers beside the gateway: the same rows in the same order, as far as the bench's rows and
 * questions need it, by one pass over all tokens. It stands for a search that is written in an afternoon.
 */
import type { RawChain, RawToken } from '../../fixtures/demo.js';

/** What is searched for. */
export interface Search {
  readonly query?: string | null;
  readonly filter?: {
    readonly chainKeys?: readonly string[] | null;
    readonly isBridgeable?: boolean | null;
    readonly minPriceUsd?: number | null;
  } | null;
  readonly first: number;
  readonly after?: string | null;
}

/** One page of the tokens found. */
export interface Page {
  readonly totalCount: number;
  readonly edges: readonly { readonly cursor: string; readonly node: RawToken }[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The texts of a row as a search reads them. */
interface Entry {
  readonly token: RawToken;
  readonly symbol: string;
  readonly address: string;
  /** Its name, and its name in one word. */
  readonly names: readonly string[];
  /** The names of its chain. */
  readonly chains: readonly string[];
  /** The fewer bridgeable tokens its chain has. All symbols are on one chain each. */
  readonly rarity: number;
}

const NONE = 16;
const MAX_WORDS = 8;
const STATES = 4;
const SUM_LIMIT = MAX_WORDS * NONE + 1;
const RARITIES = 33;

/** Makes the search of these rows. */
export function createSearch(
  chains: readonly RawChain[],
  tokens: readonly RawToken[],
): (search: Search) => Page {
  const namesOfChain = new Map(
    chains.map(({ chainKey, name }) => [chainKey, [lettersOf(chainKey), lettersOf(name)]]),
  );
  const bridgeable = new Map<string, number>();
  for (const { chainKey, isBridgeable } of tokens) {
    if (isBridgeable) bridgeable.set(chainKey, (bridgeable.get(chainKey) ?? 0) + 1);
  }
  const entries: readonly Entry[] = tokens
    .map((token) => ({
      token,
      symbol: token.symbol.toLowerCase(),
      address: token.address.toLowerCase(),
      names: [lettersOf(token.name), lettersOf(token.name.replaceAll(' ', ''))],
      chains: namesOfChain.get(token.chainKey) ?? [],
      rarity: Math.clz32(bridgeable.get(token.chainKey) ?? 0),
    }))
    .sort(
      (a, b) =>
        compare(a.symbol, b.symbol) ||
        compare(a.token.chainKey, b.token.chainKey) ||
        compare(a.address, b.address),
    );

  return ({ query, filter, first, after }) => {
    const words = (query ?? '').toLowerCase().split(' ').filter(Boolean);
    const { chainKeys, isBridgeable, minPriceUsd } = filter ?? {};
    const found: { readonly token: RawToken; readonly rank: number }[] = [];
    for (const entry of entries) {
      const { token } = entry;
      if (chainKeys && !chainKeys.includes(token.chainKey)) continue;
      if (isBridgeable != null && token.isBridgeable !== isBridgeable) continue;
      if (minPriceUsd != null && token.price.usd < minPriceUsd) continue;
      const rank = rankOf(entry, words);
      if (rank !== undefined) found.push({ token, rank });
    }
    found.sort((a, b) => a.rank - b.rank);
    const start = after == null ? 0 : placeAfter(found, after);
    const page = found.slice(start, start + first);
    const edges = page.map(({ token, rank }) => ({ cursor: cursorOf(token, rank), node: token }));
    return {
      totalCount: found.length,
      edges,
      pageInfo: { hasNextPage: start + first < found.length, endCursor: edges.at(-1)?.cursor ?? null },
    };
  };
}

/** Behind the token of a cursor, which the gateway may have written: its end names the token. */
function placeAfter(found: readonly { readonly token: RawToken }[], cursor: string): number {
  const [chainKey, address] = (JSON.parse(Buffer.from(cursor, 'base64url').toString()) as string[]).slice(-2);
  return (
    1 +
    found.findIndex(
      ({ token }) => token.chainKey === chainKey && token.address.toLowerCase() === address?.toLowerCase(),
    )
  );
}

function cursorOf({ symbol, chainKey, address }: RawToken, rank: number): string {
  const parts = ['RELEVANCE', rank, symbol.toLowerCase(), chainKey, address.toLowerCase()];
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

function rankOf(entry: Entry, words: readonly string[]): number | undefined {
  let best = 2 * MAX_WORDS;
  let sum = 0;
  for (const [position, word] of words.entries()) {
    const score = scoreOf(entry, word);
    if (score === NONE) return undefined;
    if (score <= 1) best = Math.min(best, score * MAX_WORDS + position);
    sum += score;
  }
  return (best * STATES * SUM_LIMIT + sum) * RARITIES + entry.rarity;
}

function scoreOf({ symbol, address, names, chains }: Entry, word: string): number {
  if (symbol === word) return 0;
  if (symbol.startsWith(word)) return 1;
  if (address === word) return 2;
  const letters = lettersOf(word);
  const chain = bestMatch(chains, letters);
  if (chain === 0) return 4;
  if (symbol.includes(word)) return 5;
  const name = bestMatch(names, letters);
  if (name !== undefined) return 6 + Math.max(1, name);
  return chain === undefined ? NONE : 9 + 2 * chain;
}

/** From 0, the first word of a text, to 3, the start of another; undefined for letters inside a word. */
function bestMatch(texts: readonly string[], letters: string): number | undefined {
  let best: number | undefined;
  for (const text of texts) {
    for (let at = text.indexOf(letters); at !== -1; at = text.indexOf(letters, at + 1)) {
      const behind = text[at + letters.length];
      const isWhole = behind === undefined || behind === ' ';
      if (at > 0 && text[at - 1] !== ' ') continue;
      const match = (at === 0 ? 0 : 2) + (isWhole ? 0 : 1);
      if (best === undefined || match < best) best = match;
    }
  }
  return best;
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9 ]/g, '');
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
