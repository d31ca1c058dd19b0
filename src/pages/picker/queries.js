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
/**
 * @typedef {{ totalCount: number, didYouMean: string[], nodes: Token[],
 *   pageInfo: { hasNextPage: boolean, endCursor: string | null } }} TokenPage
 */
/** @typedef {{ chainKeys?: string[], isBridgeable?: boolean, reachableFrom?: TokenKey }} TokenFilter */
/** @typedef {{ chainKey: string, name: string, heldBack: HeldBackFact[], tokens: { isBridgeable: boolean }[] | null }} Chain */
/**
 * @typedef {{ name: string, source: string, state: 'FRESH' | 'STALE' | 'EMPTY', takenAt: string | null, rows: number,
 *   rejectedRows: number, heldBackRows: number, version: string | null,
 *   lastFailure: { code: string, at: string } | null }} Listing
 */

const ROW = `symbol name address chainKey decimals isNative logoUrl id
    price { usd asOf }
    heldBack { fact served upstream since }
    chain { name caip2 heldBack { fact served upstream since } }`;

/** A page of one group of the list: the first one, or the page after a cursor. */
export const TOKENS = `query Tokens($query: String, $filter: TokenFilter, $after: String) {
  tokenSearch(query: $query, filter: $filter, first: 50, after: $after) {
    totalCount didYouMean
    nodes {
      ${ROW.replaceAll('\n', '\n  ')}
    }
    pageInfo { hasNextPage endCursor }
  }
}`;

export const TOKENS_BY_KEY = `query TokensByKey($keys: [TokenKey!]!) {
  tokensByKey(keys: $keys) {
    ${ROW}
  }
}`;

/** Two tokens, and the route between them: it has a node if the second token can be reached from the first one. */
export const ROUTE = `query Route($from: TokenKey!, $toChain: String!, $toAddress: String!) {
  tokensByKey(
    keys: [$from, { chainKey: $toChain, address: $toAddress }]
  ) {
    ${ROW}
  }
  route: tokenSearch(
    query: $toAddress
    filter: { reachableFrom: $from, chainKeys: [$toChain] }
  ) {
    nodes { id }
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
