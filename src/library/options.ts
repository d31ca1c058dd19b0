/** Checks the options of `openGateway`. */
import {
  type Config,
  configFrom,
  type FIXED_LIMITS,
  PORT_SETTINGS,
  SETTINGS,
  variableOf,
} from '../config/config.js';
import { documentsIn } from '../config/files.js';
import { type Parse, SettingError } from '../config/values.js';
import { PATHS_WITHOUT_METRICS } from '../http/paths.js';

/** Settings that may be an empty list. */
const EMPTY_LISTS = ['trustedProxies', 'servedPaths'] as const satisfies readonly (keyof Config)[];

/** The settings of the gateway. `config/settings.md` has their meanings and defaults. */
export type GatewaySettings = Partial<
  Omit<Config, (typeof PORT_SETTINGS)[number] | keyof typeof FIXED_LIMITS | keyof OwnForms>
> &
  OwnForms;

/** Settings that accept other forms than the text of an environment variable. */
interface OwnForms {
  /** Milliseconds, or `'never'`: then only a rule accepts a changed value. */
  readonly holdBackMs?: number | 'never' | undefined;
  /** Such as `20` or `'20/100'`. */
  readonly rateLimit?: number | string | undefined;
  /** The path of the file, or its parsed content. */
  readonly trustedDocuments?: string | object | undefined;
}

/**
 * @param otherErrors errors of options that are not settings
 * @throws TypeError if a name is unknown or a value is invalid; its message lists all of them
 */
export function checkSettings(
  given: Readonly<Record<string, unknown>>,
  otherErrors: readonly string[] = [],
): Config {
  const isOption = (key: string) =>
    Object.hasOwn(SETTINGS, key) && !PORT_SETTINGS.some((each) => each === key);
  const unknown = Object.keys(given).filter((key) => !isOption(key));
  const checked = configFrom(({ fallback, parse }, key) => {
    const value = isOption(key) ? given[key] : undefined;
    if (value === undefined) return key === 'servedPaths' ? PATHS_WITHOUT_METRICS : fallback;
    return parseValue(key, value, parse);
  }, false);
  const errors = [...otherErrors, ...unknown.map((key) => `${key}: there is no such option`)];
  if ('errors' in checked) errors.push(...checked.errors.map(withKeys));
  else if (errors.length === 0) return checked.config;
  throw new TypeError(`The gateway did not open. ${errors.join('; ')}`);
}

/** @throws SettingError if the value is invalid */
function parseValue(key: string, value: unknown, parse: Parse<unknown>): unknown {
  if (key === ('trustedDocuments' satisfies keyof OwnForms) && typeof value === 'object' && value !== null) {
    return documentsIn(value, 'a value');
  }
  // For other settings an empty list is refused below, since it has no clear meaning.
  if (EMPTY_LISTS.some((each) => each === key) && Array.isArray(value) && value.length === 0) return [];
  const text = textOf(value);
  // An empty text is refused: it is a mistake, such as an unset variable. Only `basePath` may be empty: the root.
  if (text === '' && key !== ('basePath' satisfies keyof Config))
    throw new SettingError('another value than an empty one', text);
  return parse(text);
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value).trim();
}

function withKeys(message: string): string {
  return Object.keys(SETTINGS).reduce(
    (text, key) => text.replaceAll(new RegExp(`\\b${variableOf(key)}\\b`, 'g'), key),
    message,
  );
}
