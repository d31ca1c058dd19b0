/** All settings with their defaults and meanings, and how they are read from the environment. */
import { isOneTypo } from '../domain/fold-text.js';
import { OPTIONAL_PATHS } from '../http/paths.js';
import { LOG_LEVELS } from '../logger/logger.js';
import { documentManifest, fileVariable, listingRulesFile, readSecret } from './files.js';
import * as to from './values.js';
import { type Parse, SettingError } from './values.js';

export interface Setting<Value> {
  readonly fallback: Value;
  readonly parse: Parse<Value>;
  readonly meaning: string;
}

function setting<Value>(fallback: NoInfer<Value>, parse: Parse<Value>, meaning: string): Setting<Value> {
  return { fallback, parse, meaning };
}

function optional<Value>(parse: Parse<Value>, meaning: string): Setting<Value | undefined> {
  return { fallback: undefined, parse, meaning };
}

/** The environment variable of a key: `UPSTREAM_URL` for `upstreamUrl`. */
export function variableOf(key: string): string {
  return key.replace(/[A-Z]/g, '_$&').toUpperCase();
}

/** A time in milliseconds, at most the longest delay of Node's timers: a timer with a longer delay fires at once. */
const MS = to.integer(1, 2 ** 31 - 1);

export const UPSTREAM_PROFILES = ['v1', 'value-transfer', 'auto'] as const;
const LOG_REQUESTS = ['all', 'errors', 'none'] as const;

const PROCESS = {
  host: setting('127.0.0.1', to.host, 'The address to listen on.'),
  port: setting(4000, to.integer(0, 65_535), 'The port to listen on. 0 takes a free port.'),
  adminPort: optional(
    to.integer(0, 65_535),
    'The port for operators at `HOST`, without `BASE_PATH`: `/metrics`, `/live`, `/ready` and `POST /refresh`. The public port then has no `/metrics`. 0 takes a free port.',
  ),
  drainMs: setting(
    1_500,
    to.integer(0, 600_000),
    'After SIGTERM the gateway answers new requests for this time, but `/ready` with 503. Then the port closes.',
  ),
  logLevel: setting('info', to.oneOf(LOG_LEVELS), `The least severe level to log: ${LOG_LEVELS.join(', ')}.`),
  logRequests: setting(
    'all',
    to.oneOf(LOG_REQUESTS),
    'The requests to log: `all`, `errors` (requests that had errors, were refused, or took a second or more) or `none`.',
  ),
};

const UPSTREAM = {
  upstreamUrl: optional(to.baseUrl, 'The base address of the upstream, including its version.'),
  demo: optional(
    to.boolean,
    '`true`: demo data is served in place of an upstream, also with `NODE_ENV=production`. `false`: never. Unset: demo data is served unless `UPSTREAM_URL` is set; with `NODE_ENV=production` the process ends instead.',
  ),
  upstreamProfile: setting(
    'v1',
    to.oneOf(UPSTREAM_PROFILES),
    'The service at `UPSTREAM_URL`: `v1`, `value-transfer` (its successor), or `auto` (v1 until it is switched off, then the successor at `UPSTREAM_SUCCESSOR_URL`).',
  ),
  upstreamSuccessorUrl: optional(
    to.baseUrl,
    'The base address of the successor, for `UPSTREAM_PROFILE=auto`.',
  ),
  upstreamHeaders: setting(
    {},
    to.headers,
    'A JSON object of headers that the upstream gets with each request, such as a key.',
  ),
  upstreamTimeoutMs: setting(10_000, MS, 'The longest time for one attempt of a request to the upstream.'),
  upstreamRequestsPerSecond: setting(
    3,
    to.integer(1, 1000),
    'The highest number of requests to the upstream per second: from this gateway or, with `REDIS_URL`, from all gateways together. Further requests wait.',
  ),
};

