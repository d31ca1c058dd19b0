import { isNativePlaceholder } from '../../../src/domain/addresses.js';
import { isIdentifiedBy, parseCaip19 } from '../../../src/domain/caip.js';
import type { Chain, Fetched, Token } from '../../../src/domain/listing.js';
import type { GatewayContext } from '../../../src/graph/context.js';
import { CostMeter } from '../../../src/graph/cost.js';
import { DependencyTracker } from '../../../src/graph/dependency-tracker.js';
import type { Loaders } from '../../../src/graph/loaders.js';
import { createChainSnapshot, createTokenSnapshot } from '../../../src/snapshots/snapshot.js';
import type { View } from '../../../src/snapshots/view/operation-view.js';

/** Makes contexts for operations over rows in memory, with loaders that do not wait. */
export async function createContexts(
  chains: Fetched<Chain>,
  tokens: Fetched<Token>,
): Promise<() => GatewayContext> {
  const chainSnapshot = await createChainSnapshot(chains);
  const tokenSnapshot = await createTokenSnapshot(tokens);
  const snapshots = { chains: chainSnapshot, tokens: tokenSnapshot };
  const view = {
    untracked: (name: keyof typeof snapshots) => snapshots[name],
    swapReads: (reads: object) => reads,
    read: (name: keyof typeof snapshots) => snapshots[name],
  } as unknown as View;
  const destinations = { rows: tokens.rows.slice(0, 5), takenAt: 1 };
  const loaders = {
    chainsBySearch: (search: string, types?: readonly string[]) => chainSnapshot.matching(search, types),
    chainByKey: (chainKey: string) => chainSnapshot.byKey(chainKey) ?? null,
    chainByCaip2: (caip2: string) => chainSnapshot.byCaip2(caip2) ?? null,
    tokenByCaip19(caip19: string) {
      const parts = parseCaip19(caip19);
      const chain = parts && chainSnapshot.byCaip2(parts.caip2);
      const token = chain && tokenSnapshot.byAddress(chain.chainKey, parts.address);
      return token && isIdentifiedBy(parts, chain, token) ? token : null;
    },
    tokenByAddress: (chainKey: string, address: string) => tokenSnapshot.byAddress(chainKey, address) ?? null,
    tokensListed: (chainKey: string | undefined) =>
      chainKey === undefined ? tokens.rows : tokenSnapshot.byChain(chainKey),
    tokenSearch: (request: Parameters<Loaders['tokenSearch']>[0]) =>
      tokenSnapshot.search({ ...request, pricesUsable: true }, chainSnapshot),
  } as unknown as Loaders;
  return () => {
    const cost = new CostMeter({
      listedTokens: () => tokens.rows.length,
      maxCost: 1e9,
      maxRows: 1e6,
      unitsOfWholeToken: 30,
      maxResponseBytes: () => 1e9,
    });
    const tracker = new DependencyTracker(view, cost, 0);
    const routesFrom: Loaders['routesFrom'] = ({ srcToken }) => {
      tracker.note('routes');
      // The routes of some tokens are promises.
      return isNativePlaceholder(srcToken) ? Promise.resolve(destinations) : destinations;
    };
    return {
      loaders: { ...loaders, routesFrom },
      cost,
      isPriceFresh: () => true,
      tracker,
      introspection: true,
      listings: () =>
        [chains, tokens].map(({ rows, source }, index) => ({
          name: index === 0 ? 'chains' : 'tokens',
          source,
          state: 'FRESH',
          takenAt: 1,
          ageMs: 1500,
          rows: rows.length,
          rejectedRows: 0,
          version: 'v',
          lastFailure: index === 0 ? null : { code: 'UPSTREAM_TIMEOUT', message: 'It was "late".', at: 5 },
        })),
      staleListings: () => [],
      dependencies: () => undefined,
    } as unknown as GatewayContext;
  };
}
