/** The budget for bytes counts a buffer once, however many reservations it has. */
import { expect, it } from 'vitest';
import { createByteBudget } from '../../src/server/byte-budget.js';

it('a buffer with many reservations counts once, until the last is released', () => {
  const budget = createByteBudget(100);
  const evicted: number[] = [];
  const shared = {};
  const reservations = Array.from({ length: 50 }, (_nothing, nth) =>
    budget.reserve(`client${nth}`, shared, 30, () => evicted.push(nth)),
  );
  expect(budget.bytes).toBe(30);
  for (const release of reservations.slice(1)) release();
  for (const release of reservations.slice(1)) release();
  expect(budget.bytes).toBe(30);
  reservations[0]?.();
  expect(budget.bytes).toBe(0);
  expect(evicted).toEqual([]);
});
