/** The recipes of the guide to the graph give the promised rows, for reachable tokens and for a user's tokens. */
import { expect, it } from 'vitest';
import { demoTokens } from '../fixtures/demo.js';
import { TYPED } from '../search/people.js';
import { share } from '../support/ends.js';
import { json } from '../support/fake-upstream.js';
import { blockOf, variablesOf } from '../support/readme.js';
import { createTestGateway, dataOf } from '../support/test-gateway.js';

const SEARCHING = 'src/search/searching.md';
const GRAPH = 'src/graph/README.md';

type Row = { readonly id: string; readonly symbol: string; readonly chainKey: string };
type Found = { readonly totalCount: number; readonly nodes: readonly Row[] };

const gateway = share(async (atEnd) => {
  const routes = json({ tokens: demoTokens.filter((_token, nth) => nth % 3 === 0) });
  return createTestGateway({ atEnd, listings: { routes } });
});

it('the recipe for reachable tokens never shows a reachable token among the others, whatever people type', async () => {
  const recipe = blockOf(SEARCHING, 'ReachableAndOthers');
  const given = variablesOf(SEARCHING, 'ReachableAndOthers') as {
    readonly from: { readonly chainKey: string; readonly address: string };
  };
  const { chainKey, address } = given.from;
  const field = `destinations(srcChainKey: "${chainKey}", srcToken: "${address}") { tokens { id } }`;
  const { destinations } = await dataOf(gateway.query<{ destinations: { tokens: Row[] }[] }>(`{ ${field} }`));
  const ids = new Set(destinations.flatMap(({ tokens }) => tokens.map(({ id }) => id)));
  const ask = async (document: string, variables: object) => {
    type Both = Record<'reachable' | 'all', Found>;
    const { reachable, all } = await dataOf(gateway.query<Both>(document, variables));
    const shown = new Set(reachable.nodes.map(({ id }) => id));
    const others = all.nodes.filter(({ id }) => !shown.has(id));
    expect([variables, reachable.nodes.filter(({ id }) => !ids.has(id))]).toEqual([variables, []]);
    expect([variables, others.filter(({ id }) => ids.has(id))]).toEqual([variables, []]);
    return { reachable, all, others };
  };
  const { reachable, all, others } = await ask(recipe, given);
  expect(reachable.nodes.length).toBeGreaterThan(10);
  expect(others.length).toBeGreaterThan(5);
  expect(all.totalCount).toBeGreaterThan(reachable.totalCount);
  const typed = Object.values(TYPED).flatMap((queries) => queries.map(({ typed }) => typed));
  const fillers = ['eth coin', 'usd coin token', 'native weth', 'coin on base', 'usdc on ethereum'];
  let greyed = 0;
  for (const query of [...typed, ...fillers])
    greyed += (await ask(recipe.replaceAll('first: 50', 'first: 5'), { ...given, query })).others.length;
  expect(greyed).toBeGreaterThan(100);
  expect(gateway.upstream.routesAsked()).toHaveLength(1);
});

it('the recipe for the tokens that a user has gives them in their order, with null for an unlisted one', async () => {
  const before = gateway.upstream.count();
  const { held, found } = await dataOf(
    gateway.query<{ held: (Row | null)[]; found: Found }>(
      blockOf(GRAPH, 'HeldFirst'),
      variablesOf(GRAPH, 'HeldFirst'),
    ),
  );
  const chain = expect.objectContaining({ name: 'Base' });
  expect(held).toEqual([expect.objectContaining({ symbol: 'USDC', chain }), null]);
  expect(found.nodes.map(({ id }) => id)).toContain(held[0]?.id);
  expect(gateway.upstream.count()).toBe(before);
});