const FRESHNESS = {
  chainsFreshMs: setting(300_000, MS, 'The chain listing is refreshed when it is older than this time.'),
  tokensFreshMs: setting(30_000, MS, 'The token listing is refreshed when it is older than this time.'),
  routesSweepMs: optional(
    MS,
    'For `sources`, each gateway gets the routes of each bridgeable token once in this time, in the background: from the upstream, or from another gateway. If unset, `sources` is null, except with demo data.',
  ),
  priceMaxAgeMs: setting(
    3_600_000,
    to.integer(0, 2 ** 31 - 1),
    'A price that is older than this time is null.',
  ),
  holdBackMs: setting(
    86_400_000,
    to.timeOrNever,
    'A changed guarded value is accepted when every listing during this time (a day unless set) had the same new value. 0 accepts it at once; with `never`, only a rule in `LISTING_RULES` accepts it. The guarded values are the decimals and the symbol of a token, the address that has this symbol on the chain, and the chainId, type and native currency of a chain.',
  ),
  listingRules: optional(
    listingRulesFile,
    'A text file of rules: the chains to serve and their order, chains and tokens to hide, and changes to accept or to refuse. The gateway reads a changed file again.',
  ),
};

const STORAGE = {
  snapshotDir: optional(
    to.path,
    'The directory where the last good listings and accepted values are stored.',
  ),
  redisUrl: optional(
    to.redisUrl,
    'The address of a Redis server through which gateways share listings, routes and rate limits.',
  ),
};

const OFFER = {
  basePath: setting(
    '',
    to.basePath,
    'A path below which all paths are served, such as `/tokens`. A reverse proxy in front must not remove it from requests.',
  ),
  servedPaths: setting(
    OPTIONAL_PATHS,
    to.noneOrSome(OPTIONAL_PATHS),
    'The paths to serve besides `/graphql` and `/mcp`, separated by commas, or `none`. `/` is the token picker. The library serves `/metrics` only if it is named here.',
  ),
  compression: setting(
    true,
    to.boolean,
    'Whether responses are compressed. `false` leaves this to the proxy or server in front.',
  ),
  corsOrigins: setting(
    '*',
    to.origins,
    'The origins whose pages may read responses, separated by commas; `*` allows all (at `/mcp` only pages of this machine). Credentials are never allowed.',
  ),
  graphiql: setting(true, to.boolean, 'Whether browsers get the playground at `/graphql`.'),
  logos: setting(
    false,
    to.boolean,
    'Whether the token picker may load logos by HTTPS from other hosts, which the upstream chooses.',
  ),
  introspection: setting(
    true,
    to.boolean,
    'Whether clients may read the schema (introspection, `/schema.graphql`); routers always may, by `_service`.',
  ),
  mcp: setting(true, to.boolean, 'Whether agents get the tools of `/mcp` (Model Context Protocol).'),
  trustedDocuments: optional(
    documentManifest,
    'A file of documents that clients may request by id, as the tools of Apollo, Relay and GraphQL Code Generator write it.',
  ),
  trustedDocumentsOnly: setting(
    false,
    to.boolean,
    "Whether documents that are not in `TRUSTED_DOCUMENTS` are refused. The gateway's own pages still work, and so do the tools of `/mcp` except `query`, and queries for `_service { sdl }` and `_sdl`.",
  ),
};

const CLIENT_LIMITS = {
  rateLimit: optional(
    to.rate,
    'How many operations of each client are executed: `20` allows 20 in each second, `20/100` allows 100 in each 5 s (100 / 20). Further operations are refused with `RATE_LIMITED`. Responses from the cache do not count. With `REDIS_URL`, gateways count together.',
  ),
  trustedProxies: setting(
    [],
    to.networks,
    'The networks or addresses of your reverse proxies, separated by commas: `10.0.0.0/8`, `192.0.2.7`, `fd00::/8`, or `loopback`, `linklocal` and `uniquelocal`. For requests from these networks, the client is the last address in `X-Forwarded-For` that is in none of them. For all other requests, the client is the address of the connection.',
  ),
  maxCost: setting(
    250_000,
    to.integer(1, 1_000_000_000),
    'The highest cost of one operation, in units: one for each row, and one for each of its fields; searches and routes cost more. One whole token listing, with its chains and all fields except lists, is always allowed.',
  ),
};

