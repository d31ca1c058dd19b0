/** The path of the GraphQL endpoint. */
export const GRAPHQL_PATH = '/graphql';
/** Files for machines. */
export const LLMS_PATH = '/llms.txt';
export const SCHEMA_PATH = '/schema.graphql';
export const TOKEN_LIST_PATH = '/tokenlist.json';
/** The path of the Model Context Protocol. */
export const MCP_PATH = '/mcp';
