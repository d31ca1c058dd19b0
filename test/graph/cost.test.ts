import fc from 'fast-check';
import { execute, getOperationAST, getVariableValues, parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { fragmentsOf } from '../../src/execution/document-limits.js';
import { createContext } from '../../src/graph/context.js';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { EVERY_FIELD } from '../fixtures/every-field.js';
import { chainRow, tokenRow } from '../fixtures/rows.js';
import { json, startFakeUpstream } from '../support/fake-upstream.js';
import { operationsOf } from '../support/generated-operations.js';
import {
  codesOf,
  createTestGateway,
  createTestLog,
  defaultConfig,
  type TestGateway,
} from '../support/test-gateway.js';

const schema = withFederation(ownSchema);

/** Executes an operation without limits. @returns its cost and its data */
async function execution({ snapshots }: TestGateway, query: string, variables: object = {}, name?: string) {
  const { log } = await createTestLog();
  const limits = { maxCost: 1e9, maxRows: 1e7, unitsOfWholeToken: 30 };
  const options = { ...defaultConfig(), ...limits, snapshots, log };
  const context = createContext(options, { client: undefined, yieldToQueue: async () => {} });
  const document = parse(query);
  const operation = getOperationAST(document, name);
  if (!operation) throw new Error('Expected an operation');
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], { ...variables });
  if (coerced)
    context.cost.chargeOperation({ schema, fragments: fragmentsOf(document), operation, variables: coerced });
  const { data } = await execute({
    schema,
    document,
    operationName: name,
    variableValues: { ...variables },
    contextValue: context,
  });
  return { ...context.cost.spent, data };
}

