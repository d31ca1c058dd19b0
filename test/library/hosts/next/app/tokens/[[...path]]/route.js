import { openGateway } from 'chains-and-tokens-gateway';

const gateway = await openGateway({
  upstreamUrl: 'https://stargate.finance/api/v1',
  basePath: '/tokens',
  // Next compresses every response.
  compression: false,
});

const answer = (request) => gateway.fetch(request);

export { answer as GET, answer as HEAD, answer as OPTIONS, answer as POST };
