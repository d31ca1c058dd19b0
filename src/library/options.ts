import { type Config, crossChecks, SETTINGS } from '../config.js';
import { documentsIn } from '../config-documents.js';
import { type Parse, SettingError } from '../config-values.js';
import { GRAPHQL_PATH, LLMS_PATH, MCP_PATH, SCHEMA_PATH, TOKEN_LIST_PATH } from '../http/paths.js';

/** Settings of the process that a gateway inside another server does not have. */
const OF_THE_PORT = ['host', 'port', 'adminPort', 'maxConnections'] as const;

/** The settings of the gateway, with the defaults of `config/settings.md`. */
export type GatewaySettings = Partial<Omit<Config, (typeof OF_THE_PORT)[number] | keyof OwnForms>> & OwnForms;

/** Settings that can be more than what stands in an environment variable. */
interface OwnForms {
  /** Such as `20`, `'20/100'` or `{ perSecond: 20, burst: 100 }`. */
  readonly rateLimit?: number | string | { readonly perSecond: number; readonly burst: number } | undefined;
  /** The path of the file, what the file contains, or texts by id. */
  readonly trustedDocuments?: string | object | ReadonlyMap<string, string> | undefined;
}

/**
 * Checks settings as the process checks its environment variables, and adds the defaults.
 *
 * @throws TypeError if a name is unknown or a value is invalid; its message lists all of them
 */
export function checkSettings(given: Readonly<Record<string, unknown>>): Config {
  const errors: string[] = [];
  const allowed = Object.keys(SETTINGS).filter((key) => !OF_THE_PORT.some((of) => of === key));
  for (const key of Object.keys(given)) {
    if (!allowed.includes(key)) errors.push(`${key}: there is no such option`);
  }
  const values = Object.entries(SETTINGS).map(([key, { fallback, parse }]) => {
    const value = allowed.includes(key) ? given[key] : undefined;
    if (value === undefined) return [key, fallback];
    try {
      return [key, parseValue(key, value, parse)];
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      const text = textOf(value);
      errors.push(
        `${key}: expected ${error.message}, got ${error.shown?.(text) ?? JSON.stringify(text.slice(0, 100))}`,
      );
      return [key, fallback];
    }
  });
  const config = Object.fromEntries(values) as Config;
  for (const [name, message] of crossChecks(config, false)) errors.push(withKeys(`${name}: ${message}`));
  if (errors.length > 0) throw new TypeError(`The gateway did not open. ${errors.join('; ')}`);
  return config;
}

/** @throws SettingError if the value is invalid */
function parseValue(key: string, value: unknown, parse: Parse<unknown>): unknown {
  if (key === ('trustedDocuments' satisfies keyof OwnForms) && typeof value === 'object' && value !== null) {
    return documentsIn(value instanceof Map ? Object.fromEntries(value) : value);
  }
  // No proxies are the default; other empty lists would mean something else than it.
  if (key === ('trustedProxies' satisfies keyof Config) && Array.isArray(value) && value.length === 0)
    return [];
  const text = textOf(value);
  // Not the default: an empty text is a mistake, such as an unset variable.
  if (text === '') throw new SettingError('another value than an empty one');
  return parse(text);
}

/** The value as its environment variable would have it. */
function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (typeof value !== 'object' || value === null) return String(value).trim();
  if ('perSecond' in value && 'burst' in value) return `${value.perSecond}/${value.burst}`;
  return JSON.stringify(value);
}

/** The message with options in place of environment variables. */
function withKeys(message: string): string {
  return Object.entries(SETTINGS).reduce(
    (text, [key, { name }]) => text.replaceAll(new RegExp(`\\b${name}\\b`, 'g'), key),
    message,
  );
}

/**
 * Checks the path of the GraphQL endpoint.
 *
 * @throws TypeError unless it is an absolute path without a query, and none that the gateway serves something else at
 */
export function checkPath(path: string = GRAPHQL_PATH): string {
  const isPath = /^(\/[^/?#]+)+$/.test(path) && URL.canParse(`http://gateway${path}`);
  if (isPath && new URL(`http://gateway${path}`).pathname === path && !TAKEN.includes(path)) return path;
  throw new TypeError(`path: expected a path such as ${GRAPHQL_PATH}, got ${JSON.stringify(path)}`);
}

const TAKEN: readonly string[] = [
  '/live',
  '/ready',
  '/metrics',
  '/picker',
  TOKEN_LIST_PATH,
  MCP_PATH,
  LLMS_PATH,
  SCHEMA_PATH,
];
