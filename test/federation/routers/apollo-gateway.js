import { createServer } from 'node:http';
import { composeServices } from '@apollo/composition';
import { ApolloGateway } from '@apollo/gateway';
import { parse, validate } from 'graphql';
import { servicesOf } from './services.js';

// Serves the subgraphs of a recipe through @apollo/gateway, as Apollo Server does.
const [, , recipe, port] = process.argv;
const { errors, supergraphSdl } = composeServices(await servicesOf(recipe));
if (errors) throw new AggregateError(errors);
const gateway = new ApolloGateway({ supergraphSdl });
const { executor } = await gateway.load();
const { schema } = gateway;

async function answer({ query, variables }) {
  const document = parse(query);
  const faults = validate(schema, document);
  if (faults.length > 0) return { errors: faults };
  return executor({
    document,
    queryHash: query,
    context: {},
    cache: new Map(),
    schema,
    request: { query, variables },
    metrics: {},
    overallCachePolicy: {},
  });
}

createServer(async (request, response) => {
  const chunks = await request.toArray();
  const answered = await answer(JSON.parse(Buffer.concat(chunks))).catch(({ message }) => ({
    errors: [{ message }],
  }));
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answered));
}).listen(Number(port), '127.0.0.1');
