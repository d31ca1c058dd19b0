import { describe, expect, it } from 'vitest';
import type { Chain, TokenRequest } from '../../src/domain/listing.js';
import { Loaders } from '../../src/graph/loaders.js';
import type { View } from '../../src/snapshots/operation-view.js';
import type { ChainSnapshot } from '../../src/snapshots/snapshot.js';
import { createTestGateway } from '../support/test-gateway.js';

const LIMITS = {
  isPriceFresh: () => true,
  tracker: { note() {} },
  maxRoutesPerOperation: 10,
  cost: { spend() {} },
  yieldToQueue: async () => {},
  mayWait: true,
};

/** A view of snapshots whose chain listing is not loaded at first. It records requests for routes. */
function createColdView() {
  const routesAsked: TokenRequest[] = [];
  const chains = {
    byKey: (chainKey: string) => (chainKey === 'nope' ? undefined : ({ chainKey } as Chain)),
  } as ChainSnapshot;
  const view: View = {
    async read(name) {
      if (name !== 'chains') throw new Error('Expected no look at the token listing');
      return chains as never;
    },
    isSwept: false,
    sources: () => null,
    untracked: () => undefined,
    cachedRoutes: () => undefined,
    async routes(question) {
      routesAsked.push(question);
      return { rows: [], takenAt: 0 };
    },
    staleReads: () => [],
    swapReads: (reads) => reads,
    readSnapshots: () => ({ listings: { chains }, isMissing: false }),
    now: () => Date.now(),
  };
  return { view, routesAsked };
}

describe('loaders', () => {
  it('wait for a listing once, in one turn, and match chains by key', async () => {
    const { view } = createColdView();
    let turns = 0;
    const yieldToQueue = async () => {
      turns++;
    };
    const loaders = new Loaders({ view, ...LIMITS, yieldToQueue });
    const keys = ['b', 'a', 'nope', 'b', 'a', 'c'];
    const found = await Promise.all(keys.map((key) => loaders.chainByKey(key)));
    expect(found.map((chain) => chain?.chainKey)).toEqual(['b', 'a', undefined, 'b', 'a', 'c']);
    expect(turns).toBe(1);
  });

  it('return values instead of promises if there is a snapshot', async () => {
    const { snapshots } = await createTestGateway();
    await Promise.all([snapshots.view().read('chains'), snapshots.view().read('tokens')]);
    const loaders = new Loaders({ view: snapshots.view(), ...LIMITS });
    expect(loaders.chainByKey('base')).toMatchObject({ name: 'Base' });
    expect(loaders.chainByKey('nope')).toBeNull();
    expect(loaders.tokensListed('base')).toHaveLength(37);
    expect(loaders.tokenByAddress('base', 'nope')).toBeNull();
  });
});
