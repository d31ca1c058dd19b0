import type { Listing, ListingSource } from '../domain/listing.js';
import type { UpstreamHttp } from './http/client.js';
import { parseChains, parseTokens } from './rows.js';
import { getRoutes } from './unknown-token.js';

/** What {@link createV1Listing} takes. */
export interface V1ListingOptions {
  readonly http: UpstreamHttp;
  readonly source: ListingSource;
}

/** The v1 service behind the seam: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export function createV1Listing({ http, source }: V1ListingOptions): Listing {
  return {
    source,
    delay: http.delay,
    async chains() {
      const { json, sentAt } = await http.getJson({ path: 'chains', first: true });
      return parseChains(json, { source, takenAt: sentAt });
    },
    async tokens({ srcChainKey, srcToken }, clients) {
      const asksForRoutes = srcToken !== undefined;
      const request = { path: 'tokens', query: { srcChainKey, srcToken }, first: !asksForRoutes, clients };
      const { json, sentAt } = await (asksForRoutes ? getRoutes(http, request) : http.getJson(request));
      return parseTokens(json, { source, takenAt: sentAt }, asksForRoutes);
    },
  };
}
