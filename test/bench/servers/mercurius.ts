/**
 * Mercurius with its JIT. `mercurius.js <upstream> memory` reads rows from memory, without a promise.
 * `mercurius.js <upstream> upstream` requests rows from the upstream, and caches the results with mercurius-cache.
 */
import type { Server } from 'node:http';
import type { RawToken } from '../../fixtures/demo.js';
import { requirePeer } from '../processes.js';
import { rowResolvers, SDL } from './graph.js';
import { createMemoryReads, createUpstreamReads } from './reads.js';
import { serve } from './serve.js';

/** The used part of Fastify's type: the package is not installed where only types are checked. */
interface Fastify {
  readonly server: Server;
  register(plugin: unknown, options: unknown): void;
  ready(): Promise<void>;
}

/** Longer than any run of the bench, so that a cached answer is never requested from the upstream again. */
const KEPT_SECONDS = 86_400;

const [, , address = '', kind] = process.argv;
const fastify = requirePeer('fastify') as () => Fastify;
const app = fastify();
const isInMemory = kind === 'memory';
const reads = isInMemory ? await createMemoryReads(address) : createUpstreamReads(address);

app.register(requirePeer('mercurius'), {
  schema: SDL,
  jit: 1,
  resolvers: {
    ...rowResolvers,
    Query: {
      chains: () => reads.chains(),
      chain: (_root: unknown, { chainKey }: { chainKey: string }) => reads.chain(chainKey),
      tokens: (_root: unknown, { srcChainKey }: { srcChainKey?: string | null }) =>
        reads.tokens(srcChainKey ?? undefined),
    },
    Token: { ...rowResolvers.Token, chain: ({ chainKey }: RawToken) => reads.chain(chainKey) },
  },
});
if (!isInMemory) {
  app.register(requirePeer('mercurius-cache'), {
    ttl: KEPT_SECONDS,
    policy: {
      Query: { chains: true, chain: true, tokens: true },
      // The chain depends only on `chainKey`. By default the cache would use the whole row as the key.
      Token: { chain: { key: ({ self }: { self: RawToken }) => self.chainKey } },
    },
  });
}
await app.ready();
serve(app.server);
