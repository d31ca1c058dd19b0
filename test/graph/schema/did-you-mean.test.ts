import { type ExecutionResult, execute, parse } from 'graphql';
import { describe, expect, it } from 'vitest';
import { schema } from '../../../src/graph/schema/index.js';
import { parseChains, parseTokens } from '../../../src/upstream/rows.js';
import { createContexts } from '../../execution/support/gateway-context.js';
import { createWriter } from '../../execution/support/writer.js';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { startFakeUpstream } from '../../support/fake-upstream.js';
import { codesOf, createTestGateway } from '../../support/test-gateway.js';
import { refreshWith, startServer } from '../../support/test-server.js';

const searchFor = (text: string, fields: string) => `{ tokenSearch(query: "${text}") { ${fields} } }`;

describe('TokenConnection.nodes', () => {
  it('are the nodes of the edges', async () => {
    const { query } = await createTestGateway();
    const { data } = await query<{
      tokenSearch: { nodes: object[]; edges: { node: object }[] };
    }>(searchFor('usdc', 'nodes { id symbol } edges { node { id symbol } }'));
    expect(data?.tokenSearch.nodes).toHaveLength(20);
    expect(data?.tokenSearch.nodes).toEqual(data?.tokenSearch.edges.map(({ node }) => node));
  });

  it('count as rows, as those of the edges do', async () => {
    const { query } = await createTestGateway({ config: { maxRows: 30 } });
    expect(codesOf(await query(searchFor('usdc', 'nodes { id }')))).toEqual([]);
    expect(codesOf(await query(searchFor('usdc', 'nodes { id } edges { cursor }')))).toEqual([
      'LIMIT_EXCEEDED',
    ]);
  });
});

describe('TokenConnection.didYouMean', () => {
  it.each(['usdcc', 'usdc etherem', 'usdd', 'usdc', 'tokne 0xa0b86991'])(
    'is the same from the writer and from graphql-js: %s',
    async (text) => {
      const origin = { source: 'demo', takenAt: 1_700_000_000_000 };
      const createContext = await createContexts(
        await parseChains(demoChains, origin),
        await parseTokens(demoTokens, origin, false),
      );
      const document = parse(searchFor(text, 'totalCount didYouMean again: didYouMean nodes { symbol }'));
      const written = createWriter(schema, document).write(createContext());
      const wanted = execute({ schema, document, contextValue: createContext() }) as ExecutionResult;
      expect(String(written)).toBe(JSON.stringify(wanted));
    },
  );

  it('costs another search where nothing was found, and nothing elsewhere', async () => {
    const units = 2 * demoTokens.length;
    const whole = 1 + demoTokens.length;
    const { query } = await createTestGateway({ config: { maxCost: 1, maxAliases: 1000 } });
    await query('{ tokens { symbol } }');
    const refused = await query(searchFor('usdcc', 'didYouMean '.concat(again(100))));
    const [, limit = ''] = /at most (\d+) units/.exec(refused.errors?.[0]?.message ?? '') ?? [];
    // The limit is what the whole listing costs.
    expect(Number(limit)).toBeGreaterThan(whole);
    const fits = Math.floor((Number(limit) - units) / (units + 1)) - 1;
    expect(codesOf(await query(searchFor('usdcc', again(fits))))).toEqual([]);
    expect(codesOf(await query(searchFor('usdcc', again(fits + 2))))).toEqual(['LIMIT_EXCEEDED']);
    expect(codesOf(await query(searchFor('usdc', again(fits + 2))))).toEqual([]);
  });

  it('is not sent again once the listing has what was searched for', async () => {
    const tokens = demoTokens.filter(({ symbol }) => symbol !== 'USDC');
    const upstream = await startFakeUpstream({ tokens });
    const server = await startServer({ upstream, config: { tokensFreshMs: 3_600_000 } });
    const asked = { query: searchFor('pendel', 'totalCount didYouMean') };
    const { count, bodies } = await server.countExecuted(asked, asked, asked);
    // The third time it is sent as it was kept.
    expect(count).toBe(2);
    expect(JSON.parse(bodies[2] ?? '')).toEqual({
      data: { tokenSearch: { totalCount: 0, didYouMean: ['PENDLE'] } },
    });
    const listed = tokenRow('base', `0x${'5'.repeat(40)}`, { symbol: 'PENDEL', name: 'Pendel' });
    await refreshWith(server, [...tokens, listed]);
    expect(JSON.parse((await server.ask(asked)).body.toString())).toEqual({
      data: { tokenSearch: { totalCount: 1, didYouMean: [] } },
    });
  });
});

/** The field under other names, so many times. */
function again(times: number): string {
  return Array.from({ length: times }, (_none, nth) => `a${nth}: didYouMean`).join(' ');
}
