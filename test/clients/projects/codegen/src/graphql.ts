/** The function `graphql` that GraphQL Code Generator writes. */
export { graphql } from './gql/index.js';
