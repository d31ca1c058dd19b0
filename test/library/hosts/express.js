import { openGateway } from 'chains-and-tokens-gateway';
import express from 'express';

const gateway = await openGateway({ upstreamUrl: 'https://stargate.finance/api/v1', path: '/api/graphql' });

const app = express();
app.use('/api/graphql', gateway.handler);
app.listen(3000);
