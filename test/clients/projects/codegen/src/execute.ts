/** Executes a document of GraphQL Code Generator, with the types of its result and variables. */
import type { TypedDocumentString } from './gql/graphql.js';
import { post } from './post.js';

export function execute<Result, Variables>(
  endpoint: string,
  document: TypedDocumentString<Result, Variables>,
  variables: Variables,
): Promise<Result> {
  return post(endpoint, document.toString(), variables);
}
