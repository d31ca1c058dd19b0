import { getIntrospectionQuery } from 'graphql';
import { untypedOf } from '../../support/generated-operations.js';
import { type Random, times } from './random.js';
import { craftedOpaque, nested, ODD_NAMES, oddText, representation } from './values.js';

/** Makes a document. */
export type Make = (random: Random) => string;

/** About the limit on lexical tokens. The most expensive documents are just below this limit. */
const MANY = 2_500;

/** Fields that need no selection, and those that need one of a chain or of a token, at the root. */
const CHAIN_ROOTS = ['chains', 'chain(chainKey: "ethereum")', 'chainsByKey(chainKeys: ["ethereum", "base"])'];
const TOKEN_ROOTS = [
  'tokens(srcChainKey: "chain-7")',
  'token(chainKey: "base", address: "0x0")',
  'tokens(srcChainKey: "ethereum", srcToken: "0x1")',
];
const DEAR_ROOTS = [
  'tokens { id }',
  'tokens { id name symbol price { usd asOf } chain { name } logoUrl isNative }',
  'chains { tokens { id } }',
  'chains { tokens { chain { tokens { id } } } }',
  'tokenSearch(query: "tok 1") { totalCount }',
  'tokenSearch(query: "a b c d e f g h", orderBy: PRICE_DESC, first: 100) { edges { cursor node { id } } }',
  'destinations(srcChainKey: "ethereum", srcToken: "0x1") { tokens { id } }',
  'listings { name version }',
  '_service { sdl }',
  '_sdl',
  '__schema { types { fields { type { name } } } }',
];

