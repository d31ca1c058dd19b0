/** A query that the playground opens with. */
export interface Tab {
  readonly query: string;
  readonly variables?: string;
}

const TABS: readonly Tab[] = [
  {
    query: `# The chains, and what each of them charges fees in. Press the button with the triangle.
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
    query: `# The tokens of one chain. Another chain: change the variable below.
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
    query: `# One token and its chain, looked up; the letter case of a hex address does not matter.
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
    query: `# How old the answers are, and what last went wrong.
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

const DEMO_NOTE = '# Demo data: prices and some flags are made up. Set UPSTREAM_URL for a real listing.\n';

/** The tabs, each with a note on top where what they show is demo data. */
export function tabsFor(isDemo: boolean): readonly Tab[] {
  return isDemo ? TABS.map((tab) => ({ ...tab, query: DEMO_NOTE + tab.query })) : TABS;
}
