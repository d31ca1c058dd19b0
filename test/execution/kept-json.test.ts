import { buildSchema, type GraphQLObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import type { Tracker } from '../../src/execution/execution.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { stopClocks, untilCachesSeeTheTime } from '../support/clock.js';
import { json, status } from '../support/fake-upstream.js';
import { withHeldBack } from '../support/held-back.js';
import { type Answered, codesOf } from '../support/test-gateway.js';
import { refreshWith, startServer, type TestServer, type TestServerOptions } from '../support/test-server.js';
import { createWriter } from './support/writer.js';

/** A state that a field of rows reads. */
interface World {
  state: string;
  /** How often the field was resolved. */
  resolved: number;
}

/** A context through which the field notes its reads. */
class Context implements Tracker {
  noted = '';
  readonly tracker = this;

  constructor(readonly world: World) {}

  track(write: () => void) {
    write();
    return { state: this.world.state };
  }

  repeat(reads: object): boolean {
    const { state } = reads as { state: string };
    if (state !== this.world.state) return false;
    this.noted = state;
    return true;
  }
}

const ROWS: readonly { readonly a: string; readonly b: number }[] = Object.freeze(
  Array.from({ length: 20 }, (_, nth) => Object.freeze({ a: `row ${nth}`, b: nth })),
);

const TEXT = '{ rows { a b state } __typename }';
const world = (): World => ({ state: 'one', resolved: 0 });

/** Writes an operation over rows. @returns the parts of its response, and how often the resolver of the field was called */
function writerOf(rows: () => readonly (typeof ROWS)[number][], maxBytes = 1e6, text = TEXT) {
  const schema = buildSchema(
    'type Query { rows: [Row] } type Row { a: String b: Int state: String with(add: String): String }',
  );
  const fieldsOf = (type: string) => (schema.getType(type) as GraphQLObjectType).getFields();
  Object.assign(fieldsOf('Query').rows ?? {}, { resolve: rows });
  const resolve = (_row: unknown, _args: object, context: Context) => {
    const { world } = context;
    world.resolved++;
    context.noted = world.state;
    return world.state;
  };
  for (const name of ['state', 'with']) Object.assign(fieldsOf('Row')[name] ?? {}, { resolve });
  const { write } = createWriter(schema, text, { maxBytes });
  return (world: World) => {
    const before = world.resolved;
    const context = new Context(world);
    const parts = write(context) ?? [];
    const data = { rows: rows().map((row) => ({ ...row, state: world.state })), __typename: 'Query' };
    expect(Buffer.concat(parts).toString()).toBe(JSON.stringify({ data }));
    expect(context.noted).toBe(world.state);
    return { parts, calls: world.resolved - before };
  };
}

/** The same, but returns only how often the resolver was called. */
function callsOf(...options: Parameters<typeof writerOf>): (world: World) => number {
  const write = writerOf(...options);
  return (world) => write(world).calls;
}

describe('kept JSON', () => {
  it('is used from the second time on, and written again if something else is read', () => {
    const calls = callsOf(() => ROWS);
    const here = world();
    expect([calls(here), calls(here), calls(here)]).toEqual([20, 0, 0]);
    here.state = 'two';
    expect([calls(here), calls(here)]).toEqual([20, 0]);
  });

  it('is a part of each response, without being copied, if it is long', () => {
    const write = writerOf(() => MANY);
    const here = world();
    const [, second, third] = [1, 2, 3].map(() => write(here).parts);
    expect(second).toHaveLength(3);
    expect(second?.[1]?.length).toBeGreaterThan(10_000);
    expect(third?.[1]).toBe(second?.[1]);
  });

  it.each<[string, Parameters<typeof writerOf>]>([
    ['a field with arguments', [() => ROWS, 1e6, TEXT.replace('state', 'state: with(add: "x")')]],
    ['rows that can change', [() => Object.freeze(ROWS.map((row) => ({ ...row })))]],
    ['rows beyond the bound', [() => [...ROWS], 100]],
  ])('is not used for %s', (_name, options) => {
    const calls = callsOf(...options);
    const here = world();
    const [first, ...others] = [calls(here), calls(here), calls(here)];
    expect(first).toBe(20);
    expect(Math.min(...others)).toBeGreaterThan(18);
  });

  it('is kept for each row if the list can change or is too long to be kept', () => {
    let rows = [...ROWS];
    const calls = callsOf(() => rows);
    const here = world();
    expect(calls(here)).toBe(20);
    rows.reverse();
    expect(calls(here)).toBe(0);
    rows = [...rows.slice(0, 9), Object.freeze({ a: 'row 99', b: 99 })];
    expect([calls(here), calls(here)]).toEqual([1, 0]);
    here.state = 'two';
    expect([calls(here), calls(here)]).toEqual([10, 0]);
    const long = callsOf(() => MANY, 100_000);
    expect([long(here), long(here), long(here)]).toEqual([100, 100, 0]);
  });

  it('is dropped when all of it together exceeds the limit', () => {
    const lists = Array.from({ length: 20 }, () => Object.freeze([...ROWS]));
    let rows: readonly (typeof ROWS)[number][] = ROWS;
    const calls = callsOf(() => rows, 12_000);
    const here = world();
    const callsOfAll = () =>
      lists.map((list) => {
        rows = list;
        return calls(here);
      });
    expect(callsOfAll()).toEqual(Array(20).fill(20));
    expect(callsOfAll()).toContain(20);
  });
});

const MANY = Object.freeze(
  Array.from({ length: 100 }, (_, nth) => Object.freeze({ a: `row ${nth} ${'x'.repeat(300)}`, b: nth })),
);

const LONG = { chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 };

/** Starts a gateway with both listings. */
async function startLoaded(options: TestServerOptions): Promise<TestServer> {
  const server = await startServer({ ...options, config: { ...LONG, ...options.config } });
  await server.ask({ query: '{ chains { name } tokens { name } }' });
  return server;
}

/** Sends a query again and again with another `$other`, so that its response is made anew, with kept JSON. */
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

describe('a list with other variables each time', () => {
  const ROW_COUNT = 30;
  const upstreamRows = (usd: number) => {
    const tokens = Array.from({ length: ROW_COUNT }, (_, nth) =>
      tokenRow('ethereum', `0x${String(nth + 1).padStart(40, '0')}`, { symbol: `T${nth}`, price: { usd } }),
    );
    return { chains: [chainRow('ethereum')], tokens };
  };
  const QUERY =
    'query ($other: String!) { tokens(srcChainKey: "ethereum") { symbol price { usd } chain { name } } other: chain(chainKey: $other) { name } }';

  it('has the same body and headers each time, and new ones after a refresh', async () => {
    const server = await startLoaded({ listings: upstreamRows(1) });
    const send = repeatedly(server, QUERY);
    const ask = async () => {
      const { headers, ...body } = await send();
      const { date: _date, age: _age, 'x-request-id': _id, 'cache-control': control, ...same } = headers;
      return { body, headers: same, control: control?.replace(/\d+/g, '') };
    };
    const expectAnswers = async (usd: number, name: string) => {
      const first = await ask();
      const row = { price: { usd }, chain: { name } };
      const tokens = Array.from({ length: ROW_COUNT }, (_, nth) => ({ symbol: `T${nth}`, ...row }));
      expect(first.body).toEqual({ data: { tokens, other: null } });
      for (let nth = 0; nth < 3; nth++) expect(await ask()).toEqual(first);
    };
    await expectAnswers(1, 'The ethereum chain');
    await refreshWith(server, upstreamRows(2).tokens, [chainRow('ethereum')]);
    await expectAnswers(2, 'The ethereum chain');
    await refreshWith(server, upstreamRows(2).tokens, [chainRow('ethereum', { name: 'Ether' })]);
    await expectAnswers(2, 'Ether');
  });

  it('shows no price that has become too old', async () => {
    const clock = stopClocks();
    const server = await startLoaded({ listings: upstreamRows(1), config: { priceMaxAgeMs: 60_000 } });
    const send = repeatedly<{ tokens: { price: { usd: number } | null }[] }>(server, QUERY);
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

  it('is written again after a change of chains that only its list reads', async () => {
    const server = await startLoaded({ listings: upstreamRows(1) });
    const query = 'query ($key: String) { tokens(srcChainKey: $key) { symbol chain { name } } }';
    const ask = async () => String((await server.ask({ query, variables: { key: 'ethereum' } })).body);
    // The third response is from the response cache, whose entry was made with the kept list.
    for (let nth = 0; nth < 2; nth++) await server.ask({ query, variables: { key: `no-${nth}` } });
    for (let nth = 0; nth < 4; nth++) expect(await ask()).toContain('The ethereum chain');
    await refreshWith(server, upstreamRows(1).tokens, [chainRow('ethereum', { name: 'Ether' })]);
    for (let nth = 0; nth < 4; nth++) expect(await ask()).not.toContain('The ethereum chain');
  });
});

/** Refreshes one listing while the refresh of the other one fails. */
async function refreshOnly({ snapshots, upstream }: TestServer, name: 'chains' | 'tokens', rows: object[]) {
  upstream.plan(name, json({ [name]: rows }));
  upstream.plan(name === 'chains' ? 'tokens' : 'chains', status(404));
  const before = snapshots.current();
  await new Promise((resolve) => setTimeout(resolve, 2));
  snapshots.refreshNow();
  await expect.poll(() => snapshots.current()[name], { interval: 2 }).not.toBe(before[name]);
  const other = name === 'chains' ? 'tokens' : 'chains';
  expect(snapshots.current()[other]).toBe(before[other]);
}

describe('kept JSON of one listing', () => {
  const CHAINS = { chains: [chainRow('ethereum')] };
  const TOKEN = `0x${'1'.repeat(40)}`;

  /** Starts a gateway that has kept the JSON of this field. @returns it, and a function that queries the field again */
  async function startWith(field: string) {
    const server = await startLoaded({ listings: { ...CHAINS, tokens: [tokenRow('ethereum', TOKEN)] } });
    const query = `query ($other: String!) { shown: ${field} other: chain(chainKey: $other) { name } }`;
    const send = repeatedly<{ shown: unknown }>(server, query);
    const ask = async () => JSON.stringify((await send()).data?.shown);
    const first = await ask();
    for (let nth = 0; nth < 3; nth++) expect(await ask()).toBe(first);
    return { server, ask, first };
  }

  it.each([
    'tokens(srcChainKey: "ethereum") { chain { name } }',
    `token(chainKey: "ethereum", address: "${TOKEN}") { chain { name } }`,
  ])('changes with the chain listing alone, if it shows chains: %s', async (field) => {
    const { server, ask, first } = await startWith(field);
    expect(first).toContain('The ethereum chain');
    await refreshOnly(server, 'chains', [chainRow('ethereum', { name: 'Ether' })]);
    for (let nth = 0; nth < 3; nth++) expect(await ask()).toBe(first.replace('The ethereum chain', 'Ether'));
  });

  it('changes with the token listing alone, and with its time alone, if a chain shows tokens', async () => {
    const { server, ask, first } = await startWith(
      'chain(chainKey: "ethereum") { tokenCount tokens { name } }',
    );
    expect(first).toBe('{"tokenCount":1,"tokens":[{"name":"USD Coin"}]}');
    const timed = await startWith('chain(chainKey: "ethereum") { tokens { price { asOf } } }');
    const other = tokenRow('ethereum', `0x${'2'.repeat(40)}`, { name: 'Two' });
    await refreshOnly(server, 'tokens', [tokenRow('ethereum', TOKEN), other]);
    for (let nth = 0; nth < 3; nth++)
      expect(await ask()).toBe('{"tokenCount":2,"tokens":[{"name":"USD Coin"},{"name":"Two"}]}');
    await refreshOnly(timed.server, 'tokens', [tokenRow('ethereum', TOKEN)]);
    const { takenAt = 0 } = timed.server.snapshots.current().tokens ?? {};
    const now = `{"tokens":[{"price":{"asOf":"${new Date(takenAt).toISOString()}"}}]}`;
    expect(now).not.toBe(timed.first);
    for (let nth = 0; nth < 3; nth++) expect(await timed.ask()).toBe(now);
  });
});

describe('JSON that is used again', () => {
  it('counts as many rows as when it was written', async () => {
    const tokens = Array.from({ length: 4 }, (_, nth) => tokenRow('ethereum', `0x${nth + 1}`));
    const decorate = withHeldBack({ USDC: [{ fact: 'decimals', served: '6', upstream: '7', since: 1 }] });
    const listings = { chains: [chainRow('ethereum')], tokens };
    // Eight rows each time: four tokens, and one fact of each.
    const server = await startServer({ listings, decorate, config: { ...LONG, maxRows: 15 } });
    const field = 'tokens { symbol heldBack { fact } }';
    const query = `query ($other: String!) { ${field} again: ${field} other: chain(chainKey: $other) { name } }`;
    const send = repeatedly(server, query);
    for (let nth = 0; nth < 4; nth++) expect(codesOf(await send())).toEqual(['LIMIT_EXCEEDED']);
  });

  it('does not show expired routes, even if another field had read them', async () => {
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
});
