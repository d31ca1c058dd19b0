/** The JSON of rows and lists is used again only while every value in it is the same. */
import { buildSchema, type GraphQLObjectType } from 'graphql';
import { expect, it } from 'vitest';
import type { Tracker } from '../../src/execution/execution.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClocks, untilCachesSeeTheTime } from '../support/clock.js';
import { json } from '../support/fake-upstream.js';
import { type Answered, codesOf } from '../support/test-gateway.js';
import {
  FRESH,
  refreshWith,
  startServer,
  type TestServer,
  type TestServerOptions,
} from '../support/test-server.js';
import { createWriter } from './support/writer.js';

type Row = { readonly a: string; readonly b: number };
const ROWS: readonly Row[] = Object.freeze(
  Array.from({ length: 20 }, (_, b) => Object.freeze({ a: `row ${b}`, b })),
);

/** @returns a function that sets `state` of all rows, checks the response, and says how often `state` was resolved */
function callsOf(rows: () => readonly Row[], maxBytes = 1e6) {
  let [state, noted, calls] = ['', '', 0];
  const resolve = () => {
    calls++;
    noted = state;
    return state;
  };
  const tracker: Tracker = {
    track(write) {
      write();
      return { state };
    },
    repeat(reads) {
      const isSame = (reads as { state: string }).state === state;
      if (isSame) noted = state;
      return isSame;
    },
  };
  const schema = buildSchema('type Query { rows: [Row] } type Row { a: String b: Int state: String }');
  const fieldsOf = (type: string) => (schema.getType(type) as GraphQLObjectType).getFields();
  Object.assign(fieldsOf('Query').rows ?? {}, { resolve: rows });
  Object.assign(fieldsOf('Row').state ?? {}, { resolve });
  const write = createWriter(schema, '{ rows { a b state } __typename }', maxBytes);
  return (now = 'one') => {
    [state, noted, calls] = [now, '', 0];
    const written = Buffer.concat(write({ tracker }) ?? []).toString();
    const data = { rows: rows().map((row) => ({ ...row, state })), __typename: 'Query' };
    expect(written).toBe(JSON.stringify({ data }));
    expect(noted).toBe(state);
    return calls;
  };
}

it('kept JSON is used from the second time on, and written again if a value outside the rows has changed', () => {
  const calls = callsOf(() => ROWS);
  expect([calls(), calls(), calls(), calls('two'), calls('two')]).toEqual([20, 0, 0, 20, 0]);
});

it('kept JSON is dropped when all of it together exceeds the limit', () => {
  const lists = Array.from({ length: 20 }, () => Object.freeze([...ROWS]));
  let rows = ROWS;
  const calls = callsOf(() => rows, 12_000);
  const callsOfAll = () =>
    lists.map((list) => {
      rows = list;
      return calls();
    });
  expect(callsOfAll()).toEqual(Array(20).fill(20));
  expect(callsOfAll()).toContain(20);
});

async function startLoaded(options: TestServerOptions): Promise<TestServer> {
  const server = await startServer({ ...options, config: { ...FRESH, ...options.config } });
  await server.ask({ query: '{ chains { name } tokens { name } }' });
  return server;
}

/** Sends a query at each call, with a new `$other`: no cached response answers it, but kept JSON can. */
function repeatedly<Data>({ ask }: TestServer, query: string, variables: object = {}) {
  let times = 0;
  return async () => {
    const { headers, body } = await ask({
      query,
      variables: { ...variables, other: `other-${times++}` },
      method: 'GET',
    });
    return { headers, ...(JSON.parse(String(body)) as Answered<Data>) };
  };
}

it('a list with new variables shows no price that has become too old', async () => {
  const clock = stopClocks();
  const tokens = Array.from({ length: 30 }, (_, nth) =>
    tokenRow('ethereum', `0x${nth + 1}`, { symbol: `T${nth}`, price: { usd: 1 } }),
  );
  const listings = { chains: [chainRow('ethereum')], tokens };
  const server = await startLoaded({ listings, config: { priceMaxAgeMs: 60_000 } });
  const query =
    'query ($other: String!) { tokens(srcChainKey: "ethereum") { symbol price { usd } chain { name } } other: chain(chainKey: $other) { name } }';
  const send = repeatedly<{ tokens: { price: { usd: number } | null }[] }>(server, query);
  const prices = async () => {
    const { data, headers } = await send();
    const shown = new Set(data?.tokens.map(({ price }) => price?.usd));
    return [shown, /max-age=(\d+)/.exec(headers['cache-control'] ?? '')?.[1]];
  };
  for (let nth = 0; nth < 3; nth++)
    expect(await prices()).toEqual([new Set([1]), expect.stringMatching(/^[56]\d$/)]);
  clock.advance(59_000);
  expect(await prices()).toEqual([new Set([1]), expect.stringMatching(/^[01]$/)]);
  clock.advance(1_100);
  for (let nth = 0; nth < 3; nth++) expect((await prices())[0]).toEqual(new Set([undefined]));
});

it('JSON that is used again counts as many rows as when it was written', async () => {
  const tokens = Array.from({ length: 4 }, (_, nth) => tokenRow('ethereum', `0x${nth + 1}`));
  const chains = [chainRow('ethereum')];
  const server = await startLoaded({ listings: { chains, tokens }, config: { maxRows: 15 } });
  // Each of the two lists then has eight rows: four tokens, each with one held-back fact.
  const changed = tokens.map((row) => ({ ...row, decimals: 7 }));
  await refreshWith(server, changed, chains);
  const field = 'tokens { symbol heldBack { fact } }';
  const query = `query ($other: String!) { ${field} again: ${field} other: chain(chainKey: $other) { name } }`;
  const send = repeatedly(server, query);
  for (let nth = 0; nth < 4; nth++) expect(codesOf(await send())).toEqual(['LIMIT_EXCEEDED']);
});

it('kept JSON does not show expired routes, even those that two fields read', async () => {
  const [from, to, later] = ['1', '2', '3'].map((digit) => `0x${digit.repeat(40)}`);
  const tokens = [from, to, later].map((address, nth) =>
    tokenRow(nth === 0 ? 'a' : `b${nth}`, address ?? ''),
  );
  const clock = stopClocks();
  const server = await startLoaded({
    listings: { chains: [chainRow('a')], tokens },
    config: { destinationsFreshMs: 60_000 },
  });
  const query = `query ($from: String!, $other: String!) {
      first: destinations(srcChainKey: "a", srcToken: $from) { chainKey }
      token(chainKey: "a", address: $from) { destinations { chainKey } }
      other: chain(chainKey: $other) { name }
    }`;
  const send = repeatedly(server, query, { from });
  const expectRoutes = async (chainKey: string) => {
    const routes = [{ chainKey }];
    for (let nth = 0; nth < 4; nth++)
      expect((await send()).data).toEqual({ first: routes, token: { destinations: routes }, other: null });
  };
  server.upstream.plan('tokens', json({ tokens: [tokens[1]] }));
  await expectRoutes('b1');
  server.upstream.plan('tokens', json({ tokens: [tokens[2]] }));
  clock.advance(120_000);
  await untilCachesSeeTheTime();
  await expectRoutes('b2');
});
