import { GraphQLError } from 'graphql';
import { builder } from './builder.js';

/** The last moment that was written: the prices of one refresh all have the same. */
let last = { milliseconds: Number.NaN, text: '' };

/** @throws RangeError for what is no moment */
function textOf(milliseconds: number): string {
  if (milliseconds !== last.milliseconds) {
    last = { milliseconds, text: new Date(milliseconds).toISOString() };
  }
  return last.text;
}

builder.scalarType('DateTime', {
  description: 'A moment in UTC, as RFC 3339 writes it, to the millisecond: `2026-01-31T12:34:56.789Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize: textOf,
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
