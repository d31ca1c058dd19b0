import { describe, expect, it } from 'vitest';
import { demoTokens } from '../../fixtures/demo.js';
import { tokenRow } from '../../fixtures/rows.js';
import { codesOf, createTestGateway } from '../../support/test-gateway.js';
import { refreshWith, startServer } from '../../support/test-server.js';

const searchFor = (text: string, fields: string) => `{ tokenSearch(query: "${text}") { ${fields} } }`;

describe('TokenConnection.didYouMean', () => {
  it('costs another search if nothing was found, and otherwise nothing', async () => {
    const units = 2 * demoTokens.length;
    const whole = 1 + demoTokens.length;
    const { query } = await createTestGateway({ config: { maxCost: 1, maxAliases: 1000 } });
    await query('{ tokens { symbol } }');
    const refused = await query(searchFor('usdcc', 'didYouMean '.concat(again(100))));
    const [, limit = ''] = /at most (\d+) units/.exec(refused.errors?.[0]?.message ?? '') ?? [];
    // The limit allows at least one whole listing.
    expect(Number(limit)).toBeGreaterThan(whole);
    const fits = Math.floor((Number(limit) - units) / (units + 1)) - 1;
    expect(codesOf(await query(searchFor('usdcc', again(fits))))).toEqual([]);
    expect(codesOf(await query(searchFor('usdcc', again(fits + 2))))).toEqual(['LIMIT_EXCEEDED']);
    expect(codesOf(await query(searchFor('usdc', again(fits + 2))))).toEqual([]);
  });

  it('is not served from the cache once the listing has the token', async () => {
    const tokens = demoTokens.filter(({ symbol }) => symbol !== 'USDC');
    const server = await startServer({ listings: { tokens }, config: { tokensFreshMs: 3_600_000 } });
    const asked = { query: searchFor('pendel', 'totalCount didYouMean') };
    const { count, bodies } = await server.countExecuted(asked, asked, asked);
    // The third response is from the response cache.
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

/** The field this many times, with aliases. */
function again(times: number): string {
  return Array.from({ length: times }, (_none, nth) => `a${nth}: didYouMean`).join(' ');
}
