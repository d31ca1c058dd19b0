import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';

/** The schema as the text of `schema.graphql`: sorted, so that a difference in it is one in the graph. */
export function sdlOf(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
