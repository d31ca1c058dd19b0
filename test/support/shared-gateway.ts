import { beforeAll } from 'vitest';
import { afterTests } from './ends.js';
import { startGatewayProcess } from './gateway-process.js';

/**
 * Prevents refreshes. The demo changes its prices at each refresh, and two responses must have equal prices.
 */
const UNCHANGING = { TOKENS_FRESH_MS: '3600000' };

/**
 * Starts the built gateway with demo data for all tests of a file or `describe`. Call this function there, not in a
 * hook.
 */
export function shareGateway() {
  const shared = { endpoint: '' };
  const atEnd = afterTests();
  beforeAll(async () => {
    const { address } = await startGatewayProcess(UNCHANGING, atEnd);
    shared.endpoint = `${address}/graphql`;
  });
  /** When the tests run, `endpoint` is set, such as `http://127.0.0.1:40123/graphql`. */
  return shared as { readonly endpoint: string };
}
