import { UpstreamError } from './errors.js';
import type { UpstreamHttp } from './http.js';
import type { Listing, ListingSource } from './listing.js';
import { parseChains, parseTokens } from './parse.js';

/** What {@link createV1Listing} takes. */
export interface V1ListingOptions {
  readonly http: UpstreamHttp;
  readonly source: ListingSource;
}

/** The v1 service behind the seam: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export function createV1Listing({ http, source }: V1ListingOptions): Listing {
  return {
    source,
    async chains() {
      const { json, sentAt } = await http.getJson({ path: 'chains', first: true });
      return parseChains(json, { source, takenAt: sentAt });
    },
    async tokens({ srcChainKey, srcToken }) {
      const asksForRoutes = srcToken !== undefined;
      try {
        const query = { srcChainKey, srcToken };
        const { json, sentAt } = await http.getJson({ path: 'tokens', query, first: !asksForRoutes });
        return parseTokens(json, { source, takenAt: sentAt }, asksForRoutes);
      } catch (error) {
        // The service's way of saying that nothing can be reached from a token that it does not know.
        if (asksForRoutes && error instanceof UpstreamError && error.status === 422) {
          return { rows: [], rejected: { count: 0, first: [] }, source, takenAt: Date.now() };
        }
        throw error;
      }
    },
  };
}
