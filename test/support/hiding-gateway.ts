/** Gateways whose operator's rules hide some rows. The names of hidden rows contain words that no other row has. */
import { expect } from 'vitest';
import { chainRow, idOf, tokenRow } from '../fixtures/rows.js';
import { temporaryFile } from './ends.js';
import { type FakeAnswers, type FakeUpstream, json, startFakeUpstream } from './fake-upstream.js';
import { createTestGateway, type TestOptions } from './test-gateway.js';
import { FRESH } from './test-server.js';

export const address = (digits: string) => `0x${digits.padStart(40, '0')}`;
export const NATIVE = '0xEeeeeEeeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE';

/** The name of each hidden row contains one of these words. */
const WORDS = ['xanadu', 'concealed'];
export const SHOWN = address('b1');
/** The address of a token that only routes contain. */
export const UNLISTED = address('f1');
const [byKey = '', byCaip = '', unlisted = '', ofChain = '', ofRoutes = ''] = ['1', '2', '3', '4', '5'].map(
  (nth) => address(`c0ffee0${nth}`),
);
/** The id of the hidden chain, and the hidden addresses: by the rule that hides them, or where only they are. */
export const HIDDEN = {
  chainId: 100_100,
  byKey,
  byCaip,
  unlisted,
  ofChain,
  addresses: [byKey, byCaip, unlisted, ofChain, ofRoutes],
  ids: [
    idOf('Chain', 'xanadu'),
    ...[byKey, unlisted].map((on) => idOf('Token', 'base', on)),
    idOf('Token', 'ethereum', byCaip),
    idOf('Token', 'xanadu', ofChain),
  ],
};

export const chains = [
  chainRow('xanadu', { chainId: HIDDEN.chainId }),
  chainRow('arbitrum', { chainId: 42_161 }),
  chainRow('ethereum', { chainId: 1 }),
  chainRow('base', { chainId: 8_453 }),
];
const concealed = { symbol: 'CONCEALED', name: 'Concealed coin' };
export const tokens = [
  tokenRow('xanadu', ofChain, { symbol: 'XANADU', name: 'Xanadu coin' }),
  tokenRow('xanadu', NATIVE, { symbol: 'XANADUETH', name: 'Xanadu ether', decimals: 18 }),
  tokenRow('arbitrum', address('a1'), { symbol: 'ARBONE', name: 'Arb coin' }),
  tokenRow('ethereum', address('e1'), { symbol: 'MAINNET', name: 'Main coin' }),
  tokenRow('ethereum', byCaip, { ...concealed, symbol: 'CONCEALED2' }),
  tokenRow('base', byKey, concealed),
  tokenRow('base', SHOWN, { symbol: 'BASED', name: 'Base coin' }),
  tokenRow('base', NATIVE, { symbol: 'ETH', name: 'Ether', decimals: 18 }),
];
const routes = [
  ...tokens,
  tokenRow('base', UNLISTED, { symbol: 'UNLISTED' }),
  tokenRow('base', unlisted, { ...concealed, symbol: 'CONCEALED3' }),
  tokenRow('nowhere', ofRoutes, { ...concealed, symbol: 'CONCEALED4' }),
];
export const ORDER = ['base', 'ethereum', 'arbitrum'];
export const RULES = `
chains base ethereum xanadu eip155:42161
hide eip155:${HIDDEN.chainId}
hide base:${byKey.toUpperCase()}
hide eip155:1/erc20:${byCaip}
hide base:${unlisted}`;

export const startUpstream = (answers: FakeAnswers = {}): Promise<FakeUpstream> =>
  startFakeUpstream({ chains, tokens, routes: json({ tokens: routes }), ...answers });

/** Limits that a walk through the whole graph cannot reach. */
const NO_LIMITS = { maxRoutesPerOperation: 1000, maxDepth: 100, maxAliases: 10_000, upstreamRetries: 0 };

export async function start(rules: string, options: TestOptions = {}) {
  const gateway = await createTestGateway({
    firstPauseMs: 10,
    ...options,
    upstream: options.upstream ?? (await startUpstream()),
    config: { ...FRESH, ...NO_LIMITS, listingRules: temporaryFile(rules), ...options.config },
  });
  const rowsOf = async (query: string) => {
    type Rows = Readonly<Record<string, readonly { address: string; chainKey: string }[] | null>>;
    return Object.values((await gateway.query<Rows>(query)).data ?? {})[0];
  };
  return {
    ...gateway,
    /** The addresses of the served tokens. */
    served: async () => (await rowsOf('{ tokens { address } }'))?.map(({ address }) => address),
    servedChains: async () => (await rowsOf('{ chains { chainKey } }'))?.map(({ chainKey }) => chainKey),
  };
}

export function expectNothingHidden(text: string, where: string): void {
  const shown = text.toLowerCase();
  for (const word of [...WORDS, ...HIDDEN.addresses, 'c0ffee']) expect(shown, where).not.toContain(word);
  for (const id of HIDDEN.ids) expect(text, where).not.toContain(id);
}
