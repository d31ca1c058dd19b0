import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type GraphQLSchema, graphql } from 'graphql';

/** A graph of another team. */
export interface ServedGraph {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves a graph on a free port. */
export async function serveGraph(schema: GraphQLSchema, rootValue: unknown): Promise<ServedGraph> {
  const server = createServer(async (request, response) => {
    const asked = new URL(request.url ?? '', 'http://graph').searchParams.get('query');
    const body = Buffer.concat(await request.toArray()).toString();
    const { query, variables } = asked === null ? JSON.parse(body) : { query: asked, variables: {} };
    const answer = await graphql({ schema, source: query, variableValues: variables, rootValue });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
