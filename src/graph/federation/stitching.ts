import { type GraphQLSchema, print } from 'graphql';
import { withDirectives } from './directives.js';

/** The directives of `@graphql-tools/stitching-directives` that are used here. */
const PRELUDE = `
directive @canonical on OBJECT | INTERFACE | INPUT_OBJECT | UNION | ENUM | SCALAR | FIELD_DEFINITION | INPUT_FIELD_DEFINITION
directive @key(selectionSet: String!) on OBJECT
directive @merge(argsExpr: String, keyArg: String, keyField: String, key: [String!], additionalArgs: String) on FIELD_DEFINITION
`;

/**
 * The schema as a stitched subschema: by which look-up Chain and Token are merged, from which keys, and that
 * their descriptions here are the ones to keep.
 */
export function stitchingSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude: PRELUDE,
    types: {
      Chain: '@canonical @key(selectionSet: "{ chainKey }")',
      Token: '@canonical @key(selectionSet: "{ chainKey address }")',
    },
    fields: {
      'Query.chainsByKey': '@merge(keyField: "chainKey")',
      'Query.tokensByKey': '@merge(key: ["chainKey", "address"], keyArg: "keys")',
    },
  });
  return `${print(document)}\n`;
}
