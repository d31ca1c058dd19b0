import type { Listing } from '../domain/listing.js';
import { parseChains, parseTokens, rowsOf } from './rows.js';
import { getTokens, originOf, type ServiceOptions } from './service.js';

/** The v1 service: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export function createV1Listing({ http, source, watchFields }: ServiceOptions): Listing {
  return {
    source,
    delay: http.delay,
    async chains() {
      const answer = await http.getJson({ path: 'chains', first: true });
      const rows = rowsOf('chains', answer.json);
      const fetched = await parseChains(rows, originOf(source, answer));
      await watchFields('chains', rows);
      return fetched;
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      const isForRoutes = srcToken !== undefined;
      const request = { path: 'tokens', query: { srcChainKey, srcToken }, first: !isForRoutes, clients };
      const answer = await getTokens(http, request);
      const rows = rowsOf('tokens', answer.json);
      const fetched = await parseTokens(rows, originOf(source, answer), isForRoutes);
      if (!isForRoutes) await watchFields('tokens', rows);
      return fetched;
    },
  };
}
