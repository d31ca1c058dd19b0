/** The successor of v1: its rows, parameters and pages. */
import { GatewayError } from '../domain/errors.js';
import { valueTransferToken } from './listing-kinds.js';
import { createRestService } from './service.js';

/**
 * The value-transfer service, the successor of v1: `GET {base}/chains` and
 * `GET {base}/tokens?transferrableFromChainKey&transferrableFromTokenAddress`, both in pages.
 */
export const createValueTransferService = createRestService({
  forms: { tokens: valueTransferToken },
  isPaged: true,
  routeQuery({ srcChainKey, srcToken }) {
    if (srcChainKey === undefined) {
      throw new GatewayError(
        'BAD_USER_INPUT',
        'Expected "srcChainKey" beside "srcToken", got none: one address can exist on several chains. Give the chainKey of its chain.',
      );
    }
    return { transferrableFromChainKey: srcChainKey, transferrableFromTokenAddress: srcToken };
  },
});
