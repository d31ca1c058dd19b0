import fc from 'fast-check';
import { parse, validate } from 'graphql';
import { describe, expect, it } from 'vitest';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';
import { selectionOf } from '../support/generated-queries.js';
import { createTestGateway } from '../support/test-gateway.js';

const schema = withFederation(ownSchema);

/** What is wrong with it, in the words and the order of graphql-js. */
function mistakesIn(query: string): readonly object[] | undefined {
  try {
    return validate(schema, parse(query)).map(({ message, locations }) => ({ message, locations }));
  } catch {
    return undefined;
  }
}

const FRAGMENT_LOOP = 'fragment A on Chain { name ...B } fragment B on Chain { chainId ...A }';

/** At least one for each rule, and some for rules that skip what is below a node. */
const MISTAKEN: readonly string[] = [
  'type X { a: Int } { chains { name } }',
  '{ nope { a b { c } } chains { name, nope } }',
  '{ chains(nope: 1, search: 5) { name } token(chainKey: "a") { name } }',
  '{ chains(search: "a", search: "b") { name } }',
  '{ chains { name { deeper } } tokens }',
  '{ chains { ... on Nope { a } ... on Token { symbol } } }',
  '{ chains { ...Missing } } fragment Unused on Chain { name nope }',
  `{ chains { ...A } } ${FRAGMENT_LOOP}`,
  '{ chains { ...S } } fragment S on String { length }',
  '{ a: chains { name } a: tokens { name } }',
  '{ chains { x: name x: chainKey } tokens { x: name x: decimals } }',
  'fragment F on Chain { name } fragment F on Chain { chainKey } { chains { ...F } }',
  'query ($a: String, $a: Int, $unused: Int) { chains(search: $a) { name } }',
  'query ($a: Nope, $b: Chain) { chains(search: $b) { name @include(if: $a) } }',
  '{ chains(search: $undefined) { name } }',
  'query ($a: Int) { token(chainKey: $a, address: "0x1") { name } }',
  'query ($a: Int = "text") { tokenSearch(first: $a) { totalCount } }',
  '{ chains @nope { name @skip } }',
  'query @skip(if: true) { chains { name @include(if: true) @include(if: false) } }',
  '{ tokenSearch(filter: { nope: 1, chainKeys: [1, null] }, orderBy: NOPE) { totalCount } }',
  '{ tokensByKey(keys: [{ chainKey: "a", chainKey: "b" }]) { name } }',
  'mutation { chains { name } }',
  'subscription { chains { name } tokens { name } }',
  `{ ${Array.from({ length: 120 }, (_nothing, nth) => `nope${nth}`).join(' ')} }`,
];

describe('mistakes in a document', () => {
  it.each(MISTAKEN)('are those that graphql-js finds: %.60s', async (query) => {
    const { query: ask } = await createTestGateway({ config: { maxAliases: 1000 } });
    const expected = mistakesIn(query) ?? [];
    const { errors = [], ...rest } = await ask(query);
    const ours = errors.filter(({ message }) => !message.startsWith('Expected a query, got'));
    expect(ours.map(({ message, locations }) => ({ message, locations }))).toEqual(expected);
    expect(errors.length).toBeGreaterThan(0);
    expect(rest).toEqual({});
  });

  it('are those that graphql-js finds, whichever word is another', async () => {
    const { query: ask } = await createTestGateway({
      config: { maxAliases: 10_000, maxDepth: 100, maxQueryTokens: 100_000 },
    });
    const WORDS = [
      'name',
      'chains',
      'Token',
      'Chain',
      'on',
      'nope',
      'first',
      '$a',
      '@include',
      '5',
      '"x"',
      '{',
    ];
    let met = 0;
    await fc.assert(
      fc.asyncProperty(
        selectionOf('Query', 3),
        fc.array(fc.tuple(fc.nat(), fc.constantFrom(...WORDS)), { minLength: 1, maxLength: 3 }),
        async (selection, changes) => {
          const words = `{ ${selection} }`.split(/(\$?\b\w+\b)/);
          for (const [at, word] of changes) words[(2 * at + 1) % words.length] = word;
          const changed = words.join('');
          const expected = mistakesIn(changed);
          if (!expected || expected.length === 0) return;
          met++;
          const { errors = [] } = await ask(changed);
          expect(errors.map(({ message, locations }) => ({ message, locations }))).toEqual(expected);
        },
      ),
      { numRuns: 100 },
    );
    expect(met).toBeGreaterThan(10);
  });
});
