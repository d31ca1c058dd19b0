import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { demoChains, demoTokens } from '../fixtures/demo.js';
import { startFakeUpstream, status } from '../support/fake-upstream.js';
import { selectionOf } from '../support/generated-queries.js';
import { createTestGateway } from '../support/test-gateway.js';

describe('an operation that is asked again, and so is compiled', () => {
  it('answers as it did when it was executed', async () => {
    const upstream = await startFakeUpstream({
      chains: demoChains.slice(0, 20),
      tokens: demoTokens.slice(0, 80),
    });
    const { query } = await createTestGateway({
      upstream,
      config: { maxAliases: 10_000, chainsFreshMs: 3_600_000, tokensFreshMs: 3_600_000 },
    });
    // The first is not to be the one that finds nothing there yet.
    await query('{ chains { name } tokens { name } }');
    const comparable = (answer: object) =>
      JSON.stringify(answer, (key, value) => (key === 'locations' ? undefined : value)).replace(
        /"(f\d+)":\d+/g,
        '"$1":0',
      );
    await fc.assert(
      fc.asyncProperty(selectionOf('Query', 2), async (selection) => {
        // What has directives is never compiled.
        const executed = await query(`{ ... @include(if: true) { ${selection} } }`);
        for (let nth = 0; nth < 3; nth++) {
          expect(comparable(await query(`{ ${selection} }`))).toBe(comparable(executed));
        }
      }),
      { numRuns: 40 },
    );
  });

  it.each<[string, string, object?]>([
    ['an argument that cannot be meant', '{ a: tokenSearch(first: 0) { totalCount } chains { name } }'],
    ['an error below a list', '{ tokens { symbol chain { name } } }'],
    ['a variable of another type', 'query ($k: String!) { chain(chainKey: $k) { name } }', { k: 5 }],
    ['a missing variable', 'query ($k: String!) { chain(chainKey: $k) { name } }'],
    [
      'null where it may not be',
      'query ($k: String = "base") { chain(chainKey: $k) { name } listings { name } }',
      { k: null },
    ],
    [
      'an unknown enum value',
      'query ($o: TokenOrder) { tokenSearch(orderBy: $o) { totalCount } }',
      { o: 'BEST' },
    ],
    [
      'a field that is not in an input',
      'query ($f: TokenFilter) { tokenSearch(filter: $f) { totalCount } }',
      { f: { x: 1 } },
    ],
    [
      'directives',
      'query ($y: Boolean!) { chains { name @include(if: $y) chainKey @skip(if: $y) } }',
      { y: true },
    ],
    [
      'a fragment in two places, of which one is left out',
      'query ($y: Boolean!) { a: chain(chainKey: "base") { ...C @include(if: $y) } b: chain(chainKey: "sei") { ...C } } fragment C on Chain { name }',
      { y: false },
    ],
    [
      'a fragment twice in one place, of which one is left out',
      'query ($y: Boolean!) { chain(chainKey: "base") { ...C @include(if: $y) ...C @skip(if: $y) } } fragment C on Chain { name }',
      { y: false },
    ],
    [
      'aliases that every object has',
      '{ __proto__: chain(chainKey: "base") { __proto__: name constructor: chainKey toString: chainId } }',
    ],
    [
      'variables that every object has',
      'query ($constructor: String, $toString: [String!]) { chains(search: $constructor, chainTypes: $toString) { name } }',
    ],
    [
      'fragments',
      '{ node(id: "WyJDaGFpbiIsImJhc2UiXQ") { __typename ...C } } fragment C on Chain { name tokens { symbol } }',
    ],
    [
      'introspection',
      '{ __schema { queryType { name } types { name } } __type(name: "Token") { fields { name } } }',
    ],
    [
      'a representation of an entity',
      '{ _entities(representations: [{ __typename: "Chain", chainKey: "base" }, 5]) { ... on Chain { name } } }',
    ],
  ])('has the same errors: %s', async (_name, text, variables) => {
    const upstream = await startFakeUpstream();
    upstream.plan('chains', status(500));
    for (const options of [{}, { upstream, config: { upstreamRetries: 0 } }]) {
      const { query } = await createTestGateway(options);
      const executed = await query(text, variables);
      for (let nth = 0; nth < 3; nth++) {
        const again = await query(text, variables);
        expect(JSON.stringify(again.data)).toBe(JSON.stringify(executed.data));
        expect(sorted(again.errors)).toEqual(sorted(executed.errors));
      }
    }
  });

  it('runs with the variables of each request', async () => {
    const { query } = await createTestGateway();
    const text = 'query ($k: String!) { chain(chainKey: $k) { chainKey } }';
    for (const k of ['base', 'sei', 'base', 'nope', 'solana']) {
      expect((await query(text, { k })).data).toEqual({ chain: k === 'nope' ? null : { chainKey: k } });
    }
  });

  it('runs no text of the client as code', async () => {
    const { query } = await createTestGateway();
    // As the compiler marks values that JSON lacks: what follows its mark of a time is put into what it compiles.
    const mark = '__MAGIC_DATE__33a9e76d_02e0_4128_8e92_3530ad3da74d';
    for (const quotes of ['"', '"""']) {
      const text = `{ chain(chainKey: ${quotes}${mark}globalThis.wasRun=1${quotes}) { name } }`;
      for (let nth = 0; nth < 3; nth++) {
        expect(await query(text)).toEqual({ data: { chain: null } });
        expect(globalThis).not.toHaveProperty('wasRun');
      }
    }
  });

  it('shows in one operation of a document what another leaves out', async () => {
    const { fetch } = await createTestGateway();
    const query =
      'query A($y: Boolean!) { chain(chainKey: "base") { ...C @include(if: $y) } } query B { chain(chainKey: "base") { ...C } } fragment C on Chain { name }';
    for (const operationName of ['A', 'A', 'B', 'B', 'B']) {
      const response = await fetch('/graphql', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query, operationName, variables: { y: true } }),
      });
      expect(await response.json()).toEqual({ data: { chain: { name: 'Base' } } });
    }
  });

  it('is one of the document that is named', async () => {
    const { fetch } = await createTestGateway();
    const query =
      'query A { chain(chainKey: "base") { chainKey } } query B { chain(chainKey: "sei") { name } }';
    for (let nth = 0; nth < 3; nth++) {
      for (const [operationName, chain] of [
        ['A', { chainKey: 'base' }],
        ['B', { name: 'SEI' }],
      ]) {
        const response = await fetch('/graphql', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ query, operationName }),
        });
        expect(await response.json()).toEqual({ data: { chain } });
      }
    }
  });
});

function sorted(errors: readonly object[] | undefined): string[] | undefined {
  return errors?.map((error) => JSON.stringify(error)).sort();
}
