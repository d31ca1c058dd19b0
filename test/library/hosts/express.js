import { openGateway } from 'chains-and-tokens-gateway';
import express from 'express';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', basePath: '/tokens' });

const app = express();
app.use('/tokens', gateway.handler);
app.listen(3000);
