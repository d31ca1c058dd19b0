/** The schema of the graph, and its text. */
import {
  DirectiveLocation,
  GraphQLDirective,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  type GraphQLSchema,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
  specifiedDirectives,
} from 'graphql';
import { builder } from './builder.js';
import './chain.js';
import './token.js';
import './token-search.js';
import './destinations.js';
import './changes.js';
import './sources.js';
import './listing-status.js';

const SEMANTIC_NON_NULL = new GraphQLDirective({
  name: 'semanticNonNull',
  description:
    'The field is null only if it has an error, so code generators for clients that handle errors may treat it as non-null.',
  locations: [DirectiveLocation.FIELD_DEFINITION],
  args: {
    levels: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLInt))),
      defaultValue: [0],
      description: 'The levels of lists that this applies to; 0 is the field itself.',
    },
  },
});

/** The fields that are null only with an error. */
const NULL_ONLY_WITH_ERROR: readonly string[] = [
  'Chain.tokenCount',
  'Chain.tokens',
  'Query.chainChanges',
  'Query.chains',
  'Query.tokenChanges',
  'Query.tokenSearch',
  'Query.tokens',
  'Token.destinations',
];

/** The schema of the graph. The schema does not depend on settings. */
export const schema = builder.toSchema({ directives: [...specifiedDirectives, SEMANTIC_NON_NULL] });

/** The text of `schema.graphql`, for clients. It marks the fields that are null only with an error. */
export function sdlOf(schema: GraphQLSchema): string {
  const plain = plainSdlOf(schema);
  let marked = '';
  let from = 0;
  for (const type of parse(plain).definitions) {
    if (type.kind !== Kind.OBJECT_TYPE_DEFINITION) continue;
    for (const field of type.fields ?? []) {
      if (!NULL_ONLY_WITH_ERROR.includes(`${type.name.value}.${field.name.value}`)) continue;
      const { end = 0 } = field.loc ?? {};
      marked += `${plain.slice(from, end)} @${SEMANTIC_NON_NULL.name}`;
      from = end;
    }
  }
  return marked + plain.slice(from);
}

/** The schema as text without the marks of {@link sdlOf}. Sorted, so that moving code does not change the text. */
export function plainSdlOf(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}