/** The settings as `--help` and the guide show them: each group with its title. */
export const SETTING_GROUPS = Object.entries({
  Process: PROCESS,
  Upstream: UPSTREAM,
  'Freshness and guarded values': FRESHNESS,
  'Disk and Redis': STORAGE,
  'What clients may use': OFFER,
  'Limits on clients': CLIENT_LIMITS,
}).map(([title, group]) => ({
  title,
  settings: Object.entries<Setting<unknown>>(group).map(([key, { fallback, parse, meaning }]) => {
    const isShown = Array.isArray(fallback) || typeof fallback !== 'object';
    const shownDefault = isShown ? String(fallback ?? '') : '';
    const range = parse.range ? ` Allowed: ${parse.range}.` : '';
    return { name: variableOf(key), shownDefault, meaning: meaning + range };
  }),
}));

export const SETTINGS = { ...PROCESS, ...UPSTREAM, ...FRESHNESS, ...STORAGE, ...OFFER, ...CLIENT_LIMITS };

/** Settings of the process that a gateway inside another server does not have. */
export const PORT_SETTINGS = ['host', 'port', 'adminPort', 'drainMs'] as const;

export const SETTING_NAMES = Object.keys(SETTINGS).map(variableOf);

/** The settings with passwords or keys. Each can be read from a file, as container platforms provide secrets. */
export const SECRET_SETTINGS: readonly string[] = ['UPSTREAM_HEADERS', 'REDIS_URL'];

/** Limits that are not settings: no deployment needs to change them, only tests do. */
export const FIXED_LIMITS = {
  /** After transient failures, a request is repeated at most this often, because attempts use up the rate limit. */
  upstreamRetries: 2,
  /** The most decompressed bytes of an answer of the upstream, all its pages together. About 20,000 tokens fit. */
  upstreamMaxBytes: 8 * 2 ** 20,
  /** The routes from a token are cached for this time. If the upstream fails, they are served longer. */
  destinationsFreshMs: 60_000,
  /** A refresh is held back if it lacks more than this share of the served rows, or of the day's largest listing. */
  holdBackShrink: 0.5,
  /** A refresh that is held back is accepted when the same rows have been missing this many times in a row. */
  holdBackTimes: 3,
  /** One operation may request the routes of this many tokens. For further tokens it gets an error. */
  maxRoutesPerOperation: 10,
  /** Fields can nest without end (`chain { tokens { chain …`): a deeper operation is refused, except introspection. */
  maxDepth: 12,
  /** An operation with more aliases is refused; those of a fragment count once for each spread. */
  maxAliases: 30,
  /** A document with more lexical tokens or lines is refused, and an operation with more fields (fragments expanded). */
  maxQueryTokens: 2_000,
  /** An operation whose lists have more rows together is refused: aliases and nested lists multiply the rows. */
  maxRows: 100_000,
  /** The most open connections. A low `ulimit -n` and the memory of a container lower the number. */
  maxConnections: 5_000,
  /** A request body with more bytes is refused. About 13,000 keys of tokens fit. */
  maxBodyBytes: 1_048_576,
  /** An operation that has waited longer for its turn (in ms) is refused: the gateway is too busy. */
  maxWaitMs: 1_000,
};

export type Config = {
  readonly [Key in keyof typeof SETTINGS]: (typeof SETTINGS)[Key]['fallback'];
} & Readonly<typeof FIXED_LIMITS>;

/** Each error names the setting, the expected value, and the actual value unless it can be secret. */
export type ConfigOrErrors = { readonly config: Config } | { readonly errors: readonly string[] };

/** Reads the settings from environment variables, or secrets from the files that variables with `_FILE` name. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ConfigOrErrors {
  return configFrom(({ fallback, parse }, key) => {
    const name = variableOf(key);
    const inFile = SECRET_SETTINGS.includes(name) ? env[fileVariable(name)]?.trim() : undefined;
    const given = env[name]?.trim();
    if (inFile && given) throw new SettingError(`either ${name} or ${fileVariable(name)}`, '', 'both');
    const text = inFile ? readSecret(name, inFile) : given;
    return text ? parse(text) : fallback;
  }, env.NODE_ENV?.trim().toLowerCase() !== 'production');
}

/**
 * @param read gives the value of a setting, or throws a SettingError
 * @param mayBeDemo whether demo data is served if neither `DEMO` nor an upstream is set
 */
