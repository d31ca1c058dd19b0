import { createServer } from 'node:http';
import { openGateway } from 'chains-and-tokens-gateway';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });
createServer(gateway.handler).listen(3000);
