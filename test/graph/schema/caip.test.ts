/** CAIP identifiers are valid and different, find exactly their chains and tokens, and are never guessed. */
import { AssetType, ChainId } from 'caip';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { demoChains } from '../../fixtures/demo.js';
import { chainRow, PLACEHOLDER, tokenRow, USDC } from '../../fixtures/rows.js';
import { share } from '../../support/ends.js';
import { createTestGateway, dataOf, type TestGateway } from '../../support/test-gateway.js';
import { FRESH } from '../../support/test-server.js';

const MINT = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const SOLANA = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp';

const BY_CAIP = `query ($caip2s: [String!]!, $caip19s: [String!]!) {
  chainsByCaip2(caip2s: $caip2s) { chainKey }
  tokensByCaip19(caip19s: $caip19s) { chainKey address }
}`;

interface Identified {
  readonly chains: readonly { chainKey: string; chainId: number; caip2: string | null }[];
  readonly tokens: readonly { chainKey: string; address: string; caip19: string | null }[];
}
interface ByCaip {
  readonly chainsByCaip2: readonly ({ chainKey: string } | null)[];
  readonly tokensByCaip19: readonly ({ chainKey: string; address: string } | null)[];
}

const identifiersOf = ({ query }: Pick<TestGateway, 'query'>) =>
  dataOf(query<Identified>('{ chains { chainKey chainId caip2 } tokens { chainKey address caip19 } }'));

const gatewayOver = (chains: readonly unknown[], tokens: readonly unknown[]) =>
  createTestGateway({ hasListings: true, listings: { chains, tokens }, config: FRESH });

/** Whether the package `caip`, which implements the grammar, parses an identifier and prints the same one. */
const isCaip2 = (text: string) => roundTrips(() => new ChainId(text).toString(), text);
const isCaip19 = (text: string) => roundTrips(() => new AssetType(text).toString(), text);
function roundTrips(write: () => string, text: string): boolean {
  try {
    return write() === text;
  } catch {
    return false;
  }
}

describe('over the demo listing', () => {
  const gateway = share((atEnd) => createTestGateway({ config: FRESH, atEnd }));
  let listed: Identified;
  beforeAll(async () => {
    listed = await identifiersOf(gateway);
  });
  const TYPES = new Map(demoChains.map(({ chainKey, chainType }) => [chainKey, chainType]));
  const IDS = new Map(demoChains.map(({ chainKey, chainId }) => [chainKey, chainId]));

  it('106 of 108 chains have a CAIP-2, and 468 of 587 tokens a CAIP-19, all valid and different', () => {
    const caip2s = listed.chains.flatMap(({ caip2 }) => caip2 ?? []);
    const caip19s = listed.tokens.flatMap(({ caip19 }) => caip19 ?? []);
    expect([listed.chains.length, listed.tokens.length]).toEqual([108, 587]);
    expect([...caip2s.filter(isCaip2), ...caip19s.filter(isCaip19)]).toEqual([...caip2s, ...caip19s]);
    expect(new Set(caip2s).size).toBe(106);
    expect(new Set(caip19s.map((caip19) => caip19.toLowerCase())).size).toBe(468);
    expect([caip2s.length, caip19s.length]).toEqual([106, 468]);
    const withId = listed.tokens.filter(({ caip19 }) => caip19 !== null);
    expect(new Set(withId.map(({ chainKey }) => TYPES.get(chainKey)))).toEqual(new Set(['evm', 'solana']));
    expect(withId.filter(({ address }) => address === PLACEHOLDER)).toEqual([]);
  });

  it('each chain of a registered namespace has its identifier, and the others none', () => {
    const others: Record<string, string | null> = {};
    for (const { chainKey, caip2 } of listed.chains) {
      if (TYPES.get(chainKey) === 'evm') expect(caip2).toBe(`eip155:${IDS.get(chainKey)}`);
      else others[chainKey] = caip2;
    }
    expect(others).toEqual({
      ...{ aptos: 'aptos:1', hypercore: null, iotamove: 'iota:mainnet', movement: null, solana: SOLANA },
      ...{ starknet: 'starknet:SN_MAIN', sui: 'sui:mainnet', ton: 'tvm:-239', tron: 'tron:728126428' },
    });
  });

  it('every identifier finds its chain or token, in the order of the request, without asking the upstream', async () => {
    const before = gateway.upstream.count();
    const chains = listed.chains.filter(({ caip2 }) => caip2).toReversed();
    const tokens = listed.tokens.filter(({ caip19 }) => caip19).toReversed();
    const asked = { caip2s: chains.map(({ caip2 }) => caip2), caip19s: tokens.map(({ caip19 }) => caip19) };
    expect(await dataOf(gateway.query<ByCaip>(BY_CAIP, asked))).toEqual({
      chainsByCaip2: chains.map(({ chainKey }) => ({ chainKey })),
      tokensByCaip19: tokens.map(({ chainKey, address }) => ({ chainKey, address })),
    });
    expect(gateway.upstream.count()).toBe(before);
  });

  it('unknown and malformed identifiers are null without an error', async () => {
    const caip2s =
      ',:,eip155,eip155:,:1,eip155:01,eip155:1 , eip155:1,eip155:0x1,eip155:-1,EIP155:1,eip155:1:2'
        .split(',')
        .concat('eip155:1/erc20:0x', 'eip155:999999999', 'ton:1', 'solana:1', 'tron:0x2b6653dc', 'ethereum')
        .concat('__proto__', 'é'.repeat(9), 'x'.repeat(100_000));
    const starts =
      'eip155:8453/erc20:,eip155:1/,eip155:1/erc721:,eip155:1/token:,eip155:1/erc20: ,/erc20:'.split(',');
    const caip19s = ',/,:,eip155:1,eip155:1/,eip155:1/erc20,eip155:1/erc20:,eip155:1/slip44:60'
      .split(',')
      .concat(starts.map((start) => start + USDC))
      .concat([PLACEHOLDER, `${USDC}/1`, USDC + ' '.repeat(100_000)].map((end) => `eip155:1/erc20:${end}`))
      .concat(`${SOLANA}/token:${PLACEHOLDER}`, `${SOLANA}/erc20:${MINT}`)
      .concat(`${SOLANA}/token:${MINT.toLowerCase()}`, `${SOLANA.toLowerCase()}/token:${MINT}`)
      .concat(`EIP155:1/erc20:${USDC}`, `eip155:1/ERC20:${USDC}`);
    const answer = await gateway.query<ByCaip>(BY_CAIP, { caip2s, caip19s });
    expect(answer).toEqual({
      data: { chainsByCaip2: caip2s.map(() => null), tokensByCaip19: caip19s.map(() => null) },
    });
  });

  it('only valid identifiers find anything', async () => {
    const { chains, tokens } = listed;
    const known = [...chains.map(({ caip2 }) => caip2 ?? ''), ...tokens.map(({ caip19 }) => caip19 ?? '')];
    const near = fc
      .tuple(fc.constantFrom(...known), fc.nat(60), fc.string({ maxLength: 2 }))
      .map(([text, at, inserted]) => text.slice(0, at) + inserted + text.slice(at + 1));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(near, fc.string()), { maxLength: 50 }), async (texts) => {
        const found = await dataOf(gateway.query<ByCaip>(BY_CAIP, { caip2s: texts, caip19s: texts }));
        for (const [nth, text] of texts.entries()) {
          if (found.chainsByCaip2[nth]) expect(isCaip2(text), text).toBe(true);
          if (found.tokensByCaip19[nth]) expect(isCaip19(text), text).toBe(true);
        }
      }),
      { numRuns: 50 },
    );
  });
});

