/** One built gateway with demo data for all tests of a file. */
import { share } from './ends.js';
import { startGatewayProcess } from './gateway-process.js';

/** Without refreshes of tokens, which change prices in the demo: two responses must have equal prices. */
const UNCHANGING = { TOKENS_FRESH_MS: '3600000' };

/** Call it in the file or `describe`, not in a hook. */
export const shareGateway = () =>
  share(async (atEnd) => {
    const { address } = await startGatewayProcess(UNCHANGING, atEnd);
    /** Such as `http://127.0.0.1:40123/graphql`. */
    return { endpoint: `${address}/graphql` };
  });
