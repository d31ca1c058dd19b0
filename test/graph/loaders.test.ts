import { expect, it } from 'vitest';
import { Loaders } from '../../src/graph/loaders.js';
import { createTestGateway } from '../support/test-gateway.js';

/** Loaders of a new operation, with the number of turns in the queue that they have waited for. */
async function serve() {
  const { snapshots, upstream } = await createTestGateway();
  let turns = 0;
  const loadersNow = () =>
    new Loaders({
      view: snapshots.view(),
      isPriceFresh: () => true,
      tracker: { note() {} },
      maxRoutesPerOperation: 10,
      cost: { spend() {} },
      yieldToQueue: async () => {
        turns++;
      },
    });
  return { loadersNow, upstream, turns: () => turns };
}

it('loaders wait for a listing once, in one turn, and match chains by key', async () => {
  const { loadersNow, upstream, turns } = await serve();
  const loaders = loadersNow();
  const keys = ['base', 'BSC', 'nope', 'base', 'sei'];
  const found = await Promise.all(keys.map((key) => loaders.chainByKey(key)));
  expect(found.map((chain) => chain?.chainKey)).toEqual(['base', 'bsc', undefined, 'base', 'sei']);
  expect([turns(), upstream.count('tokens'), upstream.count('chains')]).toEqual([1, 0, 1]);
});

it('loaders return values instead of promises if there is a snapshot', async () => {
  const { loadersNow } = await serve();
  await Promise.all([loadersNow().chainByKey('base'), loadersNow().tokensListed('base')]);
  const loaders = loadersNow();
  expect(loaders.chainByKey('base')).toMatchObject({ name: 'Base' });
  expect(loaders.chainByKey('nope')).toBeNull();
  expect(loaders.tokensListed('base')).toHaveLength(37);
  expect(loaders.tokenByAddress('base', 'nope')).toBeNull();
});
