import { openGateway } from 'chains-and-tokens-gateway';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

Deno.serve({ port: 3000 }, (request) => gateway.fetch(request));
