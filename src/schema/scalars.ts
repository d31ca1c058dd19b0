import { GraphQLError } from 'graphql';
import { builder } from './builder.js';

builder.scalarType('DateTime', {
  description: 'A moment in UTC, as RFC 3339 writes it, to the millisecond: `2026-01-31T12:34:56.789Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize: (milliseconds) => new Date(milliseconds).toISOString(),
  parseValue(value) {
    const milliseconds = typeof value === 'string' ? Date.parse(value) : Number.NaN;
    if (Number.isNaN(milliseconds)) {
      throw new GraphQLError(
        `Expected a moment such as "2026-01-31T12:34:56Z", got ${JSON.stringify(value)}.`,
      );
    }
    return milliseconds;
  },
});
