import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { builder } from './builder.js';
import './chain.js';
import './token.js';
import './token-search.js';
import './destinations.js';
import './changes.js';
import './sources.js';
import './listing-status.js';

/** The whole graph. It is the same for all settings. */
export const schema = builder.toSchema();

/** The text of `schema.graphql`: sorted, so that moving code does not change it. */
export function sdlOf(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
