import { openGateway } from 'chains-and-tokens-gateway';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

Bun.serve({ port: 3000, fetch: (request) => gateway.fetch(request) });
