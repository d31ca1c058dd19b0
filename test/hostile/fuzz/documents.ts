/** Documents that are expensive or misleading, as templates: a line for each attack. */
import fc from 'fast-check';
import { getIntrospectionQuery } from 'graphql';
import { untypedOf } from '../../support/generated-operations.js';
import { many, nested, oddName, oddText, opaque, representation, size, times } from './values.js';

/**
 * Each template begins with the greatest size n of its documents. `«a¦b»` becomes n parts, each of them one of the
 * alternatives. `‹open¦core¦close›` becomes n times `open`, then `core`, then n times `close`. In a part, `<n>` is its
 * number and `<m>` the next number; outside of parts, `<n>` is n. Other names in angle brackets are {@link HOLES}.
 */
const TEMPLATES = [
  // Nesting.
  '400 { chains { ‹tokens { chain { ¦id¦}}› } }',
  '3000 ‹{a¦{id}¦}›',
  '3000 ‹{a{¦id¦}›',
  '3000 ‹{...on Query¦{id}¦}›',
  '3000 { tokenSearch(filter: ‹{a:¦1¦}›) { totalCount } }',
  '3000 { tokenSearch(filter: ‹{chainKeys:¦1¦›) { totalCount } }',
  '3000 { _entities(representations: ‹[{a:[¦1¦]}]›) { __typename } }',
  '3000 { node(id: ‹[¦1¦]›) { id } }',
  '2000 query ($v: ‹[¦String¦]›) { chains(search: $v) { id } }',
  '200 { __schema { types { ‹ofType { ¦name¦}› } } }',
  '200 { __type(name: "<name>") { ‹fields { type { ¦name kind description¦}}› } }',
  '200 { __schema { queryType { ‹interfaces { possibleTypes { ¦name¦}}› } } }',
  '200 { __schema { types { ‹inputFields { type { ofType { ¦name¦}}}› } } }',
  // Fragments.
  '220 { chains { ...F0 } } «fragment F<n> on Chain { ...F<m> ...F<m> }¦fragment F<n> on Chain { ...F<m> ... { ...F<m> } }¦fragment F<n> on Chain { a<n>: id ...F<m> @include(if: true) ...F<m> @skip(if: false) }¦fragment F<n> on Chain { t: tokens { chain { ...F<m> } } ...F<m> }» fragment F<n> on Chain { id }',
  '220 { ...F0 } «fragment F<n> on Query { ...F<m> ...F<m> }¦fragment F<n> on Query { a<n>: __typename ...F<m> ... on Query { ...F<m> } }» fragment F<n> on Query { __typename }',
  '300 { chains { ...F0 } } «fragment F<n> on Chain { id ...F<number> ...F<number> }»',
  '250 { chains { «...F<n>» } } «fragment F<n> on Chain { a: name }¦fragment F<n> on Chain { a: name }¦fragment F<n> on Chain { a<n>: name }»',
  '120 { «chains { ...F0 tokens { ...G0 } }» } fragment F0 on Chain { id } fragment G0 on Token { chain { ...F0 } }',
  '400 «fragment F<n> on Chain { id }¦fragment F0 on Nope { id }¦fragment F<n> on String { id }¦fragment F<n> on Query { id }»',
  '180 «query Q<n>($v: String!) { ...F0 }» «fragment F<n> on Query { chain(chainKey: $v) { id } ...F<m> }¦fragment F<n> on Query { __typename ...F<m> }» fragment F<n> on Query { __typename }',
  // Repeated and conflicting fields.
  '2500 { chains { ‹id ¦¦› } }',
  '600 { «__typename¦chains { id }¦chains { tokens { id } }¦chains { ...on Chain { id } }» }',
  '300 { «a: chain(chainKey: "<n>") { id }¦a: chain(chainKey: "<n>") { a: name }¦a: token(chainKey: "<n>", address: "<n>") { a: symbol }» }',
  '60 { «chains { tokens { chain { tokens { chain { a: name b<n>: id }}}}}¦chains { tokens { chain { tokens { chain { a: id }}}}}» }',
  '600 { «a<n>: <root>» }',
  '600 { «a<n>: __typename¦a<n>: chains { id }¦a<n>: chain(chainKey: "ethereum") { id }» }',
  '31 { «a<n>: <root>» }',
  '20 { «<name>: __typename¦<name>: chains { constructor: id __proto__: name }¦<name>: _service { then: sdl }» }',
  // Names, definitions and directives.
  '1 query <name>($<name>: <name> = null) { <name>(<name>: $<name>) { ...<name> } chains { <name> } } fragment <name> on Chain { <name> }',
  '1 query <name>($v: String = "x") { chains(search: $v) { <name> } }',
  '500 «query { __typename }¦query A { chains { id } }¦query Q<n> { ...F }» fragment F on Query { __typename }',
  '400 { chains «@include(if: true)¦@skip(if: false)¦@nope¦@deprecated¦@defer¦@stream¦@constructor¦@skip(if: $v)» { id } }',
  '400 query ($v: Boolean «@nope¦@include¦@specifiedBy(url: "")») «@include(if: $v)¦@skip» { __typename }',
  '1 mutation M { x }',
  '1 subscription { chains { id } }',
  '200 «type T<n> { a: Int }¦extend type Query { a: Int }¦schema { query: Query }¦scalar __proto__¦directive @include on FIELD¦{ __typename }¦enum E { A A }¦input I { i: I! }»',
  '700 query («$v<n>: Int¦$v<n>: String! = null¦$v<n>: [TokenKey!]! = {a: [1]}¦$v<n>: Nope = $v¦$v: TokenFilter = 5¦$v<n>: Chain¦$v<n>: _Any») { __typename }',
  '100 query («$v<n>: String!») { «a<n>: chain(chainKey: $v<n>) { id }» }',
  '700 { tokenSearch(«query: 1¦first: "x"¦a<n>: $v¦__proto__: []¦orderBy: RELEVANCE») { totalCount } }',
  '700 { tokenSearch(filter: { «symbols: []¦hasPrice: true¦isNativ<n>: null¦__proto__: "x"¦constructor: true» }) { totalCount } }',
  '600 { «toke¦chainKeyy¦destinationss¦tokens(toke: 1) { id }¦chains { chainKeyy }¦... on Tokenn { id }¦tokenSearch(orderBy: NAM) { totalCount }» }',
  '200 { ‹tokn¦¦› ‹_¦¦› }',
  // Values.
  '1 { tokenSearch(query: <literal>) { totalCount } }',
  '1 { tokenSearch(first: <literal>) { totalCount } }',
  '1 { tokenSearch(filter: {minPriceUsd: <literal>}) { totalCount } }',
  '1 { node(id: <literal>) { id } chain(chainKey: <literal>) { id } chains(search: <literal>) { id } }',
  '30 { «a<n>: tokenSearch(query: <text>, filter: { symbols: [<text> <text>] }, orderBy: NAME) { totalCount }¦a<n>: tokenSearch(query: <text>, orderBy: PRICE_ASC) { totalCount didYouMean }» }',
  '30 { «a<n>: chains(search: <text>) { id }» }',
  '1 { tokenSearch(after: <id>, orderBy: SYMBOL) { edges { cursor node { id } } pageInfo { hasNextPage endCursor } totalCount } }',
  '1 { tokenSearch(after: <id>) { edges { cursor } } tokenChanges(since: <id>) { cursor } }',
  '30 { «a<n>: node(id: <id>) { id ... on Token { symbol chain { name } } }» }',
  '600 { nodes(ids: [«<id>»]) { id } }',
  '300 { _entities(representations: [«<entity>»]) { __typename ... on Chain { id tokenCount } ... on Token { id chain { name } } } }',
  '30 { «a<n>: destinations(srcChainKey: "ethereum", srcToken: "0x<number>") { __typename }¦a<n>: tokens(srcChainKey: <text>, srcToken: <text>) { __typename }» }',
  // Introspection.
  '40 { «a<n>: __type(name: "Token") { fields { type { ofType { name } } } }¦a<n>: __type(name: "<name>") { name }¦a<n>: __schema { types { fields { args { type { name } } } } }» }',
  '8 { __schema { types { «a<n>: fields { a: type { fields { type { name } } } b: type { fields { name } } }¦a<n>: possibleTypes { fields { name } }» } } }',
  `1 ${getIntrospectionQuery()}`,
  // Characters.
  '200000 ‹#\n¦{ __typename }¦›',
  '200000 ‹,¦{ __typename }¦›',
  '200000 ‹\u{feff}¦{ __typename }¦\t›',
  '1 { chains(search: "<name>',
  '1 { chains(search: """\\"""<name>',
  '1 { chains(search: "\\u<name>") { id } }',
  '200 «{¦}¦(¦)¦[¦]¦...¦:¦!¦|¦&¦=¦@¦$¦"¦"""¦1.¦0x1¦-¦\\¦\0¦#¦<text>»',
];

