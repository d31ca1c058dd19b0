/** An operation costs at least as much as its response, and is refused beyond MAX_COST or the limit on rows. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { EVERY_FIELD } from '../fixtures/every-field.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { share } from '../support/ends.js';
import { json, status } from '../support/fake-upstream.js';
import { operationsOf } from '../support/generated-operations.js';
import { type Answered, codesOf, createTestGateway } from '../support/test-gateway.js';
import { createExecutor } from './executor.js';

/** The cost of a response in units: one for each member of an object, and one for each object in a list. */
function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const counted = (item: unknown) => !Array.isArray(value) || (typeof item === 'object' && item !== null);
  return Object.values(value).reduce<number>(
    (sum, item) => sum + (counted(item) ? 1 : 0) + membersOf(item),
    0,
  );
}

it('the cost of any operation is at least the cost of its response', async () => {
  const chains = demoChains.filter(({ chainKey }) => ['ethereum', 'base', 'solana'].includes(chainKey));
  const listings = { chains, tokens: demoTokens.slice(0, 40) };
  const gateway = await createTestGateway({ hasListings: true, listings });
  const execute = await createExecutor(gateway);
  let counted = 0;
  await fc.assert(
    fc.asyncProperty(operationsOf(), async (operation) => {
      const { data, context } = (await execute(operation)) ?? {};
      if (!data || !context) return;
      counted++;
      expect(context.cost.spent.units).toBeGreaterThanOrEqual(membersOf(data));
    }),
    { numRuns: 80 },
  );
  expect(counted).toBeGreaterThan(8);
});

const demo = share(async (atEnd) => {
  const gateway = await createTestGateway({ hasListings: true, atEnd });
  return { execute: await createExecutor(gateway) };
});

it.each([
  [`tokens ${EVERY_FIELD}`, 'listings { name }'],
  [`tokenChanges { cursor isReset removedIds changed ${EVERY_FIELD} }`, '__typename'],
])('MAX_COST=1 allows a token listing with every field and chain, no more: %s', async (whole, other) => {
  const { query, post } = await createTestGateway({ config: { maxCost: 1 } });
  expect(await query(`{ ${whole} }`)).not.toHaveProperty('errors');
  const more = `{ ${whole} ${other} }`;
  const answer = await query(more);
  expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
  expect(answer).not.toHaveProperty('data');
  const units = (await demo.execute({ query: more }))?.context.cost.spent.units ?? 0;
  expect(answer.errors?.[0]?.message).toContain(
    `may cost at most ${units - 1} units (MAX_COST); this one costs ${units}.`,
  );
  const newer = { accept: 'application/graphql-response+json' };
  expect((await post({ query: more }, newer)).status).toBe(400);
});

it('without a chain listing, each row of one token listing may have its errors, and more errors or waits are refused', async () => {
  const listings = { chains: status(500) };
  const { query } = await createTestGateway({ listings, config: { upstreamRetries: 0 } });
  const row = '{ isNative caip19 chain { name } }';
  const { data, errors = [] } = await query<{ tokens: object[] }>(`{ tokens ${row} }`);
  expect(data?.tokens).toHaveLength(demoTokens.length);
  expect(errors).toHaveLength(2 * demoTokens.length);
  const aliased = (field: string) => Array.from(Array(10), (_none, nth) => `a${nth}: ${field}`).join(' ');
  for (const field of ['chain { name }', 'caip19', 'isNative']) {
    const more = `{ tokens { ${aliased(field)} } }`;
    const answer = await query(more);
    expect(codesOf(answer), more).toEqual(['LIMIT_EXCEEDED']);
    expect(answer).not.toHaveProperty('data');
  }
});

it('the cost counts a search by the listed tokens and the words of the query', async () => {
  const listings = { chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] };
  const { query } = await createTestGateway({ listings, config: { maxCost: 100 } });
  const searches = (count: number, words: string) =>
    `{ ${Array.from(Array(count), (_none, nth) => `s${nth}: tokenSearch(query: "${words}") { totalCount }`)} }`;
  // The units of each search: two for its fields, one for each listed token, and one for each listed token and word.
  expect(codesOf(await query(searches(20, 'a b')))).toEqual([]);
  expect(codesOf(await query(searches(21, 'a b')))).toEqual(['LIMIT_EXCEEDED']);
  expect(codesOf(await query(searches(20, 'a b c')))).toEqual(['LIMIT_EXCEEDED']);
  // Each of these characters is folded to a letter in brackets, so the query has two words.
  expect(codesOf(await query(searches(21, '⒜⒝')))).toEqual(['LIMIT_EXCEEDED']);
});

