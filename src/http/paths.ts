/** The paths that the gateway serves, below the base path. */

export const GRAPHQL_PATH = '/graphql';
/** The Model Context Protocol. */
export const MCP_PATH = '/mcp';
/** The token picker, a page for browsers, and the folder of its files. */
export const PICKER_PATH = '/';
export const PICKER_FILES = '/picker/';
/** Files for machines. */
export const LLMS_PATH = '/llms.txt';
export const SCHEMA_PATH = '/schema.graphql';
export const TOKEN_LIST_PATH = '/tokenlist.json';
export const MONITORING_PATHS = ['/live', '/ready', '/metrics'] as const;

/** The paths that `SERVED_PATHS` can name. */
export const OPTIONAL_PATHS = [
  PICKER_PATH,
  LLMS_PATH,
  SCHEMA_PATH,
  TOKEN_LIST_PATH,
  ...MONITORING_PATHS,
] as const;

export type OptionalPath = (typeof OPTIONAL_PATHS)[number];

/** The paths that anybody may see. `/metrics` is not one of them: it shows how busy the gateway is. */
export const PATHS_WITHOUT_METRICS: readonly OptionalPath[] = OPTIONAL_PATHS.filter(
  (path) => path !== '/metrics',
);
