import { describe, expect, it } from 'vitest';
import { demoChains } from '../../fixtures/demo.js';
import { createTestGateway } from '../../support/test-gateway.js';

async function keysOf(args: string): Promise<string[]> {
  const { query } = await createTestGateway();
  const { data, errors } = await query<{ chains: { chainKey: string }[] }>(`{ chains${args} { chainKey } }`);
  expect(errors).toBeUndefined();
  return data?.chains.map(({ chainKey }) => chainKey) ?? [];
}

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
      kaia: 'klaytn',
      bnb: 'bsc',
      'BNB Chain': 'bsc',
      bnbchain: 'bsc',
      vana: 'islander',
      hyperevm: 'hyperliquid',
      '0g': 'og',
      'zksync-era': 'zksync',
      op: 'optimism',
      opmainnet: 'optimism',
      avax: 'avalanche',
      matic: 'polygon',
      xdai: 'gnosis',
      ftm: 'fantom',
      viction: 'tomo',
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

  it('gives all chains, in their order, for a blank search', async () => {
    const all = demoChains.map(({ chainKey }) => chainKey);
    for (const args of ['', '(search: "")', '(search: "  ")', '(search: null, chainTypes: null)']) {
      expect(await keysOf(args)).toEqual(all);
    }
  });
});

describe('chains(chainTypes:)', () => {
  it('gives the chains of any of the types, in their order, ignoring letter case', async () => {
    const expected = demoChains.filter(({ chainType }) => ['solana', 'aptos'].includes(chainType));
    expect(await keysOf('(chainTypes: ["SOLANA", "Aptos", "nope"])')).toEqual(
      expected.map(({ chainKey }) => chainKey),
    );
  });

  it('gives none for an empty list', async () => {
    expect(await keysOf('(chainTypes: [])')).toEqual([]);
  });

  it('combines with search: the chains must match both', async () => {
    expect(await keysOf('(search: "m", chainTypes: ["aptos"])')).toEqual(
      demoChains
        .filter(({ chainType, chainKey, name }) => chainType === 'aptos' && /m/i.test(`${chainKey} ${name}`))
        .map(({ chainKey }) => chainKey),
    );
  });
});
