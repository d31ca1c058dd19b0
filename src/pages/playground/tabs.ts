/** A query that the playground opens with. */
export interface Tab {
  readonly query: string;
  readonly variables?: string;
}

/**
 * The tabs. They do not say whether the data are demo data: a browser keeps them, and may meet a gateway with
 * another upstream at the same address.
 */
export const TABS: readonly Tab[] = [
  {
    query: `# The chains, and what each charges fees in.
# Run this with the triangle, or Ctrl-Enter.
query ChainsWithNativeCurrency {
  chains {
    chainKey
    name
    chainType
    chainId
    nativeCurrency {
      symbol
      decimals
    }
  }
}
`,
  },
  {
    query: `# The tokens of one chain: change the variable
# below to see another chain's.
query TokensOfOneChain($srcChainKey: String!) {
  tokens(srcChainKey: $srcChainKey) {
    symbol
    address
    decimals
    isBridgeable
    price {
      usd
      asOf
    }
    chain {
      name
      nativeCurrency {
        symbol
      }
    }
  }
}
`,
    variables: '{\n  "srcChainKey": "ethereum"\n}',
  },
  {
    query: `# Tokens by what a person types: symbol, name,
# chain, or a pasted address.
query FindTokens($query: String, $after: String) {
  tokenSearch(query: $query, first: 10, after: $after) {
    totalCount
    edges {
      node {
        symbol
        name
        address
        decimals
        isBridgeable
        chain {
          name
        }
      }
    }
    pageInfo {
      hasNextPage
      endCursor
    }
  }
}
`,
    variables: '{\n  "query": "usdc arb"\n}',
  },
  {
    query: `# Where a token can be moved to, by chain.
query WhereTo($srcChainKey: String!, $srcToken: String!) {
  destinations(srcChainKey: $srcChainKey, srcToken: $srcToken) {
    chain {
      name
    }
    tokens {
      symbol
      decimals
      address
    }
  }
}
`,
    variables:
      '{\n  "srcChainKey": "ethereum",\n  "srcToken": "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48"\n}',
  },
  {
    query: `# One token and one chain, looked up. The letter
# case of a hex address does not matter.
query LookUp {
  token(chainKey: "ethereum", address: "0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48") {
    symbol
    name
    decimals
    isNative
    price {
      usd
    }
  }
  chain(chainKey: "ethereum") {
    name
    caip2
    tokenCount
  }
}
`,
  },
  {
    query: `# How old the answers are, and what last failed.
query StateOfTheListings {
  listings {
    name
    source
    state
    ageSeconds
    takenAt
    rows
    rejectedRows
    lastFailure {
      code
      message
      at
    }
  }
}
`,
  },
];
