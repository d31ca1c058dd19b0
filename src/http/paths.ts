/** The paths that the gateway serves, below the base path. */

export const GRAPHQL_PATH = '/graphql';
export const MCP_PATH = '/mcp';
export const MONITORING_PATHS = ['/live', '/ready', '/metrics'] as const;

/** The paths that `SERVED_PATHS` can name. `/` is the token picker. */
export const OPTIONAL_PATHS = [
  '/',
  '/llms.txt',
  '/schema.graphql',
  '/tokenlist.json',
  ...MONITORING_PATHS,
] as const;

export type OptionalPath = (typeof OPTIONAL_PATHS)[number];

/** The default paths of the library: all but `/metrics`, which shows how busy the gateway is. */
export const PATHS_WITHOUT_METRICS: readonly OptionalPath[] = OPTIONAL_PATHS.filter(
  (path) => path !== '/metrics',
);