/** Documents whose form is expensive or misleading, by name. */
export const FORM_ATTACKS: Readonly<Record<string, Make>> = {
  nestedFields: (random) =>
    `{ chains { ${nested(random.size(400), random.pick(['tokens { chain { ', 'tokens{id chain{name ']), 'id', '}}')} } }`,
  nestedSelections: (random) =>
    nested(random.size(3_000), random.pick(['{', '{a', '{a{', '{...{', '{...on Query{']), 'id', '}'),
  nestedValues: (random) => {
    const [open, close] = random.pick([
      ['[', ']'],
      ['{a:', '}'],
      ['[{a:[', ']}]'],
      ['{chainKeys:', '}'],
    ] as const);
    const value = nested(random.size(3_000), open, '1', random.oneIn(4) ? '' : close);
    return `{ ${random.pick(['tokenSearch(filter:', '_entities(representations:', 'chains(chainTypes:', 'node(id:'])} ${value}) { __typename } }`;
  },
  nestedTypes: (random) =>
    `query ($v: ${nested(random.size(2_000), '[', 'String', ']')}) { chains(search: $v) { id } }`,
  spreadBomb: spreadBomb,
  spreadCycle: (random) => {
    const count = random.size(300);
    const name = () => `F${random.int(count)}`;
    return `{ chains { ...F0 } } ${times(count, (nth) => `fragment F${nth} on Chain { id ...${name()} ...${name()} }`).join(' ')}`;
  },
  spreadWeb: (random) => {
    // A validator has to compare each pair of fragments.
    const count = random.size(250);
    const fragments = times(
      count,
      (nth) => `fragment F${nth} on Chain { a${random.oneIn(9) ? nth : ''}: name }`,
    );
    return `{ chains { ${times(count, (nth) => `...F${nth}`).join(' ')} } } ${fragments.join(' ')}`;
  },
  deepWeb: (random) => {
    const count = random.size(120);
    const roots = times(count, (nth) => `chains { ...F${nth % 10} tokens { ...G${nth % 10} } }`);
    const fragments = times(
      10,
      (nth) =>
        `fragment F${nth} on Chain { id ...F${nth + 1} } fragment G${nth} on Token { chain { ...F${nth} } }`,
    );
    return `{ ${roots.join(' ')} } ${fragments.join(' ')} fragment F10 on Chain { id }`;
  },
  unusedFragments: (random) =>
    times(
      random.size(400),
      (nth) =>
        `fragment F${random.oneIn(5) ? 0 : nth} on ${random.pick(['Chain', 'Nope', 'String', 'Query'])} { id }`,
    ).join(' '),
  repeatedFields: (random) => {
    const field = random.pick([
      'id',
      '__typename',
      'chains { id }',
      'chains { tokens { id } }',
      'chains { ...on Chain { id } }',
      'a: __typename',
    ]);
    return `{ ${field.startsWith('id') ? `chains { ${'id '.repeat(random.size(MANY))} }` : `${field} `.repeat(random.size(600))} }`;
  },
  conflicts: (random) => {
    const count = random.size(300);
    const root = () =>
      random.pick([
        'chain(chainKey: "$") { id }',
        'chain(chainKey: "$") { a: name }',
        'token(chainKey: "$", address: "$") { a: symbol }',
      ]);
    return `{ ${times(count, (nth) => `a: ${root().replaceAll('$', String(nth))}`).join(' ')} }`;
  },
  deepConflicts: (random) => {
    const depth = random.size(11);
    const branch = (nth: number) =>
      `chains { ${nested(depth, 'tokens { chain { ', `a: ${random.pick(['name', 'chainKey', 'id'])} b${nth}: id`, '}}')} }`;
    return `{ ${times(random.size(60), branch).join(' ')} }`;
  },
  aliases: (random) => {
    const root = random.weighted<() => string>([
      [1, () => random.pick(DEAR_ROOTS)],
      [2, () => `${random.pick([...CHAIN_ROOTS, ...TOKEN_ROOTS])} { id }`],
      [2, () => '__typename'],
    ])();
    return `{ ${times(random.size(random.oneIn(4) ? 600 : 30), (nth) => `a${nth}: ${root}`).join(' ')} }`;
  },
  dearRoots: (random) =>
    `{ ${times(random.size(31), (nth) => `a${nth}: ${random.pick(DEAR_ROOTS)}`).join(' ')} }`,
  oddAliases: (random) =>
    `{ ${times(random.size(20), () => `${random.pick(ODD_NAMES)}: ${random.pick(['__typename', 'chains { constructor: id __proto__: name }', '_service { then: sdl }'])}`).join(' ')} }`,
  oddNames: (random) => {
    const name = () => random.pick(ODD_NAMES);
    return `query ${name()}($${name()}: ${random.pick(['String', 'ID', name()])} = ${random.pick(['null', '"x"', '$x', '{}'])}) { ${name()}(${name()}: $${name()}) { ...${name()} } chains { ${name()} } } fragment ${name()} on ${random.pick(['Chain', name()])} { ${name()} }`;
  },
  operations: (random) =>
    times(
      random.size(500),
      (nth) =>
        `query ${random.pick(['', 'A', `Q${nth}`])} { ${random.pick(['__typename', 'chains { id }', '...F'])} }`,
    ).join(' ') + random.pick(['', ' fragment F on Query { __typename }']),
  operationsTimesFragments: (random) => {
    const fragments = random.size(180);
    const chain = times(
      fragments,
      (nth) =>
        `fragment F${nth} on Query { ${random.pick(['__typename', 'chain(chainKey: $v) { id }'])} ...F${nth + 1} }`,
    );
    const operations = times(random.size(180), (nth) => `query Q${nth}($v: String!) { ...F0 }`);
    return `${operations.join(' ')} ${chain.join(' ')} fragment F${fragments} on Query { chain(chainKey: $v) { id } }`;
  },
  directives: (random) => {
    const directives = times(random.size(400), () =>
      random.pick(
        '@include(if: true)|@skip(if: false)|@nope|@deprecated|@defer|@stream|@constructor|@include|@skip(if: $v)|@specifiedBy(url: "")'.split(
          '|',
        ),
      ),
    ).join(' ');
    return random.pick([
      `{ chains ${directives} { id } }`,
      `query ${directives} { __typename }`,
      `query ($v: Boolean ${directives}) { __typename }`,
      `{ ... ${directives} { __typename } }`,
    ]);
  },
  otherOperations: (random) =>
    `${random.pick(['mutation', 'subscription', 'mutation M'])} { ${random.pick(['__typename', 'x', 'chains { id }', '__schema { types { name } }'])} }`,
  typeSystem: (random) =>
    times(random.size(200), (nth) =>
      random.pick([
        `type T${nth} { a: Int }`,
        'extend type Query { a: Int }',
        'schema { query: Query }',
        'scalar __proto__',
        'directive @include on FIELD',
        '{ __typename }',
        'enum E { A A }',
        'input I { i: I! }',
      ]),
    ).join(' '),
  variableDefinitions: (random) => {
    const count = random.size(700);
    const type = () =>
      random.pick(['Int', 'String!', '[TokenKey!]!', 'Nope', 'TokenFilter', 'Chain', '_Any']);
    const definitions = times(
      count,
      (nth) =>
        `$${random.oneIn(9) ? 'v' : `v${nth}`}: ${type()}${random.pick(['', ' = null', ' = 5', ' = {a: [1]}', ' = $v'])}`,
    );
    return `query (${definitions.join(' ')}) { ${random.pick(['__typename', times(count % 100, (nth) => `a${nth}: chain(chainKey: $v${nth}) { id }`).join(' ')])} }`;
  },
  args: (random) =>
    `{ tokenSearch(${times(random.size(700), (nth) => `${random.pick(['query', 'first', `a${nth}`, '__proto__'])}: ${random.pick(['1', '"x"', 'null', '$v', 'RELEVANCE', '[]'])}`).join(' ')}) { totalCount } }`,
  inputFields: (random) =>
    `{ tokenSearch(filter: { ${times(random.size(700), (nth) => `${random.pick(['symbols', 'hasPrice', `isNativ${nth}`, '__proto__', 'constructor'])}: ${random.pick(['true', '[]', 'null', '"x"'])}`).join(' ')} }) { totalCount } }`,
  unknownNames: (random) => {
    const name = () =>
      random.pick([
        'toke',
        'chainKeyy',
        'x',
        'destinationss',
        'tokn'.repeat(random.size(50)),
        '_'.repeat(random.size(200)),
      ]);
    return `{ ${times(random.size(600), () => random.pick([`${name()}`, `tokens(${name()}: 1) { id }`, `chains { ${name()} }`, `... on ${name()} { id }`, `tokenSearch(orderBy: ${name()}) { totalCount }`])).join(' ')} }`;
  },
};

