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
createServer(createGatewayRuntime({ supergraph: supergraphSdl })).listen(4002);
