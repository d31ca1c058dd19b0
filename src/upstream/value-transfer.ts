import { GatewayError } from '../domain/errors.js';
import type { Listing, RouteClients } from '../domain/listing.js';
import { fetchAllPages, type PaginationOptions } from './pagination.js';
import { parseChains, parseTokens, valueTransferToken } from './rows.js';
import { getRoutes } from './unknown-token.js';

/**
 * The value-transfer service, the successor of v1, behind the seam: `GET {base}/chains` and
 * `GET {base}/tokens?transferrableFromChainKey&transferrableFromTokenAddress`, both in pages.
 *
 * An answer is as old as its first page.
 */
export function createValueTransferListing(options: PaginationOptions): Listing {
  const { http } = options;
  const source = 'value-transfer';

  async function askTokens(
    query: Readonly<Record<string, string>>,
    asksForRoutes: boolean,
    clients?: RouteClients,
  ) {
    const request = { path: 'tokens', query, first: !asksForRoutes, clients };
    const firstPage = await (asksForRoutes ? getRoutes(http, request) : http.getJson(request));
    const tokens = await fetchAllPages(options, request, firstPage);
    return parseTokens({ tokens }, { source, takenAt: firstPage.sentAt }, asksForRoutes, valueTransferToken);
  }

  return {
    source,
    delay: http.delay,
    async chains() {
      const request = { path: 'chains', first: true };
      const firstPage = await http.getJson(request);
      const chains = await fetchAllPages(options, request, firstPage);
      return parseChains({ chains }, { source, takenAt: firstPage.sentAt });
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      if (srcToken !== undefined) {
        if (srcChainKey === undefined) throw chainIsMissing();
        const query = {
          transferrableFromChainKey: srcChainKey,
          transferrableFromTokenAddress: srcToken,
        };
        return askTokens(query, true, clients);
      }
      const fetched = await askTokens({}, false);
      if (srcChainKey === undefined) return fetched;
      // The service has no filter by chain alone.
      const rows = Object.freeze(fetched.rows.filter(({ chainKey }) => chainKey === srcChainKey));
      return { ...fetched, rows };
    },
  };
}

function chainIsMissing(): GatewayError {
  return new GatewayError(
    'BAD_USER_INPUT',
    'Expected "srcChainKey" beside "srcToken", got none: one address can live on several chains. Give the chainKey of the chain that the token lives on.',
  );
}