it('CAIP identifiers come from the key or the number of a chain, which can be above 2^31, and are never guessed', async () => {
  const expected: readonly (readonly [chainKey: string, type: string, id: number, caip2: string | null])[] = [
    ['stellar', 'stellar', 1, 'stellar:pubnet'],
    ['stellar-testnet', 'stellar', 2, null],
    ['solana', 'SOLANA', 101, SOLANA],
    ['eclipse', 'solana', 1, null],
    ['sui', 'evm', 9, 'eip155:9'],
    ['near', 'near', 1, null],
    ['cosmoshub', 'cosmos', 4, null],
    ['zero', 'evm', 0, null],
    ['negative', 'evm', -5, null],
    ['large', 'evm', Number.MAX_SAFE_INTEGER, `eip155:${Number.MAX_SAFE_INTEGER}`],
    ['shasta', 'tron', 2494104990, 'tron:2494104990'],
  ];
  const tokens: readonly (readonly [chainKey: string, address: string, caip19: string | null])[] = [
    ['eclipse', MINT, null],
    ['solana', MINT, `${SOLANA}/token:${MINT}`],
    ['solana', '0x12', null],
    ['sui', '0x12', null],
    ['sui', USDC, `eip155:9/erc20:${USDC}`],
    ['shasta', USDC, null],
    ['zero', USDC, null],
    ['unlisted', USDC, null],
  ];
  const ids = await identifiersOf(
    await gatewayOver(
      expected.map(([chainKey, chainType, chainId]) => chainRow(chainKey, { chainType, chainId })),
      tokens.map(([chainKey, address]) => tokenRow(chainKey, address)),
    ),
  );
  expect(ids.chains).toEqual(expected.map(([chainKey, , chainId, caip2]) => ({ chainKey, chainId, caip2 })));
  expect(ids.tokens.map(({ caip19 }) => caip19)).toEqual(tokens.map(([, , caip19]) => caip19));
});

it('native assets have no CAIP identifiers, even with an address of their own', async () => {
  const native = { chainKey: 'celo', name: 'Celo', symbol: 'CELO', decimals: 18, address: USDC };
  const { query } = await gatewayOver(
    [chainRow('celo', { chainId: 42220, nativeCurrency: native })],
    [tokenRow('celo', USDC.toLowerCase()), tokenRow('celo', PLACEHOLDER)],
  );
  expect((await identifiersOf({ query })).tokens.map(({ caip19 }) => caip19)).toEqual([null, null]);
  const asked = { caip2s: [], caip19s: [`eip155:42220/erc20:${USDC}`] };
  expect((await query<ByCaip>(BY_CAIP, asked)).data?.tokensByCaip19).toEqual([null]);
});
