/**
 * The queries that the playground shows at a first visit. They do not mention demo data: browsers store them, and the
 * same address may later belong to a gateway with a real upstream.
 */
export const TABS = [
  {
    query: `# Tokens by symbol, chain or address.
# Press the triangle to run this.
query FindTokens($query: String) {
  tokenSearch(query: $query, first: 10) {
    totalCount
    nodes {
      symbol
      name
      chain { name }
      address
      decimals
      isBridgeable
      price { usd }
    }
  }
}
`,
    variables: '{\n  "query": "usdc arb"\n}',
  },
  {
    query: `# The chains, and the currency of their fees.
query ChainsWithNativeCurrency {
  chains {
    chainKey
    name
    chainType
    chainId
    nativeCurrency { symbol decimals }
  }
}
`,
  },
  {
    query: `# The tokens on one chain. Change the variable
# below to see those of another chain.
query TokensOfOneChain($srcChainKey: String!) {
  tokens(srcChainKey: $srcChainKey) {
    symbol
    address
    decimals
    isBridgeable
    price { usd asOf }
    chain {
      name
      nativeCurrency { symbol }
    }
  }
}
`,
    variables: '{\n  "srcChainKey": "ethereum"\n}',
  },
  {
    query: `# Where a token can be moved, by chain.
query WhereTo($srcChainKey: String!, $srcToken: String!) {
  destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) {
    chain { name }
    tokens { symbol decimals address }
  }
}
`,
    variables:
      '{\n  "srcChainKey": "ethereum",\n  "srcToken": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"\n}',
  },
  {
    query: `# Look up one token and one chain by their keys.
# The letter case of a hex address is ignored.
query LookUp {
  token(chainKey: "ethereum", address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48") {
    symbol
    name
    decimals
    isNative
    price { usd }
    # Not empty if the upstream sends another
    # value, such as other decimals.
    heldBack { fact served upstream since }
  }
  chain(chainKey: "ethereum") { name caip2 tokenCount }
}
`,
  },
  {
    query: `# How old the data is, and which refresh last
# failed.
query StateOfTheListings {
  listings {
    name
    source
    state
    ageSeconds
    takenAt
    rows
    rejectedRows
    heldBackRows
    lastFailure { code message at }
  }
}
`,
  },
];
