import { getIntrospectionQuery } from 'graphql';
import type { Make } from './form-attacks.js';
import { type Random, times } from './random.js';
import { craftedOpaque, nested, ODD_NAMES, oddText, representation } from './values.js';

/** Documents whose values, introspection or letters are made to be dear or to be mistaken, by what they try. */
export const VALUE_ATTACKS: Readonly<Record<string, Make>> = {
  literals: (random) =>
    `{ ${random.pick(['tokenSearch(query:', 'tokenSearch(first:', 'node(id:', 'chain(chainKey:', 'chains(search:', 'tokenSearch(filter: {minPriceUsd:'])} ${oddLiteral(random)}${random.pick(['', ' }'])}) { ${random.pick(['id', 'totalCount', '__typename'])} } }`,
  searches: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: tokenSearch(query: ${quoted(oddText(random, 20_000))}, filter: { symbols: [${times(random.size(50), () => quoted(oddText(random, 50))).join(' ')}] }, orderBy: ${random.pick(['NAME', 'RELEVANCE', 'PRICE_ASC'])}) { totalCount }`).join(' ')} }`,
  chainSearches: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: chains(search: ${quoted(oddText(random, 20_000))}) { id }`).join(' ')} }`,
  cursors: (random) =>
    `{ tokenSearch(after: ${quoted(craftedOpaque(random))}, orderBy: ${random.pick(['SYMBOL', 'RELEVANCE', 'NAME', 'PRICE_ASC'])}) { edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } totalCount } }`,
  ids: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: node(id: ${quoted(craftedOpaque(random))}) { id ... on Token { symbol chain { name } } }`).join(' ')} nodes(ids: [${times(random.size(600), () => quoted(craftedOpaque(random).slice(0, 200))).join(' ')}]) { id } }`,
  entities: (random) =>
    `{ _entities(representations: [${times(random.size(300), () => literalOf(representation(random))).join(' ')}]) { __typename ... on Chain { id tokenCount } ... on Token { id chain { name } } } }`,
  routes: (random) =>
    `{ ${times(random.size(30), (nth) => `a${nth}: ${random.pick(['destinations', 'tokens'])}(srcChainKey: ${quoted(random.pick(['ethereum', 'nope', oddText(random, 100)]))}, srcToken: ${quoted(random.oneIn(2) ? `0x${random.int(99)}` : oddText(random, 200))}) { __typename }`).join(' ')} }`,
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
        `__type(name: ${quoted(random.pick(['Query', 'Token', '__Type', ...ODD_NAMES]))}) { ${inner} }`,
        `__schema { queryType { ${inner} } }`,
      ]);
    return `{ ${times(random.size(40), (nth) => `a${nth}: ${aliased()}`).join(' ')} }`;
  },
  wideIntrospection: (random) => {
    // Within the limit on nested lists of introspection, as wide as aliases make it.
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
        '{',
        '}',
        '(',
        ')',
        '[',
        ']',
        '...',
        ':',
        '!',
        '|',
        '&',
        '=',
        '@',
        '$',
        '"',
        '"""',
        '1.',
        '0x1',
        '-',
        '\\',
        '\0',
        '#',
        'a',
        oddText(random, 50),
      ]),
    ).join(random.pick(['', ' '])),
};

function oddLiteral(random: Random): string {
  return random.weighted<() => string>([
    [3, () => quoted(oddText(random, 50_000))],
    [2, () => `"""${oddText(random, 5_000)}"""`],
    [1, () => `"""${`${' '.repeat(random.size(50))}a\n`.repeat(random.size(5_000))}"""`],
    [
      1,
      () =>
        random.pick([
          '"\\u{10FFFF}"',
          '"\\u{110000}"',
          '"\\uD800"',
          '"\\uD83D\\uDE00"',
          '"\\u{d800}"',
          '"\\q"',
          '"\n"',
        ]),
    ],
    [1, () => '9'.repeat(random.size(50_000))],
    [
      1,
      () =>
        `${'9'.repeat(random.size(5_000))}.${'1'.repeat(random.size(5_000))}e${'9'.repeat(random.size(300))}`,
    ],
    [
      1,
      () =>
        random.pick([
          '1e999',
          '-0',
          '00',
          '1.',
          '.5',
          '0xff',
          '2147483648',
          '-1e400',
          'null',
          'true',
          'NaN',
          '$v',
          '{}',
          '[]',
        ]),
    ],
    [1, () => random.pick(ODD_NAMES)],
  ])();
}

/** A text as a document writes it. */
function quoted(text: string): string {
  return JSON.stringify(text);
}

/** A JSON value as a document writes it; names that are none there are left as they are. */
function literalOf(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literalOf).join(' ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  return `{${Object.entries(value)
    .map(([name, member]) => `${name}: ${literalOf(member)}`)
    .join(' ')}}`;
}
