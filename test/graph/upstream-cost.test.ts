/** An operation costs the upstream at most one request for each distinct route request. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { routeRequestKey } from '../../src/domain/addresses.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { share } from '../support/ends.js';
import { type Operation, operationsOf } from '../support/generated-operations.js';
import { createTestGateway } from '../support/test-gateway.js';
import { FRESH } from '../support/test-server.js';
import { createExecutor } from './executor.js';

const CHAINS = demoChains.filter(({ chainKey }) => ['ethereum', 'base', 'solana', 'sei'].includes(chainKey));
const LISTED = demoTokens
  .filter(({ chainKey: on }) => CHAINS.some(({ chainKey }) => chainKey === on))
  .slice(0, 60);
const LIMITS = { maxAliases: 100_000, maxQueryTokens: 100_000, maxDepth: 100, maxCost: 1e9, maxRows: 1e7 };
/** Routes do not stay cached from one operation to the next. */
const CONFIG = { ...LIMITS, ...FRESH, destinationsFreshMs: 1, maxRoutesPerOperation: 30 };

const gateway = share(async (atEnd) => {
  const listings = { chains: CHAINS, tokens: LISTED };
  const started = await createTestGateway({ hasListings: true, listings, config: CONFIG, atEnd });
  return { ...started, execute: await createExecutor(started, CONFIG) };
});

async function requestsOf({ query, variables, operationName }: Operation): Promise<readonly string[]> {
  await new Promise((resolve) => setTimeout(resolve, 2 * CONFIG.destinationsFreshMs));
  const before = gateway.upstream.seen.length;
  await gateway.post({ query, variables, operationName });
  return gateway.upstream.seen.slice(before).map(({ path, url }) => {
    const { searchParams } = new URL(url, 'http://upstream');
    const srcToken = searchParams.get('srcToken') ?? undefined;
    const srcChainKey = searchParams.get('srcChainKey') ?? undefined;
    return srcToken === undefined ? `the listing of ${path}` : routeRequestKey({ srcChainKey, srcToken });
  });
}

async function questionsOf(operation: Operation): Promise<ReadonlySet<string>> {
  const questions = new Set<string>();
  await gateway.execute(operation, ({ loaders }) => {
    const routesFrom = loaders.routesFrom.bind(loaders);
    loaders.routesFrom = (filter) => {
      questions.add(routeRequestKey(filter));
      return routesFrom(filter);
    };
  });
  return questions;
}

it('an operation costs the upstream at most one request for each distinct route request', async () => {
  let asking = 0;
  let free = 0;
  await fc.assert(
    fc.asyncProperty(operationsOf({ hasRoutes: 'often' }), async (operation) => {
      const requests = await requestsOf(operation);
      const questions = await questionsOf(operation);
      expect(new Set(requests).size).toBe(requests.length);
      expect(requests.filter((request) => !questions.has(request))).toEqual([]);
      if (requests.length > 0) asking++;
      else free++;
    }),
    { numRuns: 50 },
  );
  // Some operations ask for no routes, or only for those of unknown tokens.
  expect(asking).toBeGreaterThan(0);
  expect(free).toBeGreaterThan(8);
});
