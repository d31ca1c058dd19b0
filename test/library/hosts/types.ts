/** Compiles only if the types of the library have exactly its options. */
import { createServer } from 'node:http';
import { type OpenedGateway, type OpenGatewayOptions, openGateway } from 'chains-and-tokens-gateway';

const options: OpenGatewayOptions = {
  upstreamUrl: 'https://example.org/v1',
  upstreamProfile: 'auto',
  upstreamSuccessorUrl: 'https://example.org/v2',
  upstreamHeaders: { 'x-api-key': 'secret' },
  corsOrigins: ['https://app.example.org'],
  maxCost: 100_000,
  basePath: '/tokens',
  holdBackMs: 'never',
  logTo: process.stderr,
};
const gateway: OpenedGateway = await openGateway(options);
const response: Response = await gateway.fetch(new Request('http://gateway/tokens/graphql'), {
  client: '::1',
});
createServer(gateway.handler);
await gateway.close();

// @ts-expect-error A mistyped name.
await openGateway({ upstreamULR: 'https://example.org/v1' });
// @ts-expect-error A setting of the port, which the library does not have.
await openGateway({ port: 4000 });
// @ts-expect-error Not a time.
await openGateway({ holdBackMs: 'always' });
// @ts-expect-error Not one of the profiles.
await openGateway({ upstreamProfile: 'v2' });

export { response };
