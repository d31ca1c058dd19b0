import { isIP } from 'node:net';
import { LOG_LEVELS, type LogLevel } from './logger.js';

/** Turns the text of a setting into its value, or throws a Fault that says what was expected. */
type Read<Value> = (text: string) => Value;

interface Setting<Value> {
  /** The environment variable. */
  readonly name: string;
  /** In effect where the variable is unset or empty. */
  readonly fallback: Value;
  readonly read: Read<Value>;
  readonly meaning: string;
}

/** A text that is not a value of its setting. */
class Fault extends Error {
  readonly shown: ((text: string) => string) | undefined;

  /**
   * @param expected completes "expected …"
   * @param shown what may be said of the text, where it can hold a secret
   */
  constructor(expected: string, shown?: (text: string) => string) {
    super(expected);
    this.shown = shown;
  }
}

// Timers of Node take no longer time than this, and fire at once if given one.
const MAX_MS = 2 ** 31 - 1;

/** Every setting, in the order in which the README lists them. */
export const SETTINGS = {
  host: setting('HOST', '127.0.0.1', host, 'Address to listen on.'),
  port: setting('PORT', 4000, integer(0, 65_535), 'Port to listen on; 0 takes a free one.'),
  upstreamUrl: setting<string | undefined>(
    'UPSTREAM_URL',
    undefined,
    baseUrl,
    'Base address of the upstream with its version segment. None: the embedded demo listing.',
  ),
  upstreamHeaders: setting<Readonly<Record<string, string>>>(
    'UPSTREAM_HEADERS',
    {},
    headers,
    'JSON object of headers to send, for services that want a key.',
  ),
  upstreamTimeoutMs: setting('UPSTREAM_TIMEOUT_MS', 10_000, integer(1, MAX_MS), 'Time limit of one attempt.'),
  upstreamRetries: setting('UPSTREAM_RETRIES', 2, integer(0, 10), 'Further attempts after one that failed.'),
  upstreamRequestsPerSecond: setting(
    'UPSTREAM_REQUESTS_PER_SECOND',
    3,
    integer(1, 1000),
    'Never more attempts than this in any second, bursts included.',
  ),
  upstreamMaxBytes: setting(
    'UPSTREAM_MAX_BYTES',
    33_554_432,
    integer(1, 2 ** 30),
    'Limit on one answer of the upstream, decompressed.',
  ),
  chainsFreshMs: setting(
    'CHAINS_FRESH_MS',
    300_000,
    integer(1, MAX_MS),
    'Age of the chain listing after which a refresh runs.',
  ),
  tokensFreshMs: setting(
    'TOKENS_FRESH_MS',
    30_000,
    integer(1, MAX_MS),
    'Age of the token listing after which a refresh runs.',
  ),
  destinationsFreshMs: setting(
    'DESTINATIONS_FRESH_MS',
    60_000,
    integer(1, MAX_MS),
    'How long the routes from a token are given without asking again.',
  ),
  priceMaxAgeMs: setting('PRICE_MAX_AGE_MS', 3_600_000, integer(0, MAX_MS), 'An older price is null.'),
  maxRoutesPerOperation: setting(
    'MAX_ROUTES_PER_OPERATION',
    10,
    integer(0, 1000),
    'Distinct questions for routes that one operation may cost the upstream.',
  ),
  corsOrigins: setting<'*' | readonly string[]>(
    'CORS_ORIGINS',
    '*',
    origins,
    'Origins whose pages may read answers, separated by commas, or `*`; never with credentials.',
  ),
  graphiql: setting('GRAPHIQL', true, boolean, 'Whether browsers get the playground.'),
  introspection: setting('INTROSPECTION', true, boolean, 'Whether the schema may be asked for.'),
  maxDepth: setting('MAX_DEPTH', 12, integer(1, 1000), 'Levels of fields in one operation.'),
  maxAliases: setting('MAX_ALIASES', 30, integer(0, 100_000), 'Aliases in one operation.'),
  maxQueryTokens: setting('MAX_QUERY_TOKENS', 2000, integer(1, 1_000_000), 'Lexical tokens of one document.'),
  maxBodyBytes: setting('MAX_BODY_BYTES', 1_048_576, integer(1, 2 ** 30), 'Bytes of one request body.'),
  maxRows: setting(
    'MAX_ROWS',
    100_000,
    integer(1, 10_000_000),
    'Rows that the lists of one operation may come to in all.',
  ),
  logLevel: setting<LogLevel>('LOG_LEVEL', 'info', oneOf(LOG_LEVELS), `One of ${LOG_LEVELS.join(', ')}.`),
};