/** The cost of a response in units: one for each member of an object, and one for each object in a list. */
function membersOf(value: unknown): number {
  if (Array.isArray(value)) {
    return value.reduce<number>((sum, item) => sum + (isObject(item) ? 1 : 0) + membersOf(item), 0);
  }
  if (!isObject(value)) return 0;
  return Object.values(value).reduce<number>((sum, member) => sum + 1 + membersOf(member), 0);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

describe('the cost of an operation', () => {
  it('is at least the cost of its response, for any operation', async () => {
    const chains = demoChains.filter(({ chainKey }) => ['ethereum', 'base', 'solana'].includes(chainKey));
    const gateway = await createTestGateway({ listings: { chains, tokens: demoTokens.slice(0, 40) } });
    await gateway.query('{ chains { name } tokens { symbol } }');
    let counted = 0;
    await fc.assert(
      fc.asyncProperty(operationsOf(), async ({ query, variables, operationName }) => {
        if (validate(schema, parse(query)).length > 0) return;
        const { units, data } = await execution(gateway, query, variables, operationName);
        if (!data) return;
        counted++;
        expect(units).toBeGreaterThanOrEqual(membersOf(data));
      }),
      { numRuns: 150 },
    );
    expect(counted).toBeGreaterThan(20);
  });
});

describe('MAX_COST', () => {
  const whole = `{ tokens ${EVERY_FIELD} }`;

  it('allows one whole token listing with every field and chain, and no more', async () => {
    const gateway = await createTestGateway({ config: { maxCost: 1 } });
    expect(await gateway.query(whole)).not.toHaveProperty('errors');
    const answer = await gateway.query(`{ tokens ${EVERY_FIELD} listings { name } }`);
    expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
    expect(answer).not.toHaveProperty('data');
    // The limit also allows the fields around the list in `tokenChanges`.
    const limit = (await execution(gateway, whole)).units + 4;
    expect(answer.errors?.[0]?.message).toContain(
      `may cost at most ${limit} units (MAX_COST); this one costs ${limit + 1}.`,
    );
  });

  it('refuses an operation that has an error in each row', async () => {
    const gateway = await createTestGateway({ config: { maxCost: 1 } });
    const answer = await gateway.query(
      'query ($on: Boolean = true) { tokens { chain { name @include(if: $on) } } }',
      { on: null },
    );
    expect(codesOf(answer)).toEqual(['LIMIT_EXCEEDED']);
    expect(answer.errors).toHaveLength(1);
  });

  it('refuses with HTTP 400 if the client accepts the newer media type', async () => {
    const { post, upstream } = await createTestGateway({ config: { maxCost: 1, tokensFreshMs: 3_600_000 } });
    const query = `{ a: tokens ${EVERY_FIELD} b: tokens ${EVERY_FIELD} }`;
    const response = await post({ query }, { accept: 'application/graphql-response+json' });
    expect(response.status).toBe(400);
    expect(upstream.count()).toBeLessThanOrEqual(2);
  });

  it('counts a search by the listed tokens and the words of the query', async () => {
    const { query } = await createTestGateway({
      upstream: await startFakeUpstream({ chains: [chainRow('a')], tokens: [tokenRow('a', '0x1')] }),
      config: { maxCost: 100 },
    });
    const searches = (count: number, words: string) =>
      `{ ${Array.from({ length: count }, (_nothing, nth) => `s${nth}: tokenSearch(query: "${words}") { totalCount }`).join(' ')} }`;
    // The units of each search: two for its fields, one for each listed token, and one for each listed token and word.
    expect(codesOf(await query(searches(20, 'a b')))).toEqual([]);
    expect(codesOf(await query(searches(21, 'a b')))).toEqual(['LIMIT_EXCEEDED']);
    expect(codesOf(await query(searches(20, 'a b c')))).toEqual(['LIMIT_EXCEEDED']);
  });

  it('counts the rows of searches and routes', async () => {
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
});

describe('the limit on rows', () => {
  const on = (chainKey: string) => demoTokens.filter((token) => token.chainKey === chainKey).length;
  const five = (text: string) => `[${Array(5).fill(text)}]`;
  const CAIP19 = `"eip155:1/erc20:0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48"`;
  const KEY = '{ chainKey: "ethereum", address: "0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48" }';

  it.each<[field: string, rows: number, isExact?: boolean]>([
    [`tokens ${EVERY_FIELD}`, demoTokens.length, true],
    ['chain(chainKey: "base") { name nativeCurrency { name } }', 0, true],
    [
      'tokens(srcChainKey: "base") { ...{ symbol } ... on Node { id } symbol name @skip(if: true) }',
      on('base'),
      true,
    ],
    ['chains { name tokenCount }', demoChains.length],
    [
      'chains { tokens { id chain { tokens @include(if: false) { id } } } }',
      demoChains.length + demoTokens.length,
      true,
    ],
    ['tokens { id chain { name } }', demoTokens.length, true],
    ['tokens(srcChainKey: "Base") { id }', on('base')],
    ['chain(chainKey: "BASE") { tokens { id } }', on('base')],
    ['chainsByKey(chainKeys: ["base", "Base", "nope"]) { tokens { id } }', 3 + 2 * on('base')],
    [`tokensByKey(keys: ${five(KEY)}) { chain { tokens { id } } }`, 5 + 5 * on('ethereum'), true],
    [`chainsByCaip2(caip2s: ${five('"eip155:1"')}) { tokens { id } }`, 5 + 5 * on('ethereum'), true],
    [`tokensByCaip19(caip19s: ${five(CAIP19)}) { chain { tokens { id } } }`, 5 + 5 * on('ethereum'), true],
    ['nodes(ids: ["x", "y"]) { id }', 2],
    [
      '_entities(representations: [{ __typename: "Chain", chainKey: "Base" }]) { ... on Chain { tokens { id } } }',
      1 + on('base'),
      true,
    ],
    [
      `_entities(representations: ${five(`{ __typename: "Token", caip19: ${CAIP19} }`)}) { ... on Token { chain { tokens { id } } } }`,
      5 + 5 * on('ethereum'),
      true,
    ],
    ['tokenSearch { nodes { id } edges { cursor } totalCount }', 40],
    ['tokenChanges { changed { id } }', demoTokens.length],
    ['chainChanges { changed { tokens { id } } removedIds }', demoChains.length + demoTokens.length],
    ['listings { name }', 2],
  ])('counts the rows of %s, and each member of its response as a unit', async (field, rows, isExact) => {
    const gateway = await createTestGateway();
    await gateway.query('{ chains { name } tokens { symbol } }');
    const cost = await execution(gateway, `{ ${field} }`);
    expect(cost.rows).toBe(rows);
    if (isExact) expect(cost.units).toBe(membersOf(cost.data));
    const fitting = await createTestGateway({ config: { maxRows: Math.max(1, rows) } });
    expect(codesOf(await fitting.query(`{ ${field} }`))).toEqual([]);
    if (rows < 2) return;
    const small = await createTestGateway({ config: { maxRows: rows - 1 } });
    const refused = await small.query(`{ ${field} }`);
    expect(codesOf(refused)).toEqual(['LIMIT_EXCEEDED']);
    expect(refused).not.toHaveProperty('data');
  });
});

describe('variables', () => {
  it('are coerced with a bound on errors and on their messages', async () => {
    const { post } = await createTestGateway();
    const ask = async (query: string, variables: object) => {
      const response = await post({ query, variables });
      const text = await response.text();
      return { text, errors: (JSON.parse(text) as { errors: { extensions: { code: string } }[] }).errors };
    };
    const list = await ask('query ($keys: [TokenKey!]!) { tokensByKey(keys: $keys) { id } }', {
      keys: Array(250_000).fill(1),
    });
    expect(list.errors).toHaveLength(11);
    expect(new Set(list.errors.map(({ extensions }) => extensions.code))).toEqual(
      new Set(['BAD_USER_INPUT']),
    );
    const members = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_x, nth) => [`f${nth}`, 'x'.repeat(5_000)]));
    const filter = members(50);
    const object = await ask('query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }', {
      f: filter,
    });
    expect(object.errors).toHaveLength(11);
    expect(object.text.length).toBeLessThan(30_000);
    const large = await ask('query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }', {
      f: members(51),
    });
    const message =
      'Expected objects of at most 50 members in the variables, which are invalid, got one of 51.';
    expect(large.errors).toEqual([{ message, extensions: { code: 'BAD_USER_INPUT' } }]);
  });
});
