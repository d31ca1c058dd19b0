import SchemaBuilder from '@pothos/core';
import type { GatewayContext } from '../context.js';

/** The Pothos builder. Every other file of this folder adds its types and fields to it. */
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
    'Chains and tokens of a cross-chain transfer service. Queries are answered from snapshots of its listings, so they are fast and also work while the service is slow, faulty or down. `listings` tells how old the snapshots are.',
});
