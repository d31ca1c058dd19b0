import { describe, expect, it } from 'vitest';
import type { Chain, TokenFilter } from '../../src/domain/listing.js';
import { Loaders } from '../../src/graph/loaders.js';
import type { ChainSnapshot } from '../../src/snapshots/snapshot.js';
import type { View } from '../../src/snapshots/view/operation-view.js';
import { createTestGateway } from '../support/test-gateway.js';

const LIMITS = {
  isPriceFresh: () => true,
  tracker: { note() {} },
  maxRoutes: 10,
  cost: { spend() {} },
  nextTurn: async () => {},
  mayWait: true,
};

/** A view whose chain listing arrives later. It records requests for routes. */
function createColdView() {
  const routesAsked: TokenFilter[] = [];
  const chains = {
    byKey: (chainKey: string) => (chainKey === 'nope' ? undefined : ({ chainKey } as Chain)),
  } as ChainSnapshot;
  const view: View = {
    chains: () => Promise.resolve(chains),
    tokens: () => Promise.reject(new Error('Expected no look at the token listing')),
    isSwept: false,
    sources: () => null,
    untracked: () => ({ chains: undefined, tokens: undefined }),
    routeRequest: async (filter) => filter,
    cachedRoutes: () => undefined,
    async routes(question) {
      routesAsked.push(question);
      return { rows: [], takenAt: 0 };
    },
    staleReads: () => [],
    swapReads: (reads) => reads,
    readSnapshots: () => ({ chains, tokens: undefined, isMissing: false }),
    now: () => Date.now(),
  };
  return { view, routesAsked };
}

describe('loaders', () => {
  it('wait for a listing once, in one turn, and match chains by key', async () => {
    const { view } = createColdView();
    let turns = 0;
    const nextTurn = async () => {
      turns++;
    };
    const loaders = new Loaders({ view, ...LIMITS, nextTurn });
    const keys = ['b', 'a', 'nope', 'b', 'a', 'c'];
    const found = await Promise.all(keys.map((key) => loaders.chainByKey(key)));
    expect(found.map((chain) => chain?.chainKey)).toEqual(['b', 'a', undefined, 'b', 'a', 'c']);
    expect(turns).toBe(1);
  });

  it('ask for equal routes once in one operation', async () => {
    const { view, routesAsked } = createColdView();
    const loaders = new Loaders({ view, ...LIMITS });
    const filter = { srcChainKey: 'a', srcToken: '0x1' };
    const asked = [filter, { ...filter }, { srcToken: '0x1' }];
    await Promise.all(asked.map((one) => loaders.routesFrom(one)));
    expect(routesAsked).toEqual([filter, { srcToken: '0x1' }]);
  });

  it('note routes as read each time, also those that are at hand', () => {
    const { view } = createColdView();
    let noted = 0;
    const tracker = { note: () => noted++ };
    const cachedRoutes = () => ({ rows: [], takenAt: 0 });
    const loaders = new Loaders({ ...LIMITS, view: { ...view, cachedRoutes }, tracker });
    for (let nth = 0; nth < 3; nth++) loaders.routesFrom({ srcChainKey: 'a', srcToken: '0x1' });
    expect(noted).toBe(3);
  });

  it('answer without a promise if there is a snapshot', async () => {
    const { snapshots } = await createTestGateway();
    await Promise.all([snapshots.view().chains(), snapshots.view().tokens()]);
    const loaders = new Loaders({ view: snapshots.view(), ...LIMITS });
    expect(loaders.chainByKey('base')).toMatchObject({ name: 'Base' });
    expect(loaders.chainByKey('nope')).toBeNull();
    expect(loaders.tokensListed('base')).toHaveLength(37);
    expect(loaders.tokenByAddress('base', 'nope')).toBeNull();
  });

  it('give two operations the same rows of one snapshot', async () => {
    const { snapshots } = await createTestGateway();
    await snapshots.view().chains();
    const [one, two] = [1, 2].map(() => new Loaders({ view: snapshots.view(), ...LIMITS }));
    expect(one?.chainByKey('base')).toBe(two?.chainByKey('base'));
    expect(Object.isFrozen(one?.chainByKey('base'))).toBe(true);
  });
});
