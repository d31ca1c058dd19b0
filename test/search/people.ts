/** Queries that people type into the token search, and the rows they mean. */
export interface TypedQuery {
  readonly typed: string;
  /**
   * The rows of the demo listing that are meant, as `SYMBOL chainKey`. A single row must come first. Several rows
   * must be among the first three. No rows: nothing may be found, since any row would be a guess.
   */
  readonly rows: readonly string[];
  /** The suggestion that must be given if nothing is found. Without it, there must be none. */
  readonly didYouMean: string | undefined;
}

/**
 * Reads queries, separated by `|`: `typed → rows`, `typed → ?suggestion`, or `typed → row ?suggestion`, for which a
 * suggestion is enough in place of the row. Nothing may be found for a query without an arrow.
 */
function queries(text: string): readonly TypedQuery[] {
  return text
    .trim()
    .split(/\s*\|\s*/)
    .map((query) => {
      const [typed = '', meant = ''] = query.split(' → ');
      const [rows = '', didYouMean] = meant.split('?');
      return { typed, rows: rows.trim() === '' ? [] : rows.trim().split(', '), didYouMean };
    });
}

const FIRST_OF_ALL = { rows: ['ETH ethereum', 'USDC ethereum'], didYouMean: undefined };

export const TYPED: Readonly<Record<string, readonly TypedQuery[]>> = {
  symbols: queries(`
    usdc → USDC ethereum | USDT → USDT ethereum | eth → ETH ethereum | weth → WETH mantle, WETH plasma |
    wbtc → WBTC ethereum | usde → USDe ethereum | eurc → EURC ethereum | stg → STG ethereum | op → OP optimism |
    cbe → cbETH ethereum, cbETH base | pyu → PYUSD ethereum`),
  names: queries(`
    tether → USDT ethereum | usd coin → USDC ethereum | ether → ETH ethereum | wrapped btc → WBTC ethereum |
    bitcoin → BTC.b ethereum | coinbase → cbETH ethereum, cbETH base | pancakeswap → CAKE base, CAKE bsc |
    paypal → PYUSD ethereum | layer zero → ZRO ethereum | layerzero → ZRO ethereum | stargate → STG ethereum |
    staked usde → sUSDe ethereum | rocket pool → rETH ethereum | pudgy penguins → PENGU solana |
    curve dao → CRV ethereum | yearn → YFI ethereum | wrapped ether → WETH ethereum | binance coin → BNB bsc |
    toncoin → TON ton | paypal usd → PYUSD ethereum | chainlink → LINK ethereum | worldcoin → WLD ethereum |
    usd coin base → USDC base | layerzero token → ZRO ethereum | ether arbitrum → ETH arbitrum |
    lido → LDO ethereum | maker → MKR ethereum | compound → COMP ethereum | the graph → GRT ethereum |
    ethereum name service → ENS ethereum | optimism token → OP optimism | ether base → ETH base |
    wrapped eth → WETH mantle, WETH plasma | wrapped eth mantle → WETH mantle | wrapped steth → wstETH ethereum |
    wrapped eeth → weETH ethereum | wrapped → WBTC ethereum | wrapped bitcoin → WBTC ethereum |
    wrapped ethereum → WETH mantle, WETH plasma`),
  'names of chains': queries(`
    ethereum → ETH ethereum, USDC ethereum, USDT ethereum | base → ETH base, USDC base, USDT base |
    arbitrum → ETH arbitrum, USDC arbitrum | optimism → ETH optimism, USDC optimism |
    solana → USDC solana, USDT solana | zksync era → ETH zksync | ink → USDC ink, USDC.e ink |
    8453 → ETH base, USDC base, USDT base | eip155:42161 → ETH arbitrum, USDC arbitrum`),
  'brand names of chains': queries(`
    binance → USDC bsc, USDT bsc | bnb → BNB bsc | matic → MATIC polygon | avax → AVAX avalanche |
    kaia → KAIA klaytn | klaytn → KAIA klaytn | hyperevm → HYPE hyperliquid |
    usdc world chain → USDC worldchain | rsk → RBTC rootstock | apechain usdc → USDC.e ape`),
  'a chain, and so its native asset': queries(`
    solana → SOL solana | polygon → MATIC polygon | pol → MATIC polygon | klay → KAIA klaytn |
    avalanche → AVAX avalanche | tron → TRX tron | sonic → S sonic | hyperliquid → HYPE hyperliquid |
    mantle → MNT mantle | berachain → BERA bera | gnosis → XDAI gnosis | aptos → APT aptos |
    starknet → STRK starknet | bsc → BNB bsc | bnb smart chain → BNB bsc | arbitrum one → ETH arbitrum |
    story → IP story | plume → PLUME plumephoenix | moonbeam → GLMR moonbeam | xdai → XDAI gnosis |
    cronos → CRO cronosevm | bnb chain → BNB bsc | zksync → ETH zksync |
    ethereum mainnet → ETH ethereum | op mainnet → ETH optimism, USDC optimism`),
  'standards of tokens': queries(`
    usdt trc20 → USDT tron | USDT (TRC20) → USDT tron | usdt-trc20 → USDT tron | usdc erc20 → USDC ethereum |
    usdt erc-20 → USDT ethereum | usdt bep20 → USDT bsc | usdc spl → USDC solana`),
  'symbols with marks': queries(`
    usdc.e → USDC.e optimism | usdce → USDC.e optimism | USD₮0 → USDT0 optimism | usdt0 → USDT0 optimism |
    usd₮ → USDT ethereum | s*usdc → S*USDC ethereum | m.usdt → m.USDT metis | $usdc → USDC ethereum |
    btc.b → BTC.b ethereum`),
  'a token and a chain, in either order': queries(`
    eth base → ETH base | base eth → ETH base | arbitrum usdt → USD₮0 arbitrum | tron usdt → USDT tron |
    usdc 8453 → USDC base | sol usdc → USDC solana | bnb usdt → USDT bsc |
    tether arb → USD₮0 arbitrum ?usdt arb | plasma usdt → USDT0 plasma | weth base → WETH base |
    op eth → ETH optimism | usdc eth → USDC ethereum | cake bsc → CAKE bsc | stg bnb → STG bsc |
    pendle base → PENDLE base | usdt on bsc → USDT bsc | btc on bitlayer → BTC bitlayer |
    usdt0 arbitrum → USD₮0 arbitrum | link base | wbtc arbitrum | susde arb → sUSDe arbitrum |
    metis on metis → METIS metis | usdc avalanche c-chain → USDC avalanche |
    usdc bridged on optimism → USDC.e optimism | weth wrapped base → WETH base`),
  'words that say little': queries(`
    sol token → SOL solana | eth coin → ETH ethereum | native eth → ETH ethereum |
    bridged usdc → USDC.e optimism | lp usdc → S*USDC ethereum | steth → wstETH ethereum |
    usdc на base → USDC base | usdc en base → USDC base | wrapped bnb → ?wbtc bnb | bridged eth | stables | busd`),
  typos: queries(`
    USDCC → ?usdc | uscd → ?usdc | etherem → ?ethereum | arbitrm → ?arbitrum | optimsim → ?optimism |
    solanna → ?solana | coinbsae → ?coinbase | usdc arbitrm → ?usdc arbitrum | optmism → ?optimism |
    polgyon → ?polygon | ethereun → ?ethereum | chainlnk → ?chainlink | usdt arbitrun → ?usdt arbitrum |
    avalanch → AVAX avalanche | udsc → ?usdc | usdtt → ?usdt | weht → ?weth | wbct → ?wbtc | cbbct → ?cbbtc |
    pednle → ?pendle | bsae → ?base | pyuds → ?pyusd | tehter → ?tether | binanse → ?binance |
    worldcon → ?worldcoin | etherium → ?ethereum | solona → ?solana | usdcc on arbitrm → ?usdc on arbitrum |
    usdcc/base → ?usdc/base | pudgy pengiuns → ?pudgy penguins | bitcoins → ?bitcoin`),
  // The listing has the addresses of Tron in hex, and people paste them from Tron's explorers and wallets.
  addresses: queries(`
    TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t → USDT tron | TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t, → USDT tron |
    usdt TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t → USDT tron | TKkvjWuAYrNQkbo3onBDhCU77WtNPByD5a → PYUSD0 tron |
    TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6T | T9yD14Nj9j7xAB4dbGeiX9h8unkKHxuWwb | 0x8335…2913 → USDC base |
    https://tronscan.org/#/token20/TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t → USDT tron |
    https://solscan.io/token/EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v → USDC solana |
    https://tonviewer.com/EQCxE6mUtQJKFnGfaROTKOt1lZbDiiX1kCixRv7Nw2Id_sDs?section=jetton → USDT ton |
    solana:EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v → USDC solana | EPjF…Dt1v → USDC solana |
    Es9vMF...wNYB → USDT solana | EQCxE6…_sDs → USDT ton | usdc...base → USDC base`),
  // The last letter of the last query is Cyrillic.
  'emoji and other alphabets': queries(
    `usdc 🚀 → USDC ethereum | ＵＳＤＣ → USDC ethereum | 🚀 | биткоин | 以太坊 | usd\u0441`,
  ),
  nothing: ['', '  '].map((typed) => ({ typed, ...FIRST_OF_ALL })),
};

/** The same for a search of bridgeable tokens only: if the token that is meant is hidden, another would be a guess. */
export const TYPED_FOR_BRIDGEABLE = queries(`
    wrapped ether → WETH mantle, WETH plasma | wrapped bitcoin → WBTC ethereum | usdc avax → USDC avalanche |
    hype → USDC hyperliquid | eth zksync | eth world chain | savings dai`);
