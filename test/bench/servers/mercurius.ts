/**
 * Mercurius with its JIT: `mercurius.js <upstream> memory` reads rows from memory, at once;
 * `mercurius.js <upstream> upstream` asks the upstream and has its cache in front of it.
 */
import type { Server } from 'node:http';
import type { RawToken } from '../../fixtures/demo.js';
import { requirePeer } from '../processes.js';
import { rowResolvers, SDL } from './graph.js';
import { createMemoryReads, createUpstreamReads } from './reads.js';
import { serve } from './serve.js';

/** As much of it as is used here: the types are not installed where only types are checked. */
interface Fastify {
  readonly server: Server;
  register(plugin: unknown, options: unknown): void;
  ready(): Promise<void>;
}

/** Longer than any run of the bench: once it has an answer, it never asks again. */
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
      // By the one value that it depends on: without it the whole row would be its key.
      Token: { chain: { key: ({ self }: { self: RawToken }) => self.chainKey } },
    },
  });
}
await app.ready();
serve(app.server);
