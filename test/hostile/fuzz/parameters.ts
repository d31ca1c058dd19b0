import { createHash } from 'node:crypto';
import type { Operation } from '../../support/generated-operations.js';
import { FORM_ATTACKS, type Make, VALUE_ATTACKS } from './attacks.js';
import { type Random, times } from './random.js';
import { craftedOpaque, nested, ODD_NAMES, objectOf, oddText, oddValue, representation } from './values.js';

/** The parameters of a request. Some of the values are invalid for every GraphQL server. */
export interface Parameters {
  readonly kind: string;
  readonly query?: unknown;
  readonly variables?: unknown;
  readonly operationName?: unknown;
  readonly extensions?: unknown;
  /** Present if the parameters are valid. */
  readonly operation?: Operation;
}

/** Returns the next valid operation. */
export type NextOperation = () => Operation;

const ATTACKS: Readonly<Record<string, Make>> = { ...FORM_ATTACKS, ...VALUE_ATTACKS };
const ATTACK_NAMES = Object.keys(ATTACKS);

/** Parameters with a document that is valid, nearly valid, or harmful. `hasBig` allows megabytes. */
export function parametersBy(random: Random, next: NextOperation, hasBig: boolean): Parameters {
  return random.weighted<() => Parameters>([
    [24, () => valid(next())],
    [16, () => mutation(random, next)],
    [24, () => attack(random)],
    [12, () => typedVariables(random, hasBig)],
    [6, () => oddParameters(random, next())],
    [5, () => persisted(random, next())],
  ])();
}

function valid(operation: Operation): Parameters {
  return { kind: 'valid', ...operation, operation };
}

function mutation(random: Random, next: NextOperation): Parameters {
  const { query, variables, operationName } = next();
  const odd = random.oneIn(4) ? oddVariables(random, variables) : variables;
  return { kind: 'mutated', query: mutated(random, query, next().query), variables: odd, operationName };
}

function attack(random: Random): Parameters {
  const name = random.pick(ATTACK_NAMES);
  const variables = random.oneIn(4) ? objectOf([['v', oddValue(random)]]) : undefined;
  return { kind: name, query: ATTACKS[name]?.(random), variables };
}

/** Documents with one variable: its type, the rest of the document, and a valid value of the variable. */
const TYPED: readonly (readonly [type: string, rest: string, good: unknown])[] = [
  ['[ID!]!', '{ nodes(ids: $v) { id } }', 'WyJDaGFpbiIsImJhc2UiXQ'],
  ['ID!', '{ node(id: $v) { id } }', 'WyJDaGFpbiIsImJhc2UiXQ'],
  ['[String!]!', '{ chainsByKey(chainKeys: $v) { id name } }', 'ethereum'],
  ['[TokenKey!]!', '{ tokensByKey(keys: $v) { id symbol } }', { chainKey: 'ethereum', address: '0x1' }],
  [
    '[_Any!]!',
    '{ _entities(representations: $v) { __typename } }',
    { __typename: 'Chain', chainKey: 'base' },
  ],
  ['[_Any!]!', '{ _entities(representations: $v) { ... on Token { symbol } } }', { __typename: 'Token' }],
  ['TokenFilter', '{ tokenSearch(filter: $v) { totalCount } }', { symbols: ['ETH'], chainTypes: ['evm'] }],
  ['[String!]', '{ tokenSearch(filter: {symbols: $v, chainKeys: $v}) { totalCount } }', 'ETH'],
  ['String', '{ tokenSearch(query: $v) { edges { node { id } } } }', 'eth'],
  ['String', '{ tokenSearch(after: $v, orderBy: SYMBOL) { edges { cursor } } }', null],
  ['Int', '{ tokenSearch(first: $v) { totalCount } }', 5],
  ['Int = 3', '{ tokenSearch(first: $v) { totalCount } }', 5],
  ['TokenOrder! = NAME', '{ tokenSearch(orderBy: $v) { totalCount } }', 'SYMBOL'],
  ['[String!] = ["evm"]', '{ chains(chainTypes: $v) { id } }', 'evm'],
  ['Boolean!', '{ chains @include(if: $v) { id } }', true],
  ['String!', '{ chain(chainKey: $v) { tokens { id } } tokens(srcChainKey: $v) { id } }', 'ethereum'],
  ['String!', '{ destinations(srcChainKey: "ethereum", srcToken: $v) { chainKey } }', '0x1'],
];

