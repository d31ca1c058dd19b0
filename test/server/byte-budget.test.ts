import { expect, it } from 'vitest';
import { createByteBudget } from '../../src/server/byte-budget.js';

/** A budget with a list of the holds that were taken away. */
function createTestBudget(maxBytes: number) {
  const budget = createByteBudget(maxBytes);
  const cuts: string[] = [];
  const hold = (client: string, name: string, bytes: number, buffer: object = {}) =>
    budget.hold(client, buffer, bytes, () => cuts.push(name));
  return { budget, hold, cuts };
}

it('beyond the budget the client that holds most loses its oldest hold', () => {
  const { budget, hold, cuts } = createTestBudget(100);
  hold('honest', 'h1', 20);
  hold('greedy', 'g1', 20);
  hold('greedy', 'g2', 20);
  hold('greedy', 'g3', 20);
  expect(cuts).toEqual([]);
  hold('honest', 'h2', 25);
  expect(cuts).toEqual(['g1']);
  expect(budget.bytes).toBe(85);
  hold('greedy', 'g4', 20);
  hold('greedy', 'g5', 20);
  expect(cuts).toEqual(['g1', 'g2', 'g3']);
});

it('a buffer that many hold counts once, until the last of them releases it', () => {
  const { budget, hold, cuts } = createTestBudget(100);
  const shared = {};
  const holds = Array.from({ length: 50 }, (_nothing, nth) => hold(`client${nth}`, `${nth}`, 30, shared));
  expect(budget.bytes).toBe(30);
  for (const one of holds.slice(1)) one.release();
  for (const one of holds.slice(1)) one.release();
  expect(budget.bytes).toBe(30);
  holds[0]?.release();
  expect(budget.bytes).toBe(0);
  expect(cuts).toEqual([]);
});

it('a buffer that grows is refused as one that is new', () => {
  const { budget, hold, cuts } = createTestBudget(100);
  const grown = hold('greedy', 'grown', 1);
  hold('honest', 'small', 5);
  for (const bytes of [30, 30, 10]) hold('greedy', `${bytes}`, bytes);
  expect(cuts).toEqual([]);
  grown.resize(30);
  expect(cuts).toEqual(['grown']);
  grown.resize(1000);
  grown.release();
  expect(budget.bytes).toBe(75);
});

it('three buffers of the largest size fit in any case', () => {
  const { hold, cuts } = createTestBudget(10);
  for (const name of ['a', 'b', 'c']) hold(name, name, 1000);
  expect(cuts).toEqual([]);
  hold('d', 'd', 1000);
  expect(cuts).toEqual(['a']);
});
