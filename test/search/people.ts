/** Queries that people type into the token search, and the rows they mean. */
export interface TypedQuery {
  readonly typed: string;
  /**
   * The rows meant, as `SYMBOL chainKey`, of the demo listing. One row must come first; several must be the first
   * three or among them; none means that nothing may be found, since any row would be a guess.
   */
  readonly rows: readonly string[];
  /** The suggestions that are allowed if nothing is found; with an empty list there must be none. */
  readonly didYouMean?: readonly string[];
  /** Whether a suggestion is enough in place of the rows. */
  readonly mayAsk?: boolean;
}

const found = (typed: string, ...rows: readonly string[]): TypedQuery => ({ typed, rows });
const notFound = (typed: string): TypedQuery => ({ typed, rows: [], didYouMean: [] });
const typo = (typed: string, ...didYouMean: readonly string[]): TypedQuery => ({
  typed,
  rows: [],
  didYouMean,
});

const foundOrAsked = (typed: string, row: string, didYouMean: string): TypedQuery => ({
  typed,
  rows: [row],
  didYouMean: [didYouMean],
  mayAsk: true,
});

const USDC_ON_BASE = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const USDC_ON_ETHEREUM = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDC_ON_SOLANA = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const STG = '0x2F6F07CDcf3588944Bf4C42aC74ff24bF56e7590';

/** Queries by kind, in the words of the people who type them. */
export const TYPED: Readonly<Record<string, readonly TypedQuery[]>> = {
  symbols: [
    found('usdc', 'USDC ethereum'),
    found('USDT', 'USDT ethereum'),
    found('eth', 'ETH ethereum'),
    found('weth', 'WETH mantle', 'WETH plasma'),
    found('wbtc', 'WBTC ethereum'),
    found('usde', 'USDe ethereum'),
    found('eurc', 'EURC ethereum'),
    found('stg', 'STG ethereum'),
    found('op', 'OP optimism'),
    found('cbe', 'cbETH ethereum', 'cbETH base'),
    found('pyu', 'PYUSD ethereum'),
  ],
  'English names': [
    found('tether', 'USDT ethereum'),
    found('usd coin', 'USDC ethereum'),
    found('ether', 'ETH ethereum'),
    found('wrapped btc', 'WBTC ethereum'),
    found('bitcoin', 'BTC.b ethereum'),
    found('coinbase', 'cbETH ethereum', 'cbETH base'),
    found('pancakeswap', 'CAKE base', 'CAKE bsc'),
    found('paypal', 'PYUSD ethereum'),
    found('layer zero', 'ZRO ethereum'),
    found('layerzero', 'ZRO ethereum'),
    found('stargate', 'STG ethereum'),
    found('staked usde', 'sUSDe ethereum'),
    found('rocket pool', 'rETH ethereum'),
    found('pudgy penguins', 'PENGU solana'),
    found('curve dao', 'CRV ethereum'),
    found('yearn', 'YFI ethereum'),
  ],
  'names of chains': [
    found('ethereum', 'ETH ethereum', 'USDC ethereum', 'USDT ethereum'),
    found('base', 'ETH base', 'USDC base', 'USDT base'),
    found('arbitrum', 'ETH arbitrum', 'USDC arbitrum'),
    found('optimism', 'ETH optimism', 'USDC optimism'),
    found('solana', 'USDC solana', 'USDT solana'),
    found('zksync era', 'ETH zksync'),
    found('ink', 'USDC ink', 'USDC.e ink'),
    found('8453', 'ETH base', 'USDC base', 'USDT base'),
    found('eip155:42161', 'ETH arbitrum', 'USDC arbitrum'),
  ],
  'brand names of chains': [
    found('binance', 'USDC bsc', 'USDT bsc'),
    found('bnb', 'BNB bsc'),
    found('matic', 'MATIC polygon'),
    found('avax', 'AVAX avalanche'),
    found('kaia', 'KAIA klaytn'),
    found('klaytn', 'KAIA klaytn'),
    found('hyperevm', 'HYPE hyperliquid'),
    found('usdc world chain', 'USDC worldchain'),
    found('rsk', 'RBTC rootstock'),
  ],
  'symbols with marks': [
    found('usdc.e', 'USDC.e optimism'),
    found('usdce', 'USDC.e optimism'),
    found('USD₮0', 'USDT0 optimism'),
    found('usdt0', 'USDT0 optimism'),
    found('usd₮', 'USDT ethereum'),
    found('s*usdc', 'S*USDC ethereum'),
    found('m.usdt', 'm.USDT metis'),
    found('$usdc', 'USDC ethereum'),
    found('btc.b', 'BTC.b ethereum'),
  ],
  'two words, in either order': [
    found('eth base', 'ETH base'),
    found('base eth', 'ETH base'),
    found('arbitrum usdt', 'USD₮0 arbitrum'),
    found('tron usdt', 'USDT tron'),
    found('usdc 8453', 'USDC base'),
    found('sol usdc', 'USDC solana'),
    found('bnb usdt', 'USDT bsc'),
  ],
  addresses: [
    found(USDC_ON_ETHEREUM, 'USDC ethereum'),
    found(USDC_ON_BASE.toLowerCase(), 'USDC base'),
    found(USDC_ON_BASE.toUpperCase(), 'USDC base'),
    found(USDC_ON_SOLANA, 'USDC solana'),
    found(USDC_ON_BASE.slice(0, 8), 'USDC base'),
    found('0xa0B869', 'USDC ethereum'),
    found(`https://basescan.org/token/${USDC_ON_BASE}`, 'USDC base'),
    found(`eip155:8453/erc20:${USDC_ON_BASE}`, 'USDC base'),
    found(`eip155:137/erc20:${STG.toLowerCase()}`, 'STG polygon'),
    notFound(USDC_ON_SOLANA.toLowerCase()),
    notFound(`eip155:1/erc20:${USDC_ON_BASE}`),
    notFound(`0x${'12'.repeat(20)}`),
  ],
  typos: [
    typo('usdcc', 'usdc'),
    typo('uscd', 'usdc'),
    typo('etherem', 'ethereum'),
    typo('arbitrm', 'arbitrum'),
    typo('optimsim', 'optimism'),
    typo('solanna', 'solana'),
    typo('coinbsae', 'coinbase'),
    typo('usdc arbitrm', 'usdc arbitrum'),
  ],
  'tokens that are not listed': [notFound('usdd'), notFound('usds'), notFound('wbeth'), notFound('fdusd')],
  'emoji and other alphabets': [
    found('usdc 🚀', 'USDC ethereum'),
    found('ＵＳＤＣ', 'USDC ethereum'),
    notFound('🚀'),
    notFound('биткоин'),
    notFound('以太坊'),
    // The last letter is Cyrillic.
    notFound('usd\u0441'),
  ],
  nothing: [found('', 'ETH ethereum', 'USDC ethereum'), found('  ', 'ETH ethereum', 'USDC ethereum')],
};

