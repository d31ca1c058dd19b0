/** The v1 service. The other services are described by how they differ from it. */
import { createRestService } from './service.js';

/** The v1 service: `GET {base}/chains` and `GET {base}/tokens?srcChainKey&srcToken`. */
export const createV1Service = createRestService({
  forms: {},
  isPaged: false,
  routeQuery: ({ srcChainKey, srcToken }) => ({ srcChainKey, srcToken }),
});
