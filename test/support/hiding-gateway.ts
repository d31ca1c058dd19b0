/** Gateways whose operator's rules hide some rows. The names of hidden rows contain words that no other row has. */
import { expect } from 'vitest';
import { chainRow, idOf, tokenRow } from '../fixtures/rows.js';
import { temporaryFile } from './ends.js';
import { type FakeUpstream, json, startFakeUpstream } from './fake-upstream.js';
import { createTestGateway, type TestGateway, type TestGatewayOptions } from './test-gateway.js';
import { FRESH } from './test-server.js';

export const address = (digits: string) => `0x${digits.padStart(40, '0')}`;
export const NATIVE = '0xEeeeeEeeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

/** The name of each hidden row contains one of these words. */
const HIDDEN = ['xanadu', 'concealed'];
export const HIDDEN_CHAIN = { id: 100_100, key: 'xanadu' };
export const SHOWN = address('b1');
export const HIDDEN_BY_KEY = address('c0ffee01');
export const HIDDEN_BY_CAIP = address('c0ffee02');
/** The address of a token that only routes contain. */
export const UNLISTED = address('f1');
export const HIDDEN_UNLISTED = address('c0ffee03');
export const HIDDEN_ADDRESSES = ['1', '2', '3', '4', '5'].map((nth) => address(`c0ffee0${nth}`));

export const chains = [
  chainRow('xanadu', { chainId: HIDDEN_CHAIN.id }),
  chainRow('arbitrum', { chainId: 42_161 }),
  chainRow('ethereum', { chainId: 1 }),
  chainRow('base', { chainId: 8_453 }),
];
const concealed = { symbol: 'CONCEALED', name: 'Concealed coin' };
export const tokens = [
  tokenRow('xanadu', address('c0ffee04'), { symbol: 'XANADU', name: 'Xanadu coin' }),
  tokenRow('xanadu', NATIVE, { symbol: 'XANADUETH', name: 'Xanadu ether', decimals: 18 }),
  tokenRow('arbitrum', address('a1'), { symbol: 'ARBONE', name: 'Arb coin' }),
  tokenRow('ethereum', address('e1'), { symbol: 'MAINNET', name: 'Main coin' }),
  tokenRow('ethereum', HIDDEN_BY_CAIP, { ...concealed, symbol: 'CONCEALED2' }),
  tokenRow('base', HIDDEN_BY_KEY, concealed),
  tokenRow('base', SHOWN, { symbol: 'BASED', name: 'Base coin' }),
  tokenRow('base', NATIVE, { symbol: 'ETH', name: 'Ether', decimals: 18 }),
];
const routes = [
  ...tokens,
  tokenRow('base', UNLISTED, { symbol: 'UNLISTED' }),
  tokenRow('base', HIDDEN_UNLISTED, { ...concealed, symbol: 'CONCEALED3' }),
  tokenRow('nowhere', address('c0ffee05'), { ...concealed, symbol: 'CONCEALED4' }),
];
export const ORDER = ['base', 'ethereum', 'arbitrum'];
export const RULES = `
chains base ethereum xanadu eip155:42161
hide eip155:${HIDDEN_CHAIN.id}
hide base:${HIDDEN_BY_KEY.toUpperCase()}
hide eip155:1/erc20:${HIDDEN_BY_CAIP}
hide base:${HIDDEN_UNLISTED}`;

export const HIDDEN_IDS = [
  idOf('Chain', 'xanadu'),
  ...[HIDDEN_BY_KEY, HIDDEN_UNLISTED].map((on) => idOf('Token', 'base', on)),
  idOf('Token', 'ethereum', HIDDEN_BY_CAIP),
  idOf('Token', 'xanadu', address('c0ffee04')),
];

export async function startUpstream(): Promise<FakeUpstream> {
  const upstream = await startFakeUpstream({ chains, tokens });
  upstream.plan('routes', json({ tokens: routes }));
  return upstream;
}

/** Limits that a walk through the whole graph cannot reach. */
const NO_LIMITS = { maxRoutesPerOperation: 1000, maxDepth: 100, maxAliases: 10_000 };

export async function start(rules: string, options: TestGatewayOptions = {}): Promise<TestGateway> {
  return createTestGateway({
    firstPauseMs: 10,
    ...options,
    upstream: options.upstream ?? (await startUpstream()),
    config: {
      ...FRESH,
      ...NO_LIMITS,
      upstreamRetries: 0,
      listingRules: temporaryFile(rules),
      ...options.config,
    },
  });
}

type Rows<Row> = Readonly<Record<string, readonly Row[] | null>>;

export const served = async ({ query }: TestGateway) =>
  (await query<Rows<{ address: string }>>('{ tokens { address } }')).data?.tokens?.map((row) => row.address);
export const servedChains = async ({ query }: TestGateway) =>
  (await query<Rows<{ chainKey: string }>>('{ chains { chainKey } }')).data?.chains?.map(
    (row) => row.chainKey,
  );

export function expectNothingHidden(text: string, where: string): void {
  const shown = text.toLowerCase();
  for (const word of [...HIDDEN, ...HIDDEN_ADDRESSES, 'c0ffee']) expect(shown, where).not.toContain(word);
  for (const id of HIDDEN_IDS) expect(text, where).not.toContain(id);
}
