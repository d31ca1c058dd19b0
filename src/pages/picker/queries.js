/** The queries of the page, exactly as they are sent and shown. */

/** @typedef {{ chainKey: string, address: string }} TokenKey */
/** @typedef {{ fact: string, served: string, upstream: string, since: string }} HeldBackFact */
/**
 * @typedef {TokenKey & {
 *   id: string, symbol: string, name: string, decimals: number, isNative: boolean,
 *   logoUrl: string | null, price: { usd: number, asOf: string } | null, heldBack: HeldBackFact[],
 *   chain: { name: string, caip2: string | null, heldBack: HeldBackFact[] } | null,
 * }} Token
 */
/** @typedef {{ totalCount: number, didYouMean: string[], pageInfo: { hasNextPage: boolean, endCursor: string | null }, nodes: Token[] }} TokenPage */
/** @typedef {{ chainKeys?: string[], isBridgeable?: boolean, reachableFrom?: TokenKey }} TokenFilter */
/** @typedef {{ chainKey: string, name: string, heldBack: HeldBackFact[], tokens: { isBridgeable: boolean }[] | null }} Chain */
/** @typedef {{ name: string, source: string, state: 'FRESH' | 'STALE' | 'EMPTY', takenAt: string | null, rows: number, rejectedRows: number, heldBackRows: number, version: string | null, lastFailure: { code: string, at: string } | null }} Listing */

const ROW = `id symbol name address chainKey decimals isNative logoUrl
    price { usd asOf }
    heldBack { fact served upstream since }
    chain { name caip2 heldBack { fact served upstream since } }`;

const PAGE = `fragment Page on TokenConnection {
  totalCount didYouMean
  pageInfo { hasNextPage endCursor }
  nodes {
    ${ROW}
  }
}`;

/** The tokens that can be moved or reached, and those that are only listed. */
export const TOKENS = `query Tokens($query: String, $filter: TokenFilter, $others: TokenFilter) {
  found: tokenSearch(query: $query, filter: $filter, first: 30) {
    ...Page
  }
  others: tokenSearch(query: $query, filter: $others, first: 30) {
    ...Page
  }
}

${PAGE}`;

/** The next page of one of the two lists. */
export const MORE_TOKENS = `query MoreTokens($query: String, $filter: TokenFilter, $after: String) {
  tokenSearch(query: $query, filter: $filter, first: 100, after: $after) {
    ...Page
  }
}

${PAGE}`;

export const TOKENS_BY_KEY = `query TokensByKey($keys: [TokenKey!]!) {
  tokensByKey(keys: $keys) {
    ${ROW}
  }
}`;

export const CHAINS = `query Chains {
  chains { chainKey name heldBack { fact served upstream since } tokens { isBridgeable } }
}`;

export const LISTINGS = `query Listings {
  listings {
    name source state takenAt rows rejectedRows heldBackRows version
    lastFailure { code at }
  }
}`;
