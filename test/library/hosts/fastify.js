import { openGateway } from 'chains-and-tokens-gateway';
import fastify from 'fastify';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

const app = fastify();
// Before Fastify reads the body.
const onRequest = (request, reply) => {
  reply.hijack();
  gateway.handler(request.raw, reply.raw);
};
for (const path of ['/tokens', '/tokens/*']) app.all(path, { onRequest }, () => {});
await app.listen({ port: 3000 });
