/** The path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';
/** The path of the Model Context Protocol. */
export const MCP_PATH = '/mcp';
