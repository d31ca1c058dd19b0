/**
 * Plain Yoga with a DataLoader for the chains of tokens: `yoga.js <upstream> upstream` asks the upstream in each
 * request, `yoga.js <upstream> memory` reads rows from memory.
 */
import { createServer } from 'node:http';
import DataLoader from 'dataloader';
import { createSchema, createYoga } from 'graphql-yoga';
import type { RawChain, RawToken } from '../../fixtures/demo.js';
import { rowResolvers, SDL, typeOfEntity } from './graph.js';
import {
  createMemoryReads,
  createUpstreamReads,
  keysOfRepresentations,
  type Reads,
  type TokenKey,
} from './reads.js';
import type { Search } from './search.js';
import { serve } from './serve.js';

interface Context {
  readonly chainByKey: DataLoader<string, RawChain | null>;
}

const [, , address = '', kind] = process.argv;
const reads: Reads = kind === 'memory' ? await createMemoryReads(address) : createUpstreamReads(address);

const schema = createSchema<Context>({
  typeDefs: SDL,
  resolvers: {
    ...rowResolvers,
    Query: {
      chains: () => reads.chains(),
      chain: (_root, { chainKey }: { chainKey: string }, { chainByKey }) => chainByKey.load(chainKey),
      tokens: (_root, { srcChainKey }: { srcChainKey?: string | null }) =>
        reads.tokens(srcChainKey ?? undefined),
      token: (_root, key: TokenKey) => reads.token(key),
      tokensByKey: (_root, { keys }: { keys: readonly TokenKey[] }) => reads.tokensByKey(keys),
      tokenSearch: (_root, search: Search) => reads.search(search),
      _entities: (_root, { representations }: { representations: readonly unknown[] }) =>
        reads.tokensByKey(keysOfRepresentations(representations)),
    },
    Token: {
      ...rowResolvers.Token,
      chain: ({ chainKey }: RawToken, _args: unknown, { chainByKey }: Context) => chainByKey.load(chainKey),
    },
    _Entity: { __resolveType: typeOfEntity },
  },
});

const yoga = createYoga({
  schema,
  context: (): Context => ({
    chainByKey: new DataLoader(async (chainKeys) => {
      const byKey = new Map((await reads.chains()).map((chain) => [chain.chainKey, chain]));
      return chainKeys.map((chainKey) => byKey.get(chainKey) ?? null);
    }),
  }),
  graphiql: false,
  logging: false,
});

serve(createServer(yoga));
