import { createServer } from 'node:http';
import { createGatewayRuntime } from '@graphql-hive/gateway-runtime';
import { composeServices } from '@theguild/federation-composition';
import { parse } from 'graphql';

const urls = { tokens: 'http://127.0.0.1:4000/graphql', stats: 'http://127.0.0.1:4001/graphql' };
const services = Object.entries(urls).map(async ([name, url]) => {
  const { data } = await (await fetch(`${url}?query={_service{sdl}}`)).json();
  return { name, url, typeDefs: parse(data._service.sdl) };
});
const { supergraphSdl } = composeServices(await Promise.all(services));
const propagateHeaders = {
  // Adds the client's address to those that proxies in front of this gateway have written.
  fromClientToSubgraphs({ request, context }) {
    const before = request.headers.get('x-forwarded-for');
    return { 'x-forwarded-for': [before, context.req.socket.remoteAddress].filter(Boolean).join(', ') };
  },
};
createServer(createGatewayRuntime({ supergraph: supergraphSdl, propagateHeaders })).listen(4002);
