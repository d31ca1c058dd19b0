// npx mesh-compose --output supergraph.graphql
import { defineConfig, loadGraphQLHTTPSubgraph } from '@graphql-mesh/compose-cli';

const subgraph = (name, endpoint) => ({
  sourceHandler: loadGraphQLHTTPSubgraph(name, { endpoint, federation: true }),
});

export const composeConfig = defineConfig({
  subgraphs: [
    subgraph('tokens', 'http://127.0.0.1:4000/graphql'),
    subgraph('stats', 'http://127.0.0.1:4001/graphql'),
  ],
});
