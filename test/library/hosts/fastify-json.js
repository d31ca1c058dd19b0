import { openGateway } from 'chains-and-tokens-gateway';
import fastify from 'fastify';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

const app = fastify({ bodyLimit: 4 * 2 ** 20 });
// Fastify keeps the body that it has parsed; the gateway looks for it at the raw request.
app.all('/tokens/*', (request, reply) => {
  reply.hijack();
  gateway.handler(Object.assign(request.raw, { body: request.body }), reply.raw);
});
await app.listen({ port: 3000 });