/** Fragments each of which spreads the next one several times, with or without fields of its own. */
function spreadBomb(random: Random): string {
  const count = random.size(random.oneIn(2) ? 40 : 220);
  const [type, root, field] = random.pick([
    ['Chain', 'chains', 'id'],
    ['Query', '', '__typename'],
    ['Token', 'token(chainKey: "base", address: "0x0")', 'symbol'],
    ['Node', 'nodes(ids: [])', 'id'],
  ] as const);
  const wrap = random.pick([
    (spread: string) => `${spread} ${spread}`,
    (spread: string) => `${spread} ... { ${spread} }`,
    (spread: string, nth: number) => `a${nth}: ${field} ${spread} ... on ${type} { ${spread} ${spread} }`,
    (spread: string) => `${spread} @include(if: true) ${spread} @skip(if: false)`,
    (spread: string, nth: number) =>
      type === 'Chain' && nth % 5 === 0
        ? `t: tokens { chain { ${spread} } } ${spread}`
        : `${spread} ${spread}`,
  ]);
  const fragments = times(count, (nth) => `fragment F${nth} on ${type} { ${wrap(`...F${nth + 1}`, nth)} }`);
  const operation = root === '' ? '{ ...F0 }' : `{ ${root} { ...F0 } }`;
  return `${operation} ${fragments.join(' ')} fragment F${count} on ${type} { ${field} }`;
}

