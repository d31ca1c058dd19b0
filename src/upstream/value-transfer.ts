import { foldChainKey } from '../domain/addresses.js';
import { GatewayError } from '../domain/errors.js';
import type { Listing, RouteClients } from '../domain/listing.js';
import { fetchAllPages } from './pagination.js';
import { parseChains, parseTokens, valueTransferToken } from './rows.js';
import { getTokens, originOf, type ServiceOptions } from './service.js';

/**
 * The value-transfer service, the successor of v1: `GET {base}/chains` and
 * `GET {base}/tokens?transferrableFromChainKey&transferrableFromTokenAddress`, both in pages.
 *
 * An answer is as old as its oldest page.
 */
export function createValueTransferListing(options: ServiceOptions): Listing {
  const { http, source, watchFields } = options;

  async function fetchTokens(
    query: Readonly<Record<string, string>>,
    isForRoutes: boolean,
    clients?: RouteClients,
  ) {
    const request = { path: 'tokens', query, first: !isForRoutes, clients };
    const firstPage = await getTokens(http, request);
    const pages = await fetchAllPages(options, request, firstPage);
    const fetched = await parseTokens(pages.rows, originOf(source, pages), isForRoutes, valueTransferToken);
    if (!isForRoutes) await watchFields('tokens', pages.rows);
    return fetched;
  }

  return {
    source,
    delay: http.delay,
    async chains() {
      const request = { path: 'chains', first: true };
      const firstPage = await http.getJson(request);
      const pages = await fetchAllPages(options, request, firstPage);
      const fetched = await parseChains(pages.rows, originOf(source, pages));
      await watchFields('chains', pages.rows);
      return fetched;
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      if (srcToken !== undefined) {
        if (srcChainKey === undefined) throw chainIsMissing();
        const query = {
          transferrableFromChainKey: srcChainKey,
          transferrableFromTokenAddress: srcToken,
        };
        return fetchTokens(query, true, clients);
      }
      const fetched = await fetchTokens({}, false);
      if (srcChainKey === undefined) return fetched;
      // The service has no filter by chain alone.
      const rows = Object.freeze(
        fetched.rows.filter(({ chainKey }) => chainKey === foldChainKey(srcChainKey)),
      );
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