const ROOTS = [
  'tokens { id }',
  'tokens { id name symbol price { usd asOf } chain { name } logoUrl isNative }',
  'chains { tokens { chain { tokens { id } } } }',
  'token(chainKey: "base", address: "0x0") { id }',
  'tokenSearch(query: "a b c d e f g h", orderBy: PRICE_DESC, first: 100) { edges { cursor node { id } } }',
  'destinations(srcChainKey: "ethereum", srcToken: "0x1") { tokens { id } }',
  'listings { name version }',
  '_service { sdl }',
  '__schema { types { fields { type { name } } } }',
];

const oddLiteral = fc.oneof(
  oddText(50_000).map((text) => JSON.stringify(text)),
  oddText(5_000).map((text) => `"""${text}"""`),
  size(5_000).map((lines) => `"""${`${' '.repeat(lines % 50)}a\n`.repeat(lines)}"""`),
  size(50_000).map((digits) => '9'.repeat(digits)),
  size(5_000).map((digits) => `${'9'.repeat(digits)}.${'1'.repeat(digits)}e${'9'.repeat(digits % 300)}`),
  fc.constantFrom('"\n"', '"\\u{10FFFF}"', '"\\u{110000}"', '"\\uD800"', '"\\uD83D\\uDE00"', '"\\q"'),
  fc.constantFrom('1e999', '-0', '00', '1.', '.5', '0xff', '2147483648', 'null', 'NaN', '$v', '{}', '[]'),
  oddName,
);

