import type { Listing } from '../domain/listing.js';
import { parseChains, parseTokens, rowsOf } from './rows.js';
import { getTokens, type ServiceOptions } from './service.js';

/** The v1 service: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export function createV1Listing({ http, source, watchFields }: ServiceOptions): Listing {
  return {
    source,
    delay: http.delay,
    async chains() {
      const { json, sentAt } = await http.getJson({ path: 'chains', first: true });
      const rows = rowsOf('chains', json);
      const fetched = await parseChains(rows, { source, takenAt: sentAt });
      await watchFields('chains', rows);
      return fetched;
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      const isForRoutes = srcToken !== undefined;
      const request = { path: 'tokens', query: { srcChainKey, srcToken }, first: !isForRoutes, clients };
      const { json, sentAt } = await getTokens(http, request);
      const rows = rowsOf('tokens', json);
      const fetched = await parseTokens(rows, { source, takenAt: sentAt }, isForRoutes);
      if (!isForRoutes) await watchFields('tokens', rows);
      return fetched;
    },
  };
}