it('the cost counts each character of a symbol in a filter as three units', async () => {
  const unitsOf = async (symbol: string) => {
    const query = `{ tokenSearch(filter: { symbols: ["${symbol}"] }) { totalCount } }`;
    return (await demo.execute({ query }))?.context.cost.spent.units ?? 0;
  };
  expect((await unitsOf('USDC')) - (await unitsOf(''))).toBe(12);
});

it('the cost counts each four characters of a long address as a unit', async () => {
  const unitsOf = async (address: string, look = (key: string) => `tokensByKey(keys: [${key}]) { id }`) => {
    const query = `{ ${look(`{ chainKey: "sui", address: "${address}" }`)} }`;
    return (await demo.execute({ query }))?.context.cost.spent.units;
  };
  const entity = (key: string) =>
    `_entities(representations: [${key.replace('{', '{ __typename: "Token",')}]) { __typename }`;
  const move = `0x1::${'0xA::'.repeat(99)}`;
  expect(await unitsOf('0x1')).toBe(3);
  expect(await unitsOf(move.slice(0, 100))).toBe(3);
  for (const look of [undefined, entity]) expect(await unitsOf(move, look)).toBe(3 + 100);
  // A text that is too long for an address is not read.
  expect(await unitsOf(move.repeat(2))).toBe(3 + 103);
});

it('the cost counts each list of the introspection as eight rows, in each of its aliases', async () => {
  const fields = 'fields { type { fields { type { name description kind } args { name } } } }';
  const ofFields = 1 + 8 * (2 + 8 * (4 + 1 + 8));
  for (const aliases of [['a'], ['a', 'b']]) {
    const query = `{ __schema { types { ${aliases.map((alias) => `${alias}: ${fields}`)} } } }`;
    const { context } = (await demo.execute({ query })) ?? {};
    expect(context?.cost.spent.units).toBe(2 + 8 * aliases.length * ofFields);
  }
});

it('the cost counts the rows of searches and routes', async () => {
  const tokens = Array.from({ length: 3 }, (_nothing, nth) => tokenRow('a', `0x${nth + 1}`));
  const { query, upstream } = await createTestGateway({
    listings: { chains: [chainRow('a'), chainRow('b')], tokens },
    config: { maxCost: 1_500 },
  });
  expect(codesOf(await query('{ chains { name } tokens { symbol } }'))).toEqual([]);
  const routes = Array.from({ length: 200 }, (_nothing, nth) => tokenRow('b', `0x${nth + 100}`));
  upstream.plan('tokens', json({ tokens: routes }));
  const ask = (fields: string) => query(`{ destinations(srcChainKey: "a", srcToken: "0x1") ${fields} }`);
  expect(codesOf(await ask('{ tokens { symbol } }'))).toEqual([]);
  // The routes are cached, so they cost no 1,000 units. But 200 rows of seven fields exceed the limit by themselves.
  const dear = await ask('{ tokens { symbol name address decimals chainKey id isBridgeable } }');
  expect(codesOf(dear)).toEqual(['LIMIT_EXCEEDED']);
  expect(dear).not.toHaveProperty('data');
  const { data } = await query<{ tokenSearch: { edges: [] } }>('{ tokenSearch { edges { cursor } } }');
  expect(data?.tokenSearch.edges).toHaveLength(3);
});

const on = (chainKey: string) => demoTokens.filter((token) => token.chainKey === chainKey).length;
const five = (text: string) => `[${Array(5).fill(text)}]`;
const CAIP19 = `"eip155:1/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"`;
const ALL = demoChains.length + demoTokens.length;
const TOKENS_OF_CHAIN = '{ chain { tokens { id } } }';
const KEY = '{ chainKey: "ethereum", address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" }';

