import { expect, it } from 'vitest';
import { Loaders } from '../../src/graph/loaders.js';
import { createTestGateway } from '../support/test-gateway.js';

it('loaders wait for a listing once, yield once, and match keys in any letter case', async () => {
  const { snapshots, upstream } = await createTestGateway();
  let turns = 0;
  const context = {
    view: snapshots.view(),
    isPriceFresh: () => true,
    tracker: { note() {} },
    cost: { spend() {}, refusal: undefined },
  };
  const yieldToQueue = async () => void turns++;
  const loaders = new Loaders(context, 10, { yieldToQueue });
  const keys = ['base', 'BSC', 'nope', 'base', 'sei'];
  const found = await Promise.all(keys.map((key) => loaders.chainByKey(key)));
  expect(found.map((chain) => chain?.chainKey)).toEqual(['base', 'bsc', undefined, 'base', 'sei']);
  expect([turns, upstream.count('tokens'), upstream.count('chains')]).toEqual([1, 0, 1]);
});
