/** The schema of the graph, and its text. */
import {
  type ASTNode,
  buildSchema,
  type GraphQLSchema,
  Kind,
  lexicographicSortSchema,
  parse,
  printSchema,
} from 'graphql';
import { builder } from './builder.js';
import './chain.js';
import './token.js';
import './token-search.js';
import './destinations.js';
import './changes.js';
import './listing-status.js';

const DIRECTIVES = buildSchema(`
"The field is null only if it has an error, so code generators for clients that handle errors may treat it as non-null."
directive @semanticNonNull(
  "The levels of lists that the directive applies to; 0 is the field itself."
  levels: [Int!]! = [0]
) on FIELD_DEFINITION
`).getDirectives();

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

/** The schema does not depend on settings. */
export const schema = builder.toSchema({ directives: DIRECTIVES });

/** The text of `schema.graphql`, for clients, with marks on the fields that are null only with an error. */
export function sdlOf(schema: GraphQLSchema): string {
  const marks = NULL_ONLY_WITH_ERROR.map((path) => [path, '@semanticNonNull'] as const);
  return withMarks(plainSdlOf(schema), new Map(marks));
}

/** The schema as text without the marks of {@link sdlOf}. Its types are sorted: moving code does not change the text. */
export function plainSdlOf(schema: GraphQLSchema): string {
  return `${printSchema(lexicographicSortSchema(schema))}\n`;
}

/**
 * Adds directives to the parts of an SDL (`Type`, `Type.field` or `@directive`), or leaves them out (null).
 *
 * @throws Error if the SDL lacks one of these parts, such as after a renaming
 */
export function withMarks(sdl: string, marks: ReadonlyMap<string, string | null>): string {
  const missing = new Set(marks.keys());
  let marked = sdl;

  /** @param head the part of the node after which directives are added */
  function mark(name: string, node: ASTNode, head = node): void {
    const directives = marks.get(name);
    if (directives === undefined) return;
    missing.delete(name);
    const { start = 0, end = 0 } = node.loc ?? {};
    const headEnd = head.loc?.end ?? end;
    if (directives === null) marked = marked.slice(0, start) + marked.slice(end);
    else marked = `${marked.slice(0, headEnd)} ${directives}${marked.slice(headEnd)}`;
  }

  // From the end to the beginning, so that an edit moves no part that is still to be edited.
  for (const definition of parse(sdl).definitions.toReversed()) {
    if (definition.kind === Kind.DIRECTIVE_DEFINITION) mark(`@${definition.name.value}`, definition);
    if (definition.kind !== Kind.OBJECT_TYPE_DEFINITION && definition.kind !== Kind.INTERFACE_TYPE_DEFINITION)
      continue;
    const { name, interfaces = [], fields = [] } = definition;
    for (const field of fields.toReversed()) mark(`${name.value}.${field.name.value}`, field);
    mark(name.value, definition, interfaces.at(-1) ?? name);
  }
  if (missing.size > 0) throw new Error(`The schema lacks: ${[...missing].join(', ')}`);
  return marked;
}
