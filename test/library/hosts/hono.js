import { serve } from '@hono/node-server';
import { openGateway } from 'chains-and-tokens-gateway';
import { Hono } from 'hono';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

const app = new Hono();
app.all('/tokens/*', (context) => gateway.fetch(context.req.raw));
serve({ fetch: app.fetch, port: 3000 });
