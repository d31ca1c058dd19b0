/** Serves a graph of another team on a free port. */
import { type GraphQLSchema, graphql } from 'graphql';
import { startAround } from '../../support/open-gateway.js';
import type { AtEnd } from '../../support/server-process.js';

/** Serves a graph of another team on a free port. @returns its address */
export async function serveGraph(schema: GraphQLSchema, rootValue: unknown, atEnd: AtEnd) {
  const url = await startAround(async (request, response) => {
    const asked = new URL(request.url ?? '', 'http://graph').searchParams.get('query');
    const body = Buffer.concat(await request.toArray()).toString();
    const { query, variables } = asked === null ? JSON.parse(body) : { query: asked, variables: {} };
    const answer = await graphql({ schema, source: query, variableValues: variables, rootValue });
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }, atEnd);
  return { url };
}