/** The value of every setting. */
export type Config = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key]['fallback'];
};

/** The settings, or else every fault in them: its name, what was expected and what came. */
export type ConfigOrFaults = { readonly config: Config } | { readonly faults: readonly string[] };

/** Reads the settings from environment variables; one that is unset or empty has its default. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ConfigOrFaults {
  const faults: string[] = [];
  const values = Object.entries(SETTINGS).map(([key, { name, fallback, read }]) => {
    const text = env[name]?.trim();
    if (!text) return [key, fallback];
    try {
      return [key, read(text)];
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      const came = fault.shown?.(text) ?? JSON.stringify(text.slice(0, 100));
      faults.push(`${name}: expected ${fault.message}, got ${came}`);
      return [key, fallback];
    }
  });
  return faults.length > 0 ? { faults } : { config: Object.fromEntries(values) as Config };
}

function setting<Value>(name: string, fallback: Value, read: Read<Value>, meaning: string): Setting<Value> {
  return { name, fallback, read, meaning };
}

function integer(min: number, max: number): Read<number> {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new Fault(`a whole number from ${min} to ${max}`);
  };
}

function boolean(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Fault('true or false');
}

function oneOf<Value extends string>(values: readonly Value[]): Read<Value> {
  return (text) => {
    const value = values.find((candidate) => candidate === text);
    if (value !== undefined) return value;
    throw new Fault(`one of ${values.join(', ')}`);
  };
}

function host(text: string): string {
  if (isIP(text) || /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text)) return text;
  throw new Fault('an IP address or a host name');
}

function baseUrl(text: string): string {
  // A password or a key stands behind one of these, also where the rest is mistyped.
  const shown = /[@?#]/.test(text) ? () => 'another address' : undefined;
  if (!URL.canParse(text)) throw new Fault('an address such as https://example.org/v1', shown);
  const { protocol, username, password } = new URL(text);
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new Fault('an address that begins with http:// or https://', shown);
  }
  if (username || password) {
    throw new Fault('an address without user name and password (send them by UPSTREAM_HEADERS)', shown);
  }
  // Not by the parsed parts, which are empty for a bare "?" or "#".
  if (/[?#]/.test(text)) throw new Fault('an address without "?" and "#"', shown);
  return text;
}

function headers(text: string): Readonly<Record<string, string>> {
  const expected =
    'a JSON object of header names and texts, such as {"x-api-key": "…"}, none of them about the connection';
  const lengthOnly = () => `${text.length} other characters`;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Fault(expected, lengthOnly);
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new Fault(expected, lengthOnly);
  for (const [name, value] of Object.entries(json)) {
    if (typeof value !== 'string' || !isHeader(name, value)) throw new Fault(expected, lengthOnly);
  }
  return json as Record<string, string>;
}

// What belongs to one connection, or is settled by what the gateway can read.
const UNSENDABLE = new Set(
  'accept-encoding connection content-length expect host keep-alive te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

function isHeader(name: string, value: string): boolean {
  if (UNSENDABLE.has(name.toLowerCase())) return false;
  try {
    new Headers([[name, value]]);
    return true;
  } catch {
    return false;
  }
}

function origins(text: string): '*' | readonly string[] {
  const listed = text.split(',').map((origin) => origin.trim());
  if (listed.length === 1 && listed[0] === '*') return '*';
  for (const origin of listed) {
    if (!URL.canParse(origin) || new URL(origin).origin !== origin) {
      throw new Fault('* or origins such as https://app.example.org, separated by commas');
    }
  }
  return listed;
}
