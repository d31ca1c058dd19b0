import type { Price } from '../../domain/listing.js';
import { builder } from './builder.js';

/** Price in the graph. */
export const PriceType = builder.objectRef<Price>('Price').implement({
  description:
    "A token's price with the time it is from. It comes from a feed per symbol, so it is the same on every chain.",
  fields: (t) => ({
    usd: t.exposeFloat('usd', { description: 'US dollars for one whole token (not for its smallest part).' }),
    asOf: t.field({
      type: 'DateTime',
      description: 'When the gateway fetched it; the upstream itself puts no time on prices.',
      resolve({ asOf }, _args, { tracker }) {
        tracker.times = true;
        return asOf;
      },
    }),
  }),
});
