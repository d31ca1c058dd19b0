/** Documents are validated as by graphql-js, with all rules in one visitor, and are cached from their second request on. */
import {
  buildSchema,
  type DocumentNode,
  extendSchema,
  NoSchemaIntrospectionCustomRule,
  parse,
  specifiedRules,
  type ValidationRule,
  validate,
} from 'graphql';
import { expect, it } from 'vitest';
import { createDocuments, mergedRules } from '../../src/execution/documents.js';
import { withFederation } from '../../src/graph/federation/federated.js';
import { schema as ownSchema } from '../../src/graph/schema/index.js';

const schema = extendSchema(
  withFederation(ownSchema),
  parse('type Subscription { a: Int b: Int } extend schema { subscription: Subscription }'),
);

const INVALID: Readonly<Record<string, string>> = {
  ExecutableDefinitionsRule: '{ __typename } type X @a @a { x: Y @a @a }',
  SingleFieldSubscriptionsRule: 'subscription S { a b }',
  UniqueOperationNamesRule: 'query A { __typename } query A { __typename }',
  LoneAnonymousOperationRule: '{ __typename } query A { __typename }',
  KnownTypeNamesRule: 'query ($a: Nope) { chains { ... on Nope { name } } }',
  FragmentsOnCompositeTypesRule: 'fragment F on String { x } { chains { ...F } }',
  VariablesAreInputTypesRule: 'query ($a: Chain) { __typename }',
  ScalarLeafsRule: '{ chains chain(chainKey: "a") { name { x } } }',
  FieldsOnCorrectTypeRule: '{ chain(chainKey: "a") { nmae } }',
  UniqueFragmentNamesRule: 'fragment F on Chain { name } fragment F on Chain { name } { chains { ...F } }',
  KnownFragmentNamesRule: '{ chains { ...Nope } }',
  NoUnusedFragmentsRule: 'fragment F on Chain { name } { __typename }',
  PossibleFragmentSpreadsRule: '{ chains { ... on Token { name } } }',
  NoFragmentCyclesRule: 'fragment F on Chain { ...G } fragment G on Chain { ...F } { chains { ...F } }',
  UniqueVariableNamesRule: 'query ($a: Int, $a: Int) { __typename }',
  NoUndefinedVariablesRule: '{ chain(chainKey: $nope) { name } }',
  NoUnusedVariablesRule: 'query ($a: Int) { __typename }',
  KnownDirectivesRule: '{ chains @nope { name @deprecated } }',
  UniqueDirectivesPerLocationRule: '{ chains @skip(if: true) @skip(if: false) { name } }',
  KnownArgumentNamesRule: '{ chain(chainKey: "a", nope: 1) { name @skip(if: true, nope: 1) } }',
  UniqueArgumentNamesRule: '{ chain(chainKey: "a", chainKey: "b") { name } }',
  ValuesOfCorrectTypeRule: '{ tokensByKey(keys: [{ chainKey: 1, nope: { x: [2] } }, "a"]) { name } }',
  ProvidedRequiredArgumentsRule: '{ chain { name @skip } }',
  VariablesInAllowedPositionRule: 'query ($a: Int) { chain(chainKey: $a) { name } }',
  OverlappingFieldsCanBeMergedRule: '{ chains { name: chainKey name } }',
  UniqueInputFieldNamesRule:
    '{ tokensByKey(keys: [{ chainKey: "a", chainKey: "b", address: "c" }]) { name } }',
  MaxIntrospectionDepthRule:
    '{ __schema { types { fields { type { fields { type { fields { type { name } } } } } } } } }',
  NoSchemaIntrospectionCustomRule: '{ __schema { types { name } } }',
};

const RULES: readonly ValidationRule[] = [...specifiedRules, NoSchemaIntrospectionCustomRule];

function errorsBy(rules: readonly ValidationRule[], document: DocumentNode, maxErrors = 100) {
  return validate(schema, document, rules, { maxErrors }).map((error) => error.toJSON());
}

it.each(RULES.map(({ name }) => name))('the merged rules give the errors of %s like graphql-js', (name) => {
  const document = parse(INVALID[name] ?? `no document breaks ${name}: add one`);
  const rule = RULES.filter((each) => each.name === name);
  expect(errorsBy(rule, document)).not.toEqual([]);
  expect(errorsBy([mergedRules(rule)], document)).toEqual(errorsBy(rule, document));
  expect(errorsBy([mergedRules(RULES)], document)).toEqual(errorsBy(RULES, document));
});

it('the merged rules stop after the same number of errors', () => {
  const document = parse(`{ ${Array.from({ length: 50 }, (_, nth) => `nope${nth}`).join(' ')} }`);
  expect(errorsBy([mergedRules(RULES)], document, 10)).toEqual(errorsBy(RULES, document, 10));
});

const LIMITS = { maxDepth: 12, maxAliases: 30, maxQueryTokens: 2_000, introspection: true };
const long = (query: string) => `${query} #${'x'.repeat(90_000)}`;

it('a document is cached from its second request on, and stays cached while others are sent once or are long', () => {
  const { accepted } = createDocuments(buildSchema('type Query { a: Int }'), LIMITS);
  expect(accepted('{ a }')?.isLasting).toBe(false);
  const known = accepted('{ a }');
  expect(known?.isLasting).toBe(true);
  for (let nth = 0; nth < 400; nth++) accepted(nth % 2 ? `{ a # ${nth}\n}` : `{ unknown${nth} }`);
  for (const query of ['{ b }', '{ b }', '{ a }', '{ a }']) accepted(long(query));
  expect(accepted('{ a }')?.document).toBe(known?.document);
});
