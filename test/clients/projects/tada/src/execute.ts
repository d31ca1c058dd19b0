/** Executes a document of gql.tada, with the types of its result and variables. */
import type { TadaDocumentNode } from 'gql.tada';
import { print } from 'graphql';
import { post } from './post.js';

export function execute<Result, Variables>(
  endpoint: string,
  document: TadaDocumentNode<Result, Variables>,
  variables: Variables,
): Promise<Result> {
  return post(endpoint, print(document), variables);
}
