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
    const withoutAge = (answer: object) => JSON.stringify(answer).replace(/"(f\d+)":\d+/g, '"$1":0');
    await fc.assert(
      fc.asyncProperty(selectionOf('Query', 2), async (selection) => {
        const executed = await query(`{ ${selection} }`);
        for (let nth = 0; nth < 2; nth++) {
          expect(withoutAge(await query(`{ ${selection} }`))).toBe(withoutAge(executed));
        }
      }),
      { numRuns: 100 },
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
        expect(again.data).toEqual(executed.data);
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
