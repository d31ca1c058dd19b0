/** The schema as other graphs compose it: as a subgraph of Federation, and as a subschema for stitching. */
import { type GraphQLSchema, parse, print } from 'graphql';
import { memoized } from '../../domain/memoized.js';
import { plainSdlOf, withMarks } from '../schema/index.js';

/** Of fields that always read routes. `tokens` and `tokenSearch` do so only with `srcToken` or `reachableFrom`. */
const ROUTES = '@cost(weight: 100) @listSize(assumedSize: 100)';

const NOT_USED = ['@semanticNonNull', null] as const;

/**
 * The schema as a Federation 2 subgraph. `Node` and its queries are left out, because an id in a supergraph does not show
 * from which subgraph it is. All tested composers support the linked version. The list sizes are estimates, with which a
 * router can refuse expensive operations.
 */
export const subgraphSdlOf = memoized((schema: GraphQLSchema): string => {
  const link =
    'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@key", "@listSize", "@shareable"])';
  const marks = new Map([
    NOT_USED,
    ['Node', null],
    ['Query.node', null],
    ['Query.nodes', null],
    ['Chain', '@key(fields: "chainKey") @key(fields: "id") @key(fields: "caip2")'],
    ['Token', '@key(fields: "chainKey address") @key(fields: "id") @key(fields: "caip19")'],
    ['HeldBackFact', '@shareable'],
    ['NativeCurrency', '@shareable'],
    ['Price', '@shareable'],
    ['PageInfo', '@shareable'],
    ['Chain.tokens', '@listSize(assumedSize: 50)'],
    ['Query.chains', '@listSize(assumedSize: 200)'],
    ['Query.destinations', ROUTES],
    ['Query.listings', '@listSize(assumedSize: 2)'],
    ['Query.tokens', '@listSize(assumedSize: 1000)'],
    [
      'Query.tokenSearch',
      '@listSize(slicingArguments: ["first"], sizedFields: ["edges", "nodes"], requireOneSlicingArgument: false)',
    ],
    ['Token.destinations', ROUTES],
  ]);
  return normalised(link + withMarks(plainSdlOf(schema), marks).replaceAll(' implements Node ', ' '));
});

/** The directives of `@graphql-tools/stitching-directives` that this graph uses. */
const PRELUDE = `
directive @canonical on OBJECT | INTERFACE | INPUT_OBJECT | UNION | ENUM | SCALAR | FIELD_DEFINITION | INPUT_FIELD_DEFINITION
directive @key(selectionSet: String!) on OBJECT
directive @merge(argsExpr: String, keyArg: String, keyField: String, key: [String!], additionalArgs: String) on FIELD_DEFINITION
`;

/** The schema for stitching: Chain and Token are merged by look-ups. Their descriptions replace those of other graphs. */
export const stitchingSdlOf = memoized((schema: GraphQLSchema): string => {
  const marks = new Map([
    NOT_USED,
    // With a @key on Chain, stitching would need that key for every look-up, even for the one by CAIP-2.
    ['Chain', '@canonical'],
    ['Token', '@canonical @key(selectionSet: "{ chainKey address }")'],
    ['Query.chainsByCaip2', '@merge(keyField: "caip2")'],
    ['Query.chainsByKey', '@merge(keyField: "chainKey")'],
    ['Query.tokensByKey', '@merge(key: ["chainKey", "address"], keyArg: "keys")'],
  ]);
  return normalised(PRELUDE + withMarks(plainSdlOf(schema), marks));
});

function normalised(sdl: string): string {
  return `${print(parse(sdl))}\n`;
}
