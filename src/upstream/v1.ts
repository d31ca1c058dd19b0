import type { Listing } from '../domain/listing.js';
import { parseChains, parseTokens, rowsOf } from './rows.js';
import { getTokens, type ServiceOptions } from './service.js';

/** The v1 service: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export function createV1Listing({ http, source }: ServiceOptions): Listing {
  return {
    source,
    delay: http.delay,
    async chains() {
      const { json, sentAt } = await http.getJson({ path: 'chains', first: true });
      return parseChains(rowsOf('chains', json), { source, takenAt: sentAt });
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      const isForRoutes = srcToken !== undefined;
      const request = { path: 'tokens', query: { srcChainKey, srcToken }, first: !isForRoutes, clients };
      const { json, sentAt } = await getTokens(http, request);
      return parseTokens(rowsOf('tokens', json), { source, takenAt: sentAt }, isForRoutes);
    },
  };
}
