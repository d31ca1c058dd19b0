/** Mercurius with its JIT, over all rows in memory, which its resolvers read without a promise: `mercurius.js <upstream>`. */
import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { RawChain, RawToken } from '../../fixtures/demo.js';
import { requirePeer } from '../processes.js';
import { readRows, serve } from './serve.js';

/** The used part of Fastify's type: the package is not installed where only types are checked. */
interface Fastify {
  readonly server: Server;
  register(plugin: unknown, options: unknown): void;
  ready(): Promise<void>;
}

const { chains, tokens, chainByKey } = await readRows(process.argv[2] ?? '');
const byChain = new Map(
  chains.map(({ chainKey }) => [chainKey, tokens.filter((token) => token.chainKey === chainKey)]),
);
const NATIVE = new Set(['e', '0'].map((digit) => `0x${digit.repeat(40)}`));
/** The same time for all prices, because the true times would cost this server more. */
const startedAt = new Date().toISOString();
const ids = new Map<object, string>();
const idOf = (...identity: readonly string[]) => Buffer.from(JSON.stringify(identity)).toString('base64url');
for (const chain of chains) ids.set(chain, idOf('Chain', chain.chainKey));
for (const token of tokens) ids.set(token, idOf('Token', token.chainKey, token.address.toLowerCase()));

const fastify = requirePeer('fastify') as () => Fastify;
const app = fastify();
app.register(requirePeer('mercurius'), {
  schema: readFileSync(new URL('../../../../schema.graphql', import.meta.url), 'utf8'),
  jit: 1,
  resolvers: {
    Query: {
      chains: () => chains,
      chain: (_root: unknown, { chainKey }: RawChain) => chainByKey.get(chainKey) ?? null,
      tokens: (_root: unknown, { srcChainKey }: { srcChainKey?: string | null }) =>
        typeof srcChainKey === 'string' ? (byChain.get(srcChainKey) ?? []) : tokens,
    },
    Chain: { id: (chain: RawChain) => ids.get(chain) },
    Token: {
      id: (token: RawToken) => ids.get(token),
      isNative: ({ address }: RawToken) => NATIVE.has(address.toLowerCase()),
      chain: ({ chainKey }: RawToken) => chainByKey.get(chainKey) ?? null,
    },
    Price: { asOf: () => startedAt },
  },
});
await app.ready();
serve(app.server);
