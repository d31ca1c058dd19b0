import { type GraphQLSchema, print } from 'graphql';
import { withDirectives } from './directives.js';

/** The directives of `@graphql-tools/stitching-directives` that this graph uses. */
const PRELUDE = `
directive @canonical on OBJECT | INTERFACE | INPUT_OBJECT | UNION | ENUM | SCALAR | FIELD_DEFINITION | INPUT_FIELD_DEFINITION
directive @key(selectionSet: String!) on OBJECT
directive @merge(argsExpr: String, keyArg: String, keyField: String, key: [String!], additionalArgs: String) on FIELD_DEFINITION
`;

/**
 * The schema as a subschema for stitching: Chain and Token are merged by key look-ups, and their descriptions win
 * over those of other subschemas.
 */
export function stitchingSdlOf(schema: GraphQLSchema): string {
  const document = withDirectives(schema, {
    prelude: PRELUDE,
    types: {
      // Without @key: stitching would add it to the key of each look-up, and so need both.
      Chain: '@canonical',
      Token: '@canonical @key(selectionSet: "{ chainKey address }")',
    },
    fields: {
      'Query.chainsByCaip2': '@merge(keyField: "caip2")',
      'Query.chainsByKey': '@merge(keyField: "chainKey")',
      'Query.tokensByKey': '@merge(key: ["chainKey", "address"], keyArg: "keys")',
    },
  });
  return `${print(document)}\n`;
}
