export { graphql } from './gql/index.js';
