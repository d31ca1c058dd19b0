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
/** @typedef {{ fact: string, served: string, upstream: string, since: string }} HeldBackFact */
/** @typedef {{ name: string, caip2: string | null, heldBack: HeldBackFact[] }} TokenChain */
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
 * @property {string | null} logoUrl
 * @property {Price | null} price
 * @property {HeldBackFact[]} heldBack
 * @property {TokenChain | null} chain
 */
/** @typedef {{ nodes: Token[], pageInfo: { hasNextPage: boolean, endCursor: string | null }, totalCount: number, didYouMean: string[] }} TokenPage */
/** @typedef {{ chainKeys?: string[], isBridgeable?: boolean }} TokensFilter */
/** @typedef {{ query: string, filter?: TokensFilter, first: number, after?: string }} TokensVariables */

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
    nodes {
      id
      chainKey
      address
      symbol
      name
      decimals
      isBridgeable
      isNative
      logoUrl
      price {
        usd
        asOf
      }
      heldBack {
        fact
        served
        upstream
        since
      }
      chain {
        name
        caip2
        heldBack {
          fact
          served
          upstream
          since
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
    totalCount
    didYouMean
  }
}`,
};

/** @typedef {Omit<Token, 'isBridgeable' | 'isNative' | 'price'>} Destination */
/** @typedef {{ tokens: Destination[] }} ChainDestinations */

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
    tokens {
      id
      chainKey
      address
      symbol
      name
      decimals
      logoUrl
      heldBack {
        fact
        served
        upstream
        since
      }
      chain {
        name
        caip2
        heldBack {
          fact
          served
          upstream
          since
        }
      }
    }
  }
}`,
};

/** @typedef {{ chainKey: string, name: string, tokenCount: number | null, heldBack: HeldBackFact[] }} Chain */

/** @type {Query<{ chains: Chain[] | null }, { search: string }>} */
export const CHAINS = {
  name: 'Chains',
  text: `query Chains($search: String) {
  chains(search: $search) {
    chainKey
    name
    tokenCount
    heldBack {
      fact
      served
      upstream
      since
    }
  }
}`,
};

/** @typedef {{ chainKey: string, address: string }} TokenKey */

/** @type {Query<{ token: Token | null }, TokenKey>} */
export const CHOSEN_TOKEN = {
  name: 'ChosenToken',
  text: `query ChosenToken(
  $chainKey: String!
  $address: String!
) {
  token(chainKey: $chainKey, address: $address) {
    id
    chainKey
    address
    symbol
    name
    decimals
    isBridgeable
    isNative
    logoUrl
    price {
      usd
      asOf
    }
    heldBack {
      fact
      served
      upstream
      since
    }
    chain {
      name
      caip2
      heldBack {
        fact
        served
        upstream
        since
      }
    }
  }
}`,
};

/** @typedef {{ code: string, message: string, at: string }} ListingFailure */
/** @typedef {{ name: string, source: string, state: 'FRESH' | 'STALE' | 'EMPTY', takenAt: string | null, rows: number, rejectedRows: number, heldBackRows: number, version: string | null, lastFailure: ListingFailure | null }} ListingStatus */

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
    heldBackRows
    version
    lastFailure {
      code
      message
      at
    }
  }
}`,
};
