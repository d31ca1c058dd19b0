import { describe, expect, it } from 'vitest';
import { demoChains } from '../../fixtures/demo.js';
import { createTestGateway, dataOf } from '../../support/test-gateway.js';

async function keysOf(args: string): Promise<string[]> {
  const { query } = await createTestGateway();
  const { chains } = await dataOf(
    query<{ chains: { chainKey: string }[] }>(`{ chains${args} { chainKey } }`),
  );
  return chains.map(({ chainKey }) => chainKey);
}

/** The keys of the demo chains for which this is true. */
const demoKeys = (isMeant: (chain: (typeof demoChains)[number]) => boolean) =>
  demoChains.filter(isMeant).map(({ chainKey }) => chainKey);

describe('chains(search:)', () => {
  it.each([
    ['  KAIA ', 'klaytn'],
    ['ｋａｉａ', 'klaytn'],
    ['bsc', 'bsc'],
    ['binance', 'bsc'],
    ['arb one', 'arbitrum'],
    ['8453', 'base'],
    ['EIP155:8453', 'base'],
    ['eip155:1', 'ethereum'],
    ['1', 'ethereum'],
    ['1', 'solana'],
  ])('"%s" finds %s', async (search, chainKey) => {
    expect(await keysOf(`(search: "${search}")`)).toContain(chainKey);
  });

  it.each(['phoenix', 'eip155:999999', 'no such chain'])('"%s" finds none', async (search) => {
    expect(await keysOf(`(search: "${search}")`)).toEqual([]);
  });

  it('finds the intended chain for a wrong key', async () => {
    const { query } = await createTestGateway();
    const meant = {
      ...{ kaia: 'klaytn', bnb: 'bsc', 'BNB Chain': 'bsc', bnbchain: 'bsc', vana: 'islander' },
      ...{
        hyperevm: 'hyperliquid',
        '0g': 'og',
        'zksync-era': 'zksync',
        op: 'optimism',
        opmainnet: 'optimism',
      },
      ...{ avax: 'avalanche', matic: 'polygon', xdai: 'gnosis', ftm: 'fantom', viction: 'tomo' },
    };
    for (const [search, chainKey] of Object.entries(meant)) {
      const { data } = await query<{ chain: null; chains: { chainKey: string }[] }>(
        'query ($search: String!) { chain(chainKey: $search) { name } chains(search: $search) { chainKey } }',
        { search },
      );
      expect(data?.chain, search).toBeNull();
      expect(data?.chains, search).toContainEqual({ chainKey });
    }
  });

  it.each(['', '(search: "")', '(search: "  ")', '(search: null, chainTypes: null)'])(
    'gives all chains, in their order, for a blank search: %s',
    async (args) => expect(await keysOf(args)).toEqual(demoKeys(() => true)),
  );
});

describe('chains(chainTypes:)', () => {
  it.each([
    [
      '(chainTypes: ["SOLANA", "Aptos", "nope"])',
      demoKeys(({ chainType }) => /^(solana|aptos)$/.test(chainType)),
    ],
    ['(chainTypes: [])', []],
    [
      '(search: "m", chainTypes: ["aptos"])',
      demoKeys((chain) => chain.chainType === 'aptos' && /m/i.test(`${chain.chainKey} ${chain.name}`)),
    ],
  ])(
    'gives the chains of any of the types that also match the search, in their order: %s',
    async (args, keys) => {
      expect(await keysOf(args)).toEqual(keys);
    },
  );
});