const HOLES: Readonly<Record<string, fc.Arbitrary<string>>> = {
  name: oddName,
  root: fc.constantFrom(...ROOTS),
  number: fc.nat(299).map(String),
  text: oddText(20_000).map((text) => JSON.stringify(text)),
  id: opaque.map((text) => JSON.stringify(text)),
  entity: representation.map(untypedOf),
  literal: oddLiteral,
};
const HOLE = /<(\w{2,})>/;

function filled(text: string): fc.Arbitrary<string> {
  // Every second part is the name of a hole.
  const parts = text
    .split(HOLE)
    .map((part, nth) => (nth % 2 ? (HOLES[part] ?? fc.constant('')) : fc.constant(part)));
  return fc.tuple(...parts).map((all) => all.join(''));
}

function documentsOf(template: string): fc.Arbitrary<string> {
  const [, most = '', text = ''] = /^(\d+) (.*)$/s.exec(template) ?? [];
  const parts = text.split(/([«‹][^»›]*[»›])/).map((part) => {
    const alternatives = part.slice(1, -1).split('¦');
    if (part.startsWith('«')) return { series: fc.oneof(...alternatives.map(filled)) };
    return part.startsWith('‹') ? { nested: alternatives } : { plain: filled(part) };
  });
  return size(Number(most)).chain((count) =>
    fc
      .tuple(
        ...parts.map(({ series, nested: [open = '', core = '', close = ''] = [], plain }) => {
          if (plain) return plain.map((part) => part.replaceAll('<n>', `${count}`));
          if (!series) return fc.constant(nested(count, open, core, close));
          const all = fc.array(series, { minLength: count, maxLength: count });
          return all.map((each) =>
            each.map((part, n) => part.replaceAll('<n>', `${n}`).replaceAll('<m>', `${n + 1}`)).join(' '),
          );
        }),
      )
      .map((all) => all.join('')),
  );
}

export const hostileDocument: fc.Arbitrary<string> = fc.oneof(...TEMPLATES.map(documentsOf));

/** Matches strings, names, numbers and spreads whole, and all other text as single characters. */
const TOKENS = /"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|\.\.\.|[$@]?\w+|[^\s,]/g;

const oddToken = fc.oneof(
  oddName,
  fc.constantFrom('{', '}', '(', ')', '[', ']', '...', ':', '!', '=', '@include', '$v0', '|', '&'),
  oddText(200).map((text) => JSON.stringify(text)),
  fc.constantFrom('0', '-1', '1e999', '2147483648', 'null', 'true', 'Token', 'Chain', 'query', 'fragment'),
);

/** What replaces some tokens of a document, such as nothing, the same tokens twice, or tokens of another document. */
const EDITS: readonly ((
  part: readonly string[],
  odd: string,
  others: readonly string[],
) => readonly string[])[] = [
  () => [],
  (part) => [...part, ...part],
  (part) => times(60, () => part).flat(),
  (part) => part.toReversed(),
  (part, odd) => [odd, ...part],
  (part, odd) => [odd, ...part.slice(1)],
  (part, _odd, others) => others.slice(part.length, 20),
  (part) => part,
];

export function mutated(document: string, other: string): fc.Arbitrary<string> {
  const others = other.match(TOKENS) ?? [];
  const edit = fc.tuple(fc.constantFrom(...EDITS), fc.noBias(fc.nat(999)), size(6), oddToken);
  return many(4, edit).map((edits) =>
    edits
      .reduce<readonly string[]>((tokens, [replace, at, length, odd]) => {
        const from = Math.floor((at / 1000) * (tokens.length + 1));
        return tokens.toSpliced(from, length, ...replace(tokens.slice(from, from + length), odd, others));
      }, document.match(TOKENS) ?? [])
      .join(' '),
  );
}