/** More queries, written before the order was changed for them: half gave the right rows then. */
export const TYPED_LATER: Readonly<Record<string, readonly TypedQuery[]>> = {
  'whole names': [
    found('wrapped ether', 'WETH ethereum'),
    found('binance coin', 'BNB bsc'),
    found('toncoin', 'TON ton'),
    found('paypal usd', 'PYUSD ethereum'),
    found('chainlink', 'LINK ethereum'),
    found('worldcoin', 'WLD ethereum'),
    found('usd coin base', 'USDC base'),
    found('layerzero token', 'ZRO ethereum'),
    found('ether arbitrum', 'ETH arbitrum'),
  ],
  'a chain, and so its native asset': [
    found('solana', 'SOL solana'),
    found('polygon', 'MATIC polygon'),
    found('pol', 'MATIC polygon'),
    found('klay', 'KAIA klaytn'),
    found('avalanche', 'AVAX avalanche'),
    found('tron', 'TRX tron'),
    found('sonic', 'S sonic'),
    found('hyperliquid', 'HYPE hyperliquid'),
    found('mantle', 'MNT mantle'),
    found('berachain', 'BERA bera'),
    found('gnosis', 'XDAI gnosis'),
    found('aptos', 'APT aptos'),
    found('starknet', 'STRK starknet'),
    found('bsc', 'BNB bsc'),
    found('bnb smart chain', 'BNB bsc'),
    found('arbitrum one', 'ETH arbitrum'),
    found('zksync', 'ETH zksync'),
    found('ethereum mainnet', 'ETH ethereum'),
    found('op mainnet', 'ETH optimism', 'USDC optimism'),
  ],
  'standards of tokens': [
    found('usdt trc20', 'USDT tron'),
    found('USDT (TRC20)', 'USDT tron'),
    found('usdt-trc20', 'USDT tron'),
    found('usdc erc20', 'USDC ethereum'),
    found('usdt erc-20', 'USDT ethereum'),
    found('usdt bep20', 'USDT bsc'),
    found('usdc spl', 'USDC solana'),
  ],
  'a token and a chain': [
    foundOrAsked('tether arb', 'USD₮0 arbitrum', 'usdt arb'),
    found('plasma usdt', 'USDT0 plasma'),
    found('weth base', 'WETH base'),
    found('op eth', 'ETH optimism'),
    found('usdc eth', 'USDC ethereum'),
    found('cake bsc', 'CAKE bsc'),
    found('stg bnb', 'STG bsc'),
    found('susde arb', 'sUSDe arbitrum'),
    found('metis on metis', 'METIS metis'),
    found('usdc avalanche c-chain', 'USDC avalanche'),
  ],
  'words that say little': [
    found('sol token', 'SOL solana'),
    found('eth coin', 'ETH ethereum'),
    found('native eth', 'ETH ethereum'),
    found('bridged usdc', 'USDC.e optimism'),
    found('lp usdc', 'S*USDC ethereum'),
    found('steth', 'wstETH ethereum'),
    foundOrAsked('wrapped bitcoin', 'WBTC ethereum', 'wrapped btc'),
    notFound('stables'),
    notFound('busd'),
  ],
  typos: [
    typo('optmism', 'optimism'),
    typo('polgyon', 'polygon'),
    typo('ethereun', 'ethereum'),
    typo('chainlnk', 'chainlink'),
    typo('usdt arbitrun', 'usdt arbitrum'),
    found('avalanch', 'AVAX avalanche'),
  ],
};