export function configFrom(
  read: (setting: Setting<unknown>, key: string) => unknown,
  mayBeDemo: boolean,
): ConfigOrErrors {
  const errors = new Map<string, string>();
  const values = Object.entries<Setting<unknown>>(SETTINGS).map(([key, setting]) => {
    try {
      return [key, read(setting, key)];
    } catch (error) {
      if (!(error instanceof SettingError)) throw error;
      errors.set(variableOf(key), error.message);
      return [key, setting.fallback];
    }
  });
  const config = { ...FIXED_LIMITS, ...Object.fromEntries(values) } as Config;
  for (const [name, message] of contradictionsIn(config, mayBeDemo))
    if (!errors.has(name)) errors.set(name, message);
  if (errors.size === 0) return { config };
  return { errors: [...errors].map(([name, message]) => `${name}: ${message}`) };
}

/** Yields the name of the setting to change, and a message. */
function* contradictionsIn(config: Config, mayBeDemo: boolean): Generator<readonly [string, string]> {
  const { upstreamProfile, upstreamUrl, upstreamSuccessorUrl, demo } = config;
  const hasUpstream = upstreamUrl !== undefined;
  if (upstreamProfile !== 'v1' && !hasUpstream)
    yield ['UPSTREAM_URL', `expected a base address for UPSTREAM_PROFILE=${upstreamProfile}, got none`];
  if (!hasUpstream && !(demo ?? mayBeDemo))
    yield ['UPSTREAM_URL', 'expected the base address of an upstream, got none (DEMO=true serves demo data)'];
  if (hasUpstream && demo) yield ['DEMO', 'expected false beside UPSTREAM_URL, got true'];
  if (upstreamProfile === 'auto' && upstreamSuccessorUrl === undefined)
    yield [
      'UPSTREAM_SUCCESSOR_URL',
      'expected the base address of the successor for UPSTREAM_PROFILE=auto, got none',
    ];
  if (config.trustedDocumentsOnly && config.trustedDocuments === undefined)
    yield ['TRUSTED_DOCUMENTS', 'expected a file of documents for TRUSTED_DOCUMENTS_ONLY=true, got none'];
}

/** Whether the gateway serves demo data: it does if it has no upstream. */
export function servesDemo({ upstreamUrl }: Pick<Config, 'upstreamUrl'>): boolean {
  return upstreamUrl === undefined;
}

export function secretsOf({ upstreamHeaders, redisUrl }: Config): readonly string[] {
  const { password, searchParams } = new URL(redisUrl ?? 'redis://none');
  const inUrl = [password, decodeURIComponent(password), ...searchParams.values()];
  return [...Object.values(upstreamHeaders), ...inUrl];
}

/** Former settings, each with advice for the operator. All fixed limits count: many were settings. */
const FORMER_SETTINGS = new Map<string, string>([
  ...Object.entries(FIXED_LIMITS).map(
    ([key, value]) => [variableOf(key), `The value is always ${value}.`] as const,
  ),
  ['REDIS_SECRET', 'Protect Redis by a password and TLS.'],
  [
    'REQUIRE_UPSTREAM',
    'Without UPSTREAM_URL the process ends if DEMO=false, or if NODE_ENV=production and DEMO is unset.',
  ],
]);

/** Variables with other names are not reported: such names can contain anything. */
const PLAIN_NAME = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** Warns about former and misspelt settings. Warnings do not contain the value, which can be a secret. */
export function nameWarnings(env: Readonly<Record<string, string | undefined>>) {
  const known = [...SETTING_NAMES, ...SECRET_SETTINGS.map(fileVariable)];
  const warnings: { readonly name: string; readonly message: string }[] = [];
  for (const [name, text] of Object.entries(env)) {
    if (!text?.trim() || !PLAIN_NAME.test(name) || known.includes(name)) continue;
    const now = FORMER_SETTINGS.get(name);
    const isMeant = (setting: string) =>
      lettersOf(setting) === lettersOf(name) || isOneTypo(name.toUpperCase(), setting);
    const meant = known.find(isMeant) ?? SETTING_NAMES.find((setting) => fileVariable(setting) === name);
    if (now) warnings.push({ name, message: `${name} is no longer a setting, and is not read. ${now}` });
    else if (meant)
      warnings.push({ name, message: `${name} is not a setting, and is not read. Did you mean ${meant}?` });
  }
  return warnings;
}

function lettersOf(name: string): string {
  return name.toUpperCase().replace(/[_.-]/g, '');
}
