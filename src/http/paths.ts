/** The paths that the gateway serves, below the base path. */

export const GRAPHQL_PATH = '/graphql';
/** Of the Model Context Protocol. */
export const MCP_PATH = '/mcp';
export const PICKER_PATH = '/';
export const PICKER_FILES = '/picker/';
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

/** The default paths of the library: all but `/metrics`, which shows how busy the gateway is. */
export const PATHS_WITHOUT_METRICS: readonly OptionalPath[] = OPTIONAL_PATHS.filter(
  (path) => path !== '/metrics',
);
