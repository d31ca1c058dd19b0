/** The field heldBack says which value is served, which one the upstream sends, and since when. */
import { expect, it } from 'vitest';
import { EVERY_FIELD } from '../../fixtures/every-field.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { stopDate } from '../../support/clock.js';
import { codesOf, createTestGateway, type Settings } from '../../support/test-gateway.js';
import { FRESH, refreshWith } from '../../support/test-server.js';
import { createExecutor } from '../executor.js';

const FIELDS = 'heldBack { fact served upstream since }';
const [A, B] = [chainRow('a'), chainRow('b', { chainId: 9 })];
const USDC = tokenRow('a', '0x1', { symbol: 'USDC', decimals: 6, price: { usd: 1 } });
const ETH = tokenRow('a', '0x2', { symbol: 'ETH', price: { usd: 2 } });

/** A gateway whose last refresh had other decimals and another symbol of USDC, and another chainId of its chain. */
async function serve(config: Settings = {}) {
  const date = stopDate();
  const listings = { chains: [A, B], tokens: [USDC, ETH] };
  const gateway = await createTestGateway({ listings, config: { ...FRESH, ...config }, hasListings: true });
  date.advance(1_000);
  const changed = { ...USDC, decimals: 18, symbol: 'U"SDC\u202e' };
  await refreshWith(gateway, [changed, ETH], [{ ...A, chainId: 8 }, B]);
  return { ...gateway, since: new Date(Date.now()).toISOString() };
}

it('heldBack gives the served value, the upstream’s value and since when, for a token or chain from any field', async () => {
  const { query, since } = await serve();
  const token = `{ symbol price { usd } ${FIELDS} chain { ${FIELDS} } }`;
  const answer = await query(
    `{ tokens ${token} chains { chainKey ${FIELDS} } listings { heldBackRows }
        search: tokenSearch(orderBy: PRICE_ASC) { nodes ${token} }
        keys: tokensByKey(keys: [{ chainKey: "a", address: "0x1" }]) ${token}
        destinations(srcChainKey: "a", srcToken: "0x2", includeSourceChain: true) { tokens ${token} }
        changes: tokenChanges { changed ${token} }
        entities: _entities(representations: [{ __typename: "Token", chainKey: "a", address: "0x1" }]) {
          ... on Token ${token}
        } }`,
  );
  const chain = { heldBack: [{ fact: 'chainId', served: '7', upstream: '8', since }] };
  const heldBack = [
    { fact: 'decimals', served: '6', upstream: '18', since },
    { fact: 'symbol', served: 'USDC', upstream: 'U"SDC\u202e', since },
  ];
  const usdc = { symbol: 'USDC', price: null, heldBack, chain };
  const tokens = [usdc, { symbol: 'ETH', price: { usd: 2 }, heldBack: [], chain }];
  expect(answer).toEqual({
    data: {
      tokens,
      chains: [
        { chainKey: 'a', ...chain },
        { chainKey: 'b', heldBack: [] },
      ],
      listings: [{ heldBackRows: 1 }, { heldBackRows: 1 }],
      search: { nodes: tokens.toReversed() },
      keys: [usdc],
      destinations: [{ tokens }],
      changes: { changed: tokens },
      entities: [usdc],
    },
  });
});

it('heldBack counts each fact as a row, without cost for the facts', async () => {
  const gateway = await serve({ maxCost: 1 });
  const execute = await createExecutor(gateway);
  for (const query of [`{ tokens { ${FIELDS} } }`, '{ tokens { chain { heldBack { fact } } } }'])
    expect((await execute({ query }))?.context.cost.spent.rows).toBe(4);
  // Even without held-back facts, this operation costs exactly the limit.
  const dearest = `{ tokenChanges { cursor isReset removedIds changed ${EVERY_FIELD} } }`;
  expect(codesOf(await gateway.query(dearest))).toEqual([]);
});
