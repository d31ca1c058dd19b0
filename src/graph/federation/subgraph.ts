import { type GraphQLSchema, print } from 'graphql';
import { withDirectives } from './directives.js';

/** Routes can cost the upstream a request; all other fields are read from snapshots. */
const ROUTES = '@cost(weight: 100) @listSize(assumedSize: 100)';

/**
 * The schema as a Federation 2 subgraph: Chain and Token are entities, and value types are shareable. `Node` is
 * left out, because in a supergraph an id does not tell which subgraph it is from.
 *
 * It links the newest version of Federation that every common composer supports. The list sizes are rough; a
 * router can use them to refuse expensive operations.
 */
export function subgraphSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude:
      'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@key", "@listSize", "@shareable"])',
    types: {
      Chain: '@key(fields: "chainKey") @key(fields: "id") @key(fields: "caip2")',
      Token: '@key(fields: "chainKey address") @key(fields: "id") @key(fields: "caip19")',
      HeldBackFact: '@shareable',
      NativeCurrency: '@shareable',
      Price: '@shareable',
      PageInfo: '@shareable',
    },
    fields: {
      'Chain.tokens': '@listSize(assumedSize: 50)',
      'Query.chains': '@listSize(assumedSize: 200)',
      'Query.destinations': ROUTES,
      'Query.listings': '@listSize(assumedSize: 2)',
      'Query.tokens': '@listSize(assumedSize: 1000)',
      'Query.tokenSearch':
        '@listSize(slicingArguments: ["first"], sizedFields: ["edges", "nodes"], requireOneSlicingArgument: false)',
      'Token.destinations': ROUTES,
    },
    without: ['Node', 'Query.node', 'Query.nodes'],
  });
  return `${print(document)}\n`;
}
