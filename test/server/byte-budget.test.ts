import { expect, it } from 'vitest';
import { createByteBudget } from '../../src/server/byte-budget.js';

/** A budget with a list of the evicted reservations. */
function createTestBudget(maxBytes: number) {
  const budget = createByteBudget(maxBytes);
  const evicted: string[] = [];
  const reserve = (client: string, name: string, bytes: number, buffer: object = {}) =>
    budget.reserve(client, buffer, bytes, () => evicted.push(name));
  return { budget, reserve, evicted };
}

it('the client with the most bytes loses its oldest reservation when the budget is exceeded', () => {
  const { budget, reserve, evicted } = createTestBudget(100);
  reserve('honest', 'h1', 20);
  reserve('greedy', 'g1', 20);
  reserve('greedy', 'g2', 20);
  reserve('greedy', 'g3', 20);
  expect(evicted).toEqual([]);
  reserve('honest', 'h2', 25);
  expect(evicted).toEqual(['g1']);
  expect(budget.bytes).toBe(85);
  reserve('greedy', 'g4', 20);
  reserve('greedy', 'g5', 20);
  expect(evicted).toEqual(['g1', 'g2', 'g3']);
});

it('a buffer with many reservations counts once, until the last is released', () => {
  const { budget, reserve, evicted } = createTestBudget(100);
  const shared = {};
  const reservations = Array.from({ length: 50 }, (_nothing, nth) =>
    reserve(`client${nth}`, `${nth}`, 30, shared),
  );
  expect(budget.bytes).toBe(30);
  for (const release of reservations.slice(1)) release();
  for (const release of reservations.slice(1)) release();
  expect(budget.bytes).toBe(30);
  reservations[0]?.();
  expect(budget.bytes).toBe(0);
  expect(evicted).toEqual([]);
});
