/** The path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';
