import { type GraphQLSchema, print } from 'graphql';
import { withDirectives } from './directives.js';

/** One question for routes can cost the upstream a request; everything else is read from a snapshot. */
const ROUTES = '@cost(weight: 100) @listSize(assumedSize: 100)';

/**
 * The schema as a Federation 2 subgraph: Chain and Token are entities, and what several subgraphs may define
 * alike is shareable. Without `Node`: in a graph of several parts an id says nothing of whose it is.
 *
 * It links the last version that every common composer takes. The sizes of lists are rough: by them a router
 * can refuse what would cost too much, where it is told to.
 */
export function subgraphSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude:
      'extend schema @link(url: "https://specs.apollo.dev/federation/v2.9", import: ["@cost", "@key", "@listSize", "@shareable"])',
    types: {
      Chain: '@key(fields: "chainKey") @key(fields: "id")',
      Token: '@key(fields: "chainKey address") @key(fields: "id")',
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
        '@listSize(slicingArguments: ["first"], sizedFields: ["edges"], requireOneSlicingArgument: false)',
      'Token.destinations': ROUTES,
    },
    without: ['Node', 'Query.node', 'Query.nodes'],
  });
  return `${print(document)}\n`;
}
