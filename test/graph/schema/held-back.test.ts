/** The field heldBack says which value is served, which one the upstream sends, and since when. */
import { expect, it } from 'vitest';
import type { HeldBackFact } from '../../../src/domain/listing.js';
import { EVERY_FIELD } from '../../fixtures/every-field.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { type HeldBackRows, withHeldBack } from '../../support/held-back.js';
import { codesOf, createTestGateway } from '../../support/test-gateway.js';
import { refreshWith, startServer } from '../../support/test-server.js';

const SINCE = Date.UTC(2026, 0, 31, 12, 34, 56, 789);
const DECIMALS: HeldBackFact = { fact: 'decimals', served: '6', upstream: '18', since: SINCE };
const SYMBOL: HeldBackFact = { fact: 'symbol', served: 'USDC', upstream: 'U"SDC\u202e', since: SINCE };
const CHAIN_ID: HeldBackFact = { fact: 'chainId', served: '1', upstream: '2', since: SINCE };
const TIME = '2026-01-31T12:34:56.789Z';
const FIELDS = 'heldBack { fact served upstream since }';
const SHOWN = [
  { fact: 'decimals', served: '6', upstream: '18', since: TIME },
  { fact: 'symbol', served: 'USDC', upstream: 'U"SDC\u202e', since: TIME },
];

const CHAINS = [chainRow('a'), chainRow('b')];
const TOKENS = [
  tokenRow('a', '0x1', { symbol: 'USDC', decimals: 6, price: { usd: 1 } }),
  tokenRow('a', '0x2', { symbol: 'ETH', price: { usd: 2 } }),
];

const optionsOf = (ofRows: HeldBackRows, config = {}) => ({
  listings: { chains: CHAINS, tokens: TOKENS },
  decorate: withHeldBack(ofRows),
  config,
});
const serve = (ofRows: HeldBackRows, config = {}) => createTestGateway(optionsOf(ofRows, config));

it('heldBack gives the served value, the upstream’s value and since when, for a token or chain from any field', async () => {
  const { query } = await serve({ USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] });
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
  const chain = { heldBack: [{ fact: 'chainId', served: '1', upstream: '2', since: TIME }] };
  const usdc = { symbol: 'USDC', price: null, heldBack: SHOWN, chain };
  const tokens = [usdc, { symbol: 'ETH', price: { usd: 2 }, heldBack: [], chain }];
  expect(answer).toEqual({
    data: {
      tokens,
      chains: Object.entries({ a: chain, b: { heldBack: [] } }).map(([key, its]) => ({
        chainKey: key,
        ...its,
      })),
      listings: [{ heldBackRows: 1 }, { heldBackRows: 1 }],
      search: { nodes: tokens.toReversed() },
      keys: [usdc],
      destinations: [{ tokens }],
      changes: { changed: tokens },
      entities: [usdc],
    },
  });
});

it('heldBack is written by the operation writer, too, and if it changes, a cached response expires', async () => {
  const ofRows: Record<string, readonly HeldBackFact[]> = { USDC: [DECIMALS, SYMBOL] };
  const server = await startServer(optionsOf(ofRows));
  const asked = { query: `{ tokens { symbol ${FIELDS} chain { ${FIELDS} } } }` };
  const both = JSON.stringify(await server.query(asked.query));
  expect(await server.countExecuted(asked, asked, asked)).toEqual({ count: 2, bodies: [both, both, both] });
  ofRows.USDC = [DECIMALS];
  ofRows.a = [CHAIN_ID];
  await refreshWith(server, TOKENS, CHAINS);
  const chain = { heldBack: [{ fact: 'chainId', served: '1', upstream: '2', since: TIME }] };
  const usdc = { symbol: 'USDC', heldBack: [SHOWN[0]], chain };
  const tokens = [usdc, { symbol: 'ETH', heldBack: [], chain }];
  expect((await server.countExecuted(asked)).bodies).toEqual([JSON.stringify({ data: { tokens } })]);
});

it('heldBack counts each fact as a row, without cost for the facts', async () => {
  const held = { USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] };
  for (const document of [`{ tokens { ${FIELDS} } }`, '{ tokens { chain { heldBack { fact } } } }']) {
    expect(codesOf(await (await serve({}, { maxRows: 2 })).query(document))).toEqual([]);
    expect(codesOf(await (await serve(held, { maxRows: 4 })).query(document))).toEqual([]);
    const answer = await (await serve(held, { maxRows: 3 })).query(document);
    expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
    expect(answer).not.toHaveProperty('data');
  }
  // Even without held-back facts, this operation costs exactly the limit.
  const dearest = `{ tokenChanges { cursor isReset removedIds changed ${EVERY_FIELD} } }`;
  expect(codesOf(await (await serve(held, { maxCost: 1 })).query(dearest))).toEqual([]);
});
