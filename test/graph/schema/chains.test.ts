/** Chains are found by other names than their key, and kept in the order of the listing. */
import { expect, it } from 'vitest';
import { demoChains } from '../../fixtures/demo.js';
import { createTestGateway, dataOf } from '../../support/test-gateway.js';

async function keysOf(args: string): Promise<string[]> {
  const { query } = await createTestGateway();
  const { chains } = await dataOf(
    query<{ chains: { chainKey: string }[] }>(`{ chains${args} { chainKey } }`),
  );
  return chains.map(({ chainKey }) => chainKey);
}

const demoKeys = (isMeant: (chain: (typeof demoChains)[number]) => boolean) =>
  demoChains.filter(isMeant).map(({ chainKey }) => chainKey);

const MEANT: Readonly<Record<string, string>> = {
  ...{ kaia: 'klaytn', bnb: 'bsc', 'BNB Chain': 'bsc', bnbchain: 'bsc', vana: 'islander', '0g': 'og' },
  ...{ hyperevm: 'hyperliquid', 'zksync-era': 'zksync', op: 'optimism', opmainnet: 'optimism' },
  ...{ avax: 'avalanche', matic: 'polygon', xdai: 'gnosis', ftm: 'fantom', viction: 'tomo' },
  ...{ ｋａｉａ: 'klaytn', binance: 'bsc', 'arb one': 'arbitrum', '8453': 'base', 'EIP155:8453': 'base' },
};

it('chains are found by other names than their key', async () => {
  const { query } = await createTestGateway();
  for (const [search, chainKey] of Object.entries(MEANT)) {
    const { data } = await query<{ chain: null; chains: { chainKey: string }[] }>(
      'query ($search: String!) { chain(chainKey: $search) { name } chains(search: $search) { chainKey } }',
      { search },
    );
    expect(data?.chain, search).toBeNull();
    expect(data?.chains, search).toContainEqual({ chainKey });
  }
  expect(await keysOf('(search: "  BSC ")')).toEqual(['bsc']);
  expect(await keysOf('(search: "eip155:1")')).toEqual(['ethereum']);
  expect(await keysOf('(search: "1")')).toEqual(expect.arrayContaining(['ethereum', 'solana']));
});

it.each<[args: string, keys: readonly string[]]>([
  ...['phoenix', 'eip155:999999', 'no such chain'].map((text): [string, []] => [`(search: "${text}")`, []]),
  ...['', '(search: "")', '(search: "  ")', '(search: null, chainTypes: null)'].map(
    (args): [string, readonly string[]] => [args, demoKeys(() => true)],
  ),
  [
    '(chainTypes: ["SOLANA", "Aptos", "nope"])',
    demoKeys(({ chainType }) => /^(solana|aptos)$/.test(chainType)),
  ],
  ['(chainTypes: [])', []],
  [
    '(search: "m", chainTypes: ["aptos"])',
    demoKeys((chain) => chain.chainType === 'aptos' && /m/i.test(`${chain.chainKey} ${chain.name}`)),
  ],
])('chains%s gives the chains that match all conditions, in the order of the listing', async (args, keys) => {
  expect(await keysOf(args)).toEqual(keys);
});
