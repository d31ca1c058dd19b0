import { beforeAll } from 'vitest';
import { afterTests } from './ends.js';
import { startGatewayProcess } from './gateway-process.js';

/** Without refreshes, prices of two responses are equal: the demo changes them at each refresh. */
const UNCHANGING = { TOKENS_FRESH_MS: '3600000' };

/** The built gateway with the demo data for all tests of a file or `describe`. Call it there, and not in a hook. */
export function shareGateway() {
  const shared = { endpoint: '' };
  const atEnd = afterTests();
  beforeAll(async () => {
    const { address } = await startGatewayProcess(UNCHANGING, atEnd);
    shared.endpoint = `${address}/graphql`;
  });
  /** With its endpoint, such as `http://127.0.0.1:40123/graphql`, once tests run. */
  return shared as { readonly endpoint: string };
}
