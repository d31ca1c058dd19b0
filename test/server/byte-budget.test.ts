/** The memory that buffers of all clients take together counts each buffer once. */
import { expect, it } from 'vitest';
import { createByteBudget } from '../../src/server/byte-budget.js';

it('a buffer with many reservations counts once, until the last is released', () => {
  const budget = createByteBudget(100);
  const shared = {};
  const [first, ...others] = Array.from({ length: 50 }, (_nothing, nth) =>
    budget.reserve({ client: `client${nth}`, releases: new Set() }, shared, 30, () => expect.unreachable()),
  );
  expect(budget.bytes).toBe(30);
  for (const release of [...others, ...others]) release();
  expect(budget.bytes).toBe(30);
  first?.();
  expect(budget.bytes).toBe(0);
});
