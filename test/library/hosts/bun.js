import { openGateway } from 'chains-and-tokens-gateway';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', path: '/api/graphql' });

Bun.serve({ port: 3000, fetch: (request) => gateway.fetch(request) });
