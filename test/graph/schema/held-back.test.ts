import { describe, expect, it } from 'vitest';
import type { HeldBackFact } from '../../../src/domain/listing.js';
import { EVERY_FIELD } from '../../fixtures/every-field.js';
import { chainRow, tokenRow } from '../../fixtures/rows.js';
import { startFakeUpstream } from '../../support/fake-upstream.js';
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

/** The options of a gateway that holds back some rows of the upstream's listing. */
const optionsOf = async (ofRows: HeldBackRows, config = {}) => ({
  upstream: await startFakeUpstream({ chains: CHAINS, tokens: TOKENS }),
  decorate: withHeldBack(ofRows),
  config,
});
const serve = async (ofRows: HeldBackRows, config = {}) => createTestGateway(await optionsOf(ofRows, config));

describe('heldBack', () => {
  it('gives the served value, the upstream’s value and its time, for tokens and chains', async () => {
    const { query } = await serve({ USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] });
    const answer = await query(
      `{ tokens { symbol price { usd } ${FIELDS} } chains { chainKey ${FIELDS} }
        token(chainKey: "a", address: "0x1") { chain { ${FIELDS} } }
        listings { heldBackRows } }`,
    );
    const chain = [{ fact: 'chainId', served: '1', upstream: '2', since: TIME }];
    expect(answer).toEqual({
      data: {
        tokens: [
          { symbol: 'USDC', price: null, heldBack: SHOWN },
          { symbol: 'ETH', price: { usd: 2 }, heldBack: [] },
        ],
        chains: [
          { chainKey: 'a', heldBack: chain },
          { chainKey: 'b', heldBack: [] },
        ],
        token: { chain: { heldBack: chain } },
        listings: [{ heldBackRows: 1 }, { heldBackRows: 1 }],
      },
    });
  });

  it('is the same for a token from every field', async () => {
    const { query } = await serve({ USDC: [DECIMALS, SYMBOL] });
    const node = `{ ... on Token { ${FIELDS} } }`;
    const { data } = await query<Record<string, unknown>>(
      `{ search: tokenSearch(filter: { symbols: ["usdc"] }) { nodes { ${FIELDS} } }
        keys: tokensByKey(keys: [{ chainKey: "a", address: "0x1" }]) { ${FIELDS} }
        destinations(srcChainKey: "a", srcToken: "0x2", includeSourceChain: true) { tokens { symbol ${FIELDS} } }
        changes: tokenChanges { changed { symbol ${FIELDS} } }
        entities: _entities(representations: [{ __typename: "Token", chainKey: "a", address: "0x1" }]) ${node}
        chain(chainKey: "a") { tokens { symbol ${FIELDS} } } }`,
    );
    const all = [
      { symbol: 'USDC', heldBack: SHOWN },
      { symbol: 'ETH', heldBack: [] },
    ];
    expect(data).toMatchObject({
      search: { nodes: [{ heldBack: SHOWN }] },
      keys: [{ heldBack: SHOWN }],
      destinations: [{ tokens: all }],
      changes: { changed: all },
      entities: [{ heldBack: SHOWN }],
      chain: { tokens: all },
    });
  });

  it('is written by the operation writer, and a change ends a cached response', async () => {
    const ofRows: Record<string, readonly HeldBackFact[]> = { USDC: [DECIMALS, SYMBOL] };
    const server = await startServer(await optionsOf(ofRows));
    const query = `{ tokens { symbol ${FIELDS} chain { ${FIELDS} } } }`;
    const both = await server.query(query);
    const ask = async () => JSON.parse((await server.ask({ query })).body.toString()) as unknown;
    for (const executor of ['writer', 'writer', undefined]) {
      expect(await ask()).toEqual(both);
      await expect
        .poll(() => server.serverLog.at(-1))
        .toMatchObject(executor ? { cache: 'miss', executor } : { cache: 'hit' });
    }
    ofRows.USDC = [DECIMALS];
    ofRows.a = [CHAIN_ID];
    await refreshWith(server, TOKENS, CHAINS);
    const chain = { heldBack: [{ fact: 'chainId', served: '1', upstream: '2', since: TIME }] };
    expect(await ask()).toEqual({
      data: {
        tokens: [
          { symbol: 'USDC', heldBack: [SHOWN[0]], chain },
          { symbol: 'ETH', heldBack: [], chain },
        ],
      },
    });
  });

  it('counts towards the limit on rows, but does not add cost', async () => {
    const facts = {
      tokens: `{ tokens { ${FIELDS} } }`,
      chains: '{ tokens { chain { heldBack { fact } } } }',
    };
    const few = await serve({ USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] }, { maxRows: 4 });
    expect(codesOf(await few.query(facts.tokens))).toEqual([]);
    expect(codesOf(await few.query(facts.chains))).toEqual([]);
    const fewer = await serve({ USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] }, { maxRows: 3 });
    for (const document of Object.values(facts)) {
      const answer = await fewer.query(document);
      expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
      expect(answer).not.toHaveProperty('data');
    }
    const none = await serve({}, { maxRows: 2 });
    expect(codesOf(await none.query(facts.tokens))).toEqual([]);
    const cheap = await serve({ USDC: [DECIMALS, SYMBOL], a: [CHAIN_ID] }, { maxCost: 1 });
    expect(codesOf(await cheap.query(`{ tokens ${EVERY_FIELD} }`))).toEqual([]);
    expect(codesOf(await cheap.query(`{ tokens ${EVERY_FIELD} listings { name } }`))).toEqual([
      'LIMIT_EXCEEDED',
    ]);
  });
});