/** Documents whose values, introspection or characters are expensive or misleading, by name. */
export const VALUE_ATTACKS: Readonly<Record<string, Make>> = {
  literals: (random) =>
    `{ ${random.pick(['tokenSearch(query:', 'tokenSearch(first:', 'node(id:', 'chain(chainKey:', 'chains(search:', 'tokenSearch(filter: {minPriceUsd:'])} ${oddLiteral(random)}${random.pick(['', ' }'])}) { ${random.pick(['id', 'totalCount', '__typename'])} } }`,
  searches: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: tokenSearch(query: ${JSON.stringify(oddText(random, 20_000))}, filter: { symbols: [${times(random.size(50), () => JSON.stringify(oddText(random, 50))).join(' ')}] }, orderBy: ${random.pick(['NAME', 'RELEVANCE', 'PRICE_ASC'])}) { totalCount }`).join(' ')} }`,
  chainSearches: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: chains(search: ${JSON.stringify(oddText(random, 20_000))}) { id }`).join(' ')} }`,
  cursors: (random) =>
    `{ tokenSearch(after: ${JSON.stringify(craftedOpaque(random))}, orderBy: ${random.pick(['SYMBOL', 'RELEVANCE', 'NAME', 'PRICE_ASC'])}) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount } }`,
  ids: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: node(id: ${JSON.stringify(craftedOpaque(random))}) { id ... on Token { symbol chain { name } } }`).join(' ')} nodes(ids: [${times(random.size(600), () => JSON.stringify(craftedOpaque(random).slice(0, 200))).join(' ')}]) { id } }`,
  entities: (random) =>
    `{ _entities(representations: [${times(random.size(300), () => untypedOf(representation(random))).join(' ')}]) { __typename ... on Chain { id tokenCount } ... on Token { id chain { name } } } }`,
  routes: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: ${random.pick(['destinations', 'tokens'])}(srcChainKey: ${JSON.stringify(random.pick(['ethereum', 'nope', oddText(random, 100)]))}, srcToken: ${JSON.stringify(random.oneIn(2) ? `0x${random.int(99)}` : oddText(random, 200))}) { __typename }`).join(' ')} }`,
  introspection: (random) =>
    getIntrospectionQuery({
      descriptions: random.oneIn(2),
      inputValueDeprecation: random.oneIn(2),
      specifiedByUrl: random.oneIn(2),
      directiveIsRepeatable: random.oneIn(2),
      schemaDescription: random.oneIn(2),
    }),
  deepIntrospection: (random) => {
    const [open, close] = random.pick([
      ['ofType { ', '}'],
      ['fields { type { ', '}}'],
      ['possibleTypes { ', '}'],
      ['interfaces { possibleTypes { ', '}}'],
      ['fields { args { type { ', '}}}'],
      ['inputFields { type { ofType { ofType { ', '}}}}'],
    ] as const);
    const inner = nested(random.size(200), open, 'name kind description', close);
    const aliased = () =>
      random.pick([
        `__schema { types { ${inner} } }`,
        `__type(name: ${JSON.stringify(random.pick(['Query', 'Token', '__Type', ...ODD_NAMES]))}) { ${inner} }`,
        `__schema { queryType { ${inner} } }`,
      ]);
    return `{ ${times(random.size(40), (nth) => `a${nth}: ${aliased()}`).join(' ')} }`;
  },
  wideIntrospection: (random) => {
    // The lists of introspection are nested as deeply as allowed, and aliases multiply them.
    const list = (depth: number): string =>
      depth === 0
        ? 'name'
        : times(
            random.size(depth === 3 ? 8 : 5),
            (nth) =>
              `a${depth}${nth}: ${random.pick(['fields', 'possibleTypes'])} { ${random.oneIn(3) ? 'name' : `type { ${list(depth - 1)} }`} }`,
          ).join(' ');
    return `{ __schema { types { ${list(3).replaceAll(/possibleTypes \{ type \{/g, 'fields { type {')} } } }`;
  },
  comments: (random) =>
    `${random.pick(['#\n', ',', ' ', '\n', '\u{feff}', '\t'])}`
      .repeat(random.size(200_000))
      .concat('{ __typename }'),
  unclosed: (random) =>
    `{ chains(search: ${random.pick(['"', '"""', '"\\u', '"""\\"""', '[', '{', '$'])}${oddText(random)}`,
  rubbish: (random) =>
    times(random.size(200), () =>
      random.pick([
        ...'{ } ( ) [ ] ... : ! | & = @ $ " """ 1. 0x1 - \\ \0 # a'.split(' '),
        oddText(random, 50),
      ]),
    ).join(random.pick(['', ' '])),
};

function oddLiteral(random: Random): string {
  return random.weighted<() => string>([
    [3, () => JSON.stringify(oddText(random, 50_000))],
    [2, () => `"""${oddText(random, 5_000)}"""`],
    [1, () => `"""${`${' '.repeat(random.size(50))}a\n`.repeat(random.size(5_000))}"""`],
    [
      1,
      () =>
        random.pick([
          '"\n"',
          ...'"\\u{10FFFF}" "\\u{110000}" "\\uD800" "\\uD83D\\uDE00" "\\u{d800}" "\\q"'.split(' '),
        ]),
    ],
    [1, () => '9'.repeat(random.size(50_000))],
    [
      1,
      () =>
        `${'9'.repeat(random.size(5_000))}.${'1'.repeat(random.size(5_000))}e${'9'.repeat(random.size(300))}`,
    ],
    [1, () => random.pick('1e999 -0 00 1. .5 0xff 2147483648 -1e400 null true NaN $v {} []'.split(' '))],
    [1, () => random.pick(ODD_NAMES)],
  ])();
}
