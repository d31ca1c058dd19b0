/** The entry point of the package for other servers. */
export type {
  FetchContext,
  LineWriter,
  OpenedGateway,
  OpenGatewayOptions,
  Readiness,
} from './open-gateway.js';
export { openGateway } from './open-gateway.js';
