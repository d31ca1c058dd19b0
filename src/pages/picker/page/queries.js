/**
 * The queries of the page. The text shown on the page is exactly the text sent.
 *
 * @template Data, Variables
 * @typedef {object} Query
 * @property {string} name the name of its operation
 * @property {string} text
 * @property {(data: Data, variables: Variables) => void} [types] never set; it only carries the types
 */

/** @typedef {{ usd: number, asOf: string }} Price */
/** @typedef {{ name: string, caip2: string | null }} TokenChain */
/**
 * @typedef {object} Token
 * @property {string} id
 * @property {string} chainKey
 * @property {string} address
 * @property {string} symbol
 * @property {string} name
 * @property {number} decimals
 * @property {boolean} isBridgeable
 * @property {boolean} isNative
 * @property {Price | null} price
 * @property {TokenChain | null} chain
 */
/** @typedef {{ edges: { node: Token }[], pageInfo: { hasNextPage: boolean, endCursor: string | null }, totalCount: number }} TokenPage */
/** @typedef {{ query: string, filter?: { chainKeys: string[] }, first: number, after?: string }} TokensVariables */

/** @type {Query<{ tokenSearch: TokenPage | null }, TokensVariables>} */
export const TOKENS = {
  name: 'Tokens',
  text: `query Tokens(
  $query: String
  $filter: TokenFilter
  $first: Int
  $after: String
) {
  tokenSearch(
    query: $query
    filter: $filter
    first: $first
    after: $after
  ) {
    edges {
      node {
        id
        chainKey
        address
        symbol
        name
        decimals
        isBridgeable
        isNative
        price {
          usd
          asOf
        }
        chain {
          name
          caip2
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    totalCount
  }
}`,
};

/** @typedef {{ id: string, symbol: string, name: string, decimals: number }} Destination */
/** @typedef {{ chainKey: string, chain: { name: string } | null, tokens: Destination[] }} ChainDestinations */

/** @type {Query<{ destinations: ChainDestinations[] | null }, { srcChainKey: string, srcToken: string }>} */
export const DESTINATIONS = {
  name: 'Destinations',
  text: `query Destinations(
  $srcChainKey: String!
  $srcToken: String!
) {
  destinations(
    srcChainKey: $srcChainKey
    srcToken: $srcToken
  ) {
    chainKey
    chain {
      name
    }
    tokens {
      id
      symbol
      name
      decimals
    }
  }
}`,
};

/** @typedef {{ chainKey: string, name: string, tokenCount: number | null }} Chain */

/** @type {Query<{ chains: Chain[] | null }, {}>} */
export const CHAINS = {
  name: 'Chains',
  text: `query Chains {
  chains {
    chainKey
    name
    tokenCount
  }
}`,
};

/** @type {Query<{ node: Token | {} | null }, { id: string }>} */
export const CHOSEN_TOKEN = {
  name: 'ChosenToken',
  text: `query ChosenToken($id: ID!) {
  node(id: $id) {
    ... on Token {
      id
      chainKey
      address
      symbol
      name
      decimals
      isBridgeable
      isNative
      price {
        usd
        asOf
      }
      chain {
        name
        caip2
      }
    }
  }
}`,
};

/** @typedef {{ code: string, message: string, at: string }} ListingFailure */
/** @typedef {{ name: string, source: string, state: 'FRESH' | 'STALE' | 'EMPTY', takenAt: string | null, rows: number, rejectedRows: number, version: string | null, lastFailure: ListingFailure | null }} ListingStatus */

/** @type {Query<{ listings: ListingStatus[] }, {}>} */
export const LISTINGS = {
  name: 'Listings',
  text: `query Listings {
  listings {
    name
    source
    state
    takenAt
    rows
    rejectedRows
    version
    lastFailure {
      code
      message
      at
    }
  }
}`,
};
