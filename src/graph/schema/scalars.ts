import { builder } from './builder.js';

/** The last text made. All prices of one refresh have the same time, so most calls ask for it again. */
let last = { milliseconds: Number.NaN, text: '' };

/** @throws RangeError for an invalid time */
function textOf(milliseconds: number): string {
  if (milliseconds !== last.milliseconds) {
    last = { milliseconds, text: new Date(milliseconds).toISOString() };
  }
  return last.text;
}

builder.scalarType('DateTime', {
  description: 'A UTC time in RFC 3339 format with milliseconds, such as `2026-01-31T12:34:56.789Z`.',
  specifiedByURL: 'https://scalars.graphql.org/andimarek/date-time',
  serialize: textOf,
});
