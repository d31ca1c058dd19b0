import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';

/** The text of `schema.graphql`: sorted, so that moving code does not change it. */
export function sdlOf(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