function typedVariables(random: Random, hasBig: boolean): Parameters {
  const [type, rest, good] = random.pick(TYPED);
  const many = random.size(hasBig ? 50_000 : 3_000);
  const value = random.weighted<() => unknown>([
    [3, () => oddValue(random)],
    [1, () => good],
    [2, () => times(many, () => good)],
    [1, () => times(many, (nth) => (random.oneIn(9) ? nth : good))],
    [2, () => times(many, () => random.pick([{}, 0, null, true]))],
    [2, () => times(Math.ceil(many / 10), () => representation(random))],
    [1, () => times(Math.ceil(many / 10), () => craftedOpaque(random).slice(0, 200))],
    [1, () => objectOf(times(many, (nth) => [`member${nth}`, 1]))],
    [
      1,
      () => ({ symbols: times(many, (nth) => `S${nth}`), chainKeys: times(many, (nth) => `chain-${nth}`) }),
    ],
    [1, () => `@raw:${nested(random.size(hasBig ? 500_000 : 10_000), '[', '1', ']')}`],
    [
      1,
      () => `@raw:${nested(random.size(hasBig ? 100_000 : 10_000), '{@:', '1', '}').replaceAll('@', "'a'")}`,
    ],
    [1, () => oddText(random, hasBig ? 900_000 : 20_000)],
  ])();
  const variables = random.oneIn(6) ? oddVariables(random, { v: value }) : { v: value };
  return { kind: `variable ${type}`, query: `query ($v: ${type}) ${rest}`, variables };
}

/** The variables with invalid values for one or more of them, or an odd value in place of the whole object. */
function oddVariables(random: Random, variables: Readonly<Record<string, unknown>>): unknown {
  const names = [...Object.keys(variables), 'v0'];
  return random.weighted<() => unknown>([
    [4, () => objectOf([...Object.entries(variables), [random.pick(names), oddValue(random)]])],
    [2, () => objectOf(Object.entries(variables).slice(1))],
    [1, () => objectOf(names.map((name) => [name, null]))],
    [1, () => objectOf([...Object.entries(variables), [random.pick(ODD_NAMES), oddValue(random)]])],
    [1, () => JSON.stringify(variables)],
    [1, () => random.pick([[], [variables], 5, true, '', '{', null, '@raw:1e999'])],
    [1, () => objectOf(times(random.size(20_000), (nth) => [`v${nth}`, nth]))],
  ])();
}

function oddParameters(random: Random, { query, variables, operationName }: Operation): Parameters {
  const odd = () => oddValue(random, 2);
  return {
    kind: 'odd parameters',
    query: random.oneIn(3) ? odd() : query,
    variables: random.oneIn(3) ? odd() : variables,
    operationName: random.oneIn(2) ? odd() : operationName,
    extensions: random.oneIn(2) ? odd() : undefined,
  };
}

/** The parameters of an automatic persisted query, valid or not. */
function persisted(random: Random, operation: Operation): Parameters {
  const { query, variables, operationName } = operation;
  const right = createHash('sha256').update(query).digest('hex');
  const sha256Hash = random.weighted<() => unknown>([
    [4, () => right],
    [1, () => right.toUpperCase()],
    [1, () => '0'.repeat(64)],
    [2, () => oddValue(random, 1)],
  ])();
  const persistedQuery = random.oneIn(6)
    ? oddValue(random, 2)
    : { version: random.oneIn(6) ? oddValue(random, 1) : 1, sha256Hash };
  const asked = { variables, operationName, extensions: { persistedQuery } };
  return { kind: 'persisted', ...asked, query: random.oneIn(3) ? undefined : query };
}

/** Matches strings, names, numbers and spreads whole, and all other text as single characters. */
const TOKENS = /"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\.\.\.|[$@]?\w+|[^\s,]/g;

/** The tokens of a document. */
function tokensOf(document: string): string[] {
  return document.match(TOKENS) ?? [];
}

/** A document with some tokens removed, doubled, moved or replaced. */
function mutated(random: Random, document: string, other: string): string {
  let tokens = tokensOf(document);
  for (const _ of times(random.size(4), () => 0)) tokens = mutate(random, tokens, other);
  return tokens.join(' ');
}

function mutate(random: Random, tokens: string[], other: string): string[] {
  const at = random.int(tokens.length + 1);
  const length = random.size(6);
  const [before, part, after] = [
    tokens.slice(0, at),
    tokens.slice(at, at + length),
    tokens.slice(at + length),
  ];
  return random.weighted<() => string[]>([
    [3, () => [...before, ...after]],
    [3, () => [...before, ...part, ...part, ...after]],
    [1, () => [...before, ...times(random.size(200), () => part).flat(), ...after]],
    [2, () => [...after, ...part, ...before]],
    [2, () => [...before, ...after.slice(0, length), ...part, ...after.slice(length)]],
    [3, () => [...before, ...splice(random, tokensOf(other)), ...after]],
    [3, () => [...before, oddToken(random), ...part.slice(1), ...after]],
    [2, () => [...before, oddToken(random), ...part, ...after]],
    [1, () => before],
  ])();
}

function splice(random: Random, tokens: readonly string[]): readonly string[] {
  const from = random.int(tokens.length + 1);
  return tokens.slice(from, from + random.size(60));
}

function oddToken(random: Random): string {
  return random.weighted<() => string>([
    [3, () => random.pick(ODD_NAMES)],
    [3, () => random.pick(['{', '}', '(', ')', '[', ']', '...', ':', '!', '=', '@include', '$v0', '|', '&'])],
    [2, () => JSON.stringify(oddText(random, 200))],
    [2, () => random.pick('0 -1 1e999 2147483648 null true Token Chain query fragment'.split(' '))],
    [1, () => `"""${oddText(random, 100)}"""`],
  ])();
}
