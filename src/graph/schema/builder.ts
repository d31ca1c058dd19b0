/** The builder of the schema, with the root type and the scalar DateTime. */
import SchemaBuilder from '@pothos/core';
import type { GatewayContext } from '../context.js';

export const builder = new SchemaBuilder<{
  Context: GatewayContext;
  Scalars: {
    ID: { Input: string; Output: string };
    /** Milliseconds since 1970 in the code, an RFC 3339 string in the graph. Inputs do not use it. */
    DateTime: { Input: never; Output: number };
  };
  DefaultFieldNullability: false;
}>({ defaultFieldNullability: false });

builder.queryType({
  description:
    'Chains and tokens of a cross-chain transfer service. Queries are answered from snapshots of its listings, so they are fast, and work while the service is slow, faulty or down. Once both snapshots are loaded, a query waits for the service only for routes that the gateway has not fetched within the last minute. `listings` tells how old the snapshots are.',
});

/** The last time and its text: all prices of a listing have the same time, and to make its text takes 2 µs. */
let last = { milliseconds: Number.NaN, text: '' };

builder.scalarType('DateTime', {
  description: 'A UTC time in RFC 3339 format with milliseconds, such as `2026-01-31T12:34:56.789Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize(milliseconds) {
    // `toISOString` throws a RangeError for an invalid time.
    if (last.milliseconds !== milliseconds)
      last = { milliseconds, text: new Date(milliseconds).toISOString() };
    return last.text;
  },
});
