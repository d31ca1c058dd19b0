import SchemaBuilder from '@pothos/core';
import type { GatewayContext } from '../context.js';

/** The one builder of the graph; it has no types of its own. */
export const builder = new SchemaBuilder<{
  Context: GatewayContext;
  Scalars: {
    ID: { Input: string; Output: string };
    /** Milliseconds since 1970 in the code, an RFC 3339 string in the graph. No input takes one. */
    DateTime: { Input: never; Output: number };
  };
  DefaultFieldNullability: false;
}>({ defaultFieldNullability: false });

builder.queryType({
  description:
    'Chains and tokens of a cross-chain transfer service, answered from snapshots of its listings: at once, and also while the service is slow, wrong or gone. `listings` says how old the snapshots are.',
});