const ON_CHAIN = '{ ... on Chain { tokens { id } } }';
it.each<[field: string, rows: number, isExact?: boolean]>([
  [`tokens ${EVERY_FIELD}`, demoTokens.length, true],
  ['chain(chainKey: "base") { name nativeCurrency { name } }', 0, true],
  ['tokens(srcChainKey: "base") { ...{ symbol } ... on Node { id } name @skip(if: true) }', on('base'), true],
  ['chains { name tokenCount }', demoChains.length],
  ['chains { tokens { id chain { tokens @include(if: false) { id } } } }', ALL, true],
  ['tokens { id chain { name } }', demoTokens.length, true],
  ['tokens(srcChainKey: "Base") { id }', on('base')],
  ['chain(chainKey: "BASE") { tokens { id } }', on('base')],
  ['chainsByKey(chainKeys: ["base", "Base", "nope"]) { tokens { id } }', 3 + 2 * on('base')],
  [`tokensByKey(keys: ${five(KEY)}) ${TOKENS_OF_CHAIN}`, 5 + 5 * on('ethereum'), true],
  [`chainsByCaip2(caip2s: ${five('"eip155:1"')}) { tokens { id } }`, 5 + 5 * on('ethereum'), true],
  [`tokensByCaip19(caip19s: ${five(CAIP19)}) ${TOKENS_OF_CHAIN}`, 5 + 5 * on('ethereum'), true],
  ['nodes(ids: ["x", "y"]) { id }', 2],
  [
    `_entities(representations: [{ __typename: "Chain", chainKey: "Base" }]) ${ON_CHAIN}`,
    1 + on('base'),
    true,
  ],
  [
    `_entities(representations: ${five(`{ __typename: "Token", caip19: ${CAIP19} }`)}) { ... on Token ${TOKENS_OF_CHAIN} }`,
    5 + 5 * on('ethereum'),
    true,
  ],
  ['tokenSearch { nodes { id } edges { cursor } totalCount }', 40],
  ['tokenChanges { changed { id } }', demoTokens.length],
  ['chainChanges { changed { tokens { id } } removedIds }', ALL],
  ['listings { name }', 2],
])('the limit counts the rows of %s, and members as units', async (field, rows, isExact) => {
  const { context, data } = (await demo.execute({ query: `{ ${field} }` })) ?? {};
  expect(context?.cost.spent.rows).toBe(rows);
  if (isExact) expect(context?.cost.spent.units).toBe(membersOf(data));
});

it.each([
  ['{ chains { tokens { id } } }', ALL],
  ['{ _entities(representations: [{ __typename: "Chain", chainKey: "a" }, {}]) { __typename } }', 2],
])('the limit on rows is exact: %s', async (query, rows) => {
  const fitting = await createTestGateway({ config: { maxRows: rows } });
  expect(codesOf(await fitting.query(query))).not.toContain('LIMIT_EXCEEDED');
  const small = await createTestGateway({ config: { maxRows: rows - 1 } });
  const refused = await small.query(query);
  expect(codesOf(refused)).toEqual(['LIMIT_EXCEEDED']);
  expect(refused).not.toHaveProperty('data');
});

it('variables are coerced with a bound on errors and on their messages', async () => {
  const { post } = await createTestGateway();
  const ask = async (query: string, variables: object) => {
    const text = await (await post({ query, variables })).text();
    return { length: text.length, errors: (JSON.parse(text) as Answered<object>).errors };
  };
  const BAD = { code: 'BAD_USER_INPUT' };
  const eleven = Array(11).fill(expect.objectContaining({ extensions: BAD }));
  const byKeys = 'query ($keys: [TokenKey!]!) { tokensByKey(keys: $keys) { id } }';
  expect((await ask(byKeys, { keys: Array(250_000).fill(1) })).errors).toEqual(eleven);
  const askWith = (members: number) => {
    const f = Object.fromEntries(Array.from(Array(members), (_x, nth) => [`f${nth}`, 'x'.repeat(1_900)]));
    return ask('query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }', { f });
  };
  const { errors, length } = await askWith(50);
  expect(errors).toEqual(eleven);
  expect(length).toBeLessThan(30_000);
  const message = 'The variables are invalid. Expected at most 50 members in each object, got 51.';
  expect((await askWith(51)).errors).toEqual([{ message, extensions: BAD }]);
});
