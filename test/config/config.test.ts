/** Settings are read from the environment and from files, and every error in them is reported at once. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { nameWarnings, readConfig, SETTING_GROUPS, SETTING_NAMES } from '../../src/config/config.js';
import { temporaryFile as file, temporaryDirectory, temporaryFile } from '../support/ends.js';
import { spawnGateway, startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits } from '../support/processes.js';

function errorsOf(env: Record<string, string>): readonly string[] {
  const settings = readConfig(env);
  return 'errors' in settings ? settings.errors : [];
}

it.each<[name: string, value: string, read: object]>([
  ['HOST', '::1', { host: '::1' }],
  ['PORT', '0', { port: 0 }],
  ['ADMIN_PORT', '9090', { adminPort: 9090 }],
  ['UPSTREAM_URL', 'https://example.org/v1/', { upstreamUrl: 'https://example.org/v1/' }],
  ['UPSTREAM_HEADERS', '{"x-api-key":"key"}', { upstreamHeaders: { 'x-api-key': 'key' } }],
  ['CORS_ORIGINS', 'https://a.example, http://b:81', { corsOrigins: ['https://a.example', 'http://b:81'] }],
  ['CORS_ORIGINS', 'capacitor://localhost', { corsOrigins: ['capacitor://localhost'] }],
  ['GRAPHIQL', 'false', { graphiql: false }],
  ['LOG_LEVEL', 'silent', { logLevel: 'silent' }],
  ['LOG_REQUESTS', 'errors', { logRequests: 'errors' }],
  // Empty ones are unset, and words may have any letter case.
  ['MAX_COST', ' ', { maxCost: 250000 }],
  ['PRICE_MAX_AGE_MS', '', { priceMaxAgeMs: 3600000 }],
  ['MCP', 'FALSE', { mcp: false }],
  ['LOG_LEVEL', 'Warn', { logLevel: 'warn' }],
  ['UPSTREAM_PROFILE', 'V1', { upstreamProfile: 'v1' }],
  ['HOLD_BACK_MS', 'Never', { holdBackMs: Number.POSITIVE_INFINITY }],
  ['TRUSTED_PROXIES', 'Loopback, uniqueLocal', { trustedProxies: ['loopback', 'uniquelocal'] }],
])('a setting is read from the environment: %s="%s" as %j', (name, value, read) => {
  expect(readConfig({ [name]: value })).toMatchObject({ config: read });
});

const WRONG: readonly (readonly [name: string, message: string, ...values: string[]])[] = [
  ['HOST', 'an IP address or a host name, got "not a host"', 'not a host'],
  ['PORT', 'a whole number from 0 to 65535, got "65536"', '65536'],
  ['PORT', 'a whole number from 0 to 65535, got "-1"', '-1'],
  ['DEMO', 'true or false, got "yes"', 'yes'],
  ['UPSTREAM_URL', 'an address such as https://example.org/v1, without "?", "#", user name', 'example.org'],
  ['UPSTREAM_URL', 'got "ftp://example.org/v1"', 'ftp://example.org/v1'],
  [
    'UPSTREAM_URL',
    '(send keys by UPSTREAM_HEADERS), got another address',
    ...['https://example.org/v1?key=secret', 'https://user:secret@example.org/v1'],
    ...['https://user:secret@example.org:99999', 'user:secret@example.org/v1', 'example.org/v1?key=secret'],
    ...['https://exa mple.org/v1#secret', 'https://example.org/v1?', 'https://example.org/v1#'],
  ],
  ['UPSTREAM_PROFILE', 'one of v1, value-transfer, auto, got "v2"', 'v2'],
  ['UPSTREAM_HEADERS', 'without headers of the connection', '{"Host":"secret"}'],
  [
    'UPSTREAM_HEADERS',
    'a JSON object of header names and texts',
    ...['x-api-key: secret', '["secret"]', '{"x-api-key":1234567}', '{"bad name":"secret"}'],
    '{"x":"secret\\nmore"}',
  ],
  ['UPSTREAM_TIMEOUT_MS', 'a whole number from 1 to', '10s', '4e3'],
  ['CHAINS_FRESH_MS', 'a whole number from 1 to 2147483647', '99999999999'],
  ['SNAPSHOT_DIR', 'a path', 'a\0b'],
  ['REDIS_URL', 'an address such as redis://127.0.0.1:6379', 'http://:secret@example.org'],
  ['REDIS_URL', 'an address such as redis://', 'redis://', '127.0.0.1:6379'],
  ['REDIS_URL', 'with "%25" for a "%"', 'redis://:100%secret@example.org'],
  [
    'REDIS_URL',
    'a number after "/" if it names a database',
    ...['redis://127.0.0.1/secret', 'redis://127.0.0.1?db=secret'],
  ],
  ['HOLD_BACK_MS', 'a whole number of milliseconds from 0 to 315360000000, or never', '-1', 'forever'],
  ['LISTING_RULES', 'got "/nowhere/at-all.txt", which cannot be read (ENOENT)', '/nowhere/at-all.txt'],
  ['LISTING_RULES', 'got "src", which is not a regular file', 'src'],
  ['LISTING_RULES', 'got "/dev/zero", which is not a regular file', '/dev/zero'],
  ['LISTING_RULES', '"package-lock.json" with this error: line 1: expected a rule', 'package-lock.json'],
  [
    'CORS_ORIGINS',
    '* or origins such as',
    ...['https://a.example/path', '*, https://a.example', 'a.example', 'https://*.example.org'],
    'capacitor://localhost/',
  ],
  ['BASE_PATH', 'a path such as /tokens, ', 'tokens', '/a/../b', '/a//b', '/a?b', '/a"b'],
  ['SERVED_PATHS', 'none, or some of /, /llms.txt, ', '/,/mcp', 'none,/live'],
  ['RATE_LIMIT', 'operations a second, such as 20', '0', '1.5', '20/', '1e3'],
  ['RATE_LIMIT', 'which must not be fewer', '20/10'],
  ['TRUSTED_DOCUMENTS', 'which cannot be read (ENOENT)', '/nowhere/at-all.json'],
  ['TRUSTED_DOCUMENTS', 'which is not a regular file', 'src'],
  ['TRUSTED_DOCUMENTS', 'a JSON file of documents as generate-persisted-query-manifest', 'README.md'],
  [
    'TRUSTED_PROXIES',
    'networks such as 10.0.0.0/8',
    ...['proxy.example.org', '10.0.0.0/33', '10.0.0.1,,10.0.0.2', '0.0.0.0/0', '10.1'],
  ],
  ['LOG_LEVEL', 'one of trace, debug, info, warn, error, fatal, silent, got "loud"', 'loud'],
];

it.each(
  WRONG.flatMap(([name, message, ...values]) => values.map((value) => [name, value, message] as const)),
)('%s=%s is an error that says the expected and the actual value', (name, value, message) => {
  const errors = errorsOf({ [name]: value });
  expect(errors).toHaveLength(1);
  expect(errors[0]).toMatch(new RegExp(`^${name}: expected .*got .+$`));
  expect(errors[0]).toContain(message);
  expect(errors[0]).not.toMatch(/secret|1234567/);
});

it('each setting rejects an invalid value, and has a description', () => {
  for (const { name, meaning } of SETTING_GROUPS.flatMap(({ settings }) => settings)) {
    expect(errorsOf({ [name]: '\u0000' }), name).toHaveLength(1);
    expect(meaning).toMatch(/\.$/);
  }
});

it('settings that hold secrets can be in files, whose text errors do not quote', () => {
  const folder = temporaryDirectory();
  expect(readConfig({ REDIS_URL_FILE: file('redis://:secret@127.0.0.1:6379\n') })).toMatchObject({
    config: { redisUrl: 'redis://:secret@127.0.0.1:6379' },
  });
  expect(readConfig({ UPSTREAM_HEADERS_FILE: file('{"x-api-key":"key"}') })).toMatchObject({
    config: { upstreamHeaders: { 'x-api-key': 'key' } },
  });
  const redisUrl = 'redis://127.0.0.1:6379';
  expect(errorsOf({ REDIS_URL: redisUrl, REDIS_URL_FILE: file(redisUrl) })).toEqual([
    'REDIS_URL: expected either REDIS_URL or REDIS_URL_FILE, got both',
  ]);
  const [wrong = ''] = errorsOf({ REDIS_URL_FILE: file('secret') });
  expect(wrong).toMatch(/^REDIS_URL: expected an address such as .* got another text of 6 characters$/);
  for (const [path, fault] of [
    [join(folder, 'none'), 'which cannot be read (ENOENT)'],
    [folder, 'which is not a regular file'],
    [file(' \n'), 'which is empty'],
    [file('x'.repeat(70_000)), 'which has 70000 bytes; the limit is 65536'],
  ] as const) {
    const expected = 'REDIS_URL: expected REDIS_URL_FILE to name a file with the value';
    expect(errorsOf({ REDIS_URL_FILE: path })).toEqual([`${expected}, got "${path}", ${fault}`]);
  }
});

it('settings that contradict each other or lack another setting are errors', () => {
  expect(errorsOf({ TRUSTED_DOCUMENTS_ONLY: 'true' })).toEqual([
    'TRUSTED_DOCUMENTS: expected a file of documents for TRUSTED_DOCUMENTS_ONLY=true, got none',
  ]);
  expect(errorsOf({ UPSTREAM_PROFILE: 'auto' })).toEqual([
    'UPSTREAM_URL: expected a base address for UPSTREAM_PROFILE=auto, got none',
    'UPSTREAM_SUCCESSOR_URL: expected the base address of the successor for UPSTREAM_PROFILE=auto, got none',
  ]);
  const missing = [
    'UPSTREAM_URL: expected the base address of an upstream, got none (DEMO=true serves demo data)',
  ];
  expect(errorsOf({ DEMO: 'false' })).toEqual(missing);
  for (const NODE_ENV of ['production', 'Production ']) expect(errorsOf({ NODE_ENV })).toEqual(missing);
  expect(errorsOf({ NODE_ENV: 'production', DEMO: 'TRUE' })).toEqual([]);
  expect(errorsOf({ DEMO: 'false', UPSTREAM_URL: 'https://example.org/v1' })).toEqual([]);
  expect(errorsOf({ DEMO: 'true', UPSTREAM_URL: 'https://example.org/v1' })).toEqual([
    'DEMO: expected false beside UPSTREAM_URL, got true',
  ]);
  expect(errorsOf({ UPSTREAM_PROFILE: 'value-transfer', UPSTREAM_URL: 'nowhere', PORT: 'x' })).toEqual([
    expect.stringMatching(/^PORT: /),
    expect.stringMatching(/^UPSTREAM_URL: expected an address/),
  ]);
});

it('several errors in settings end the process with status 1 and a list of all errors and misspelt names', async () => {
  const wrong = { PORT: 'http', UPSTREAM_URL: 'nowhere', GRAPHIQL: 'on', UPSTREAM_ULR: 'http://secret' };
  const { output, exited } = spawnGateway(wrong);
  expect(await exited).toBe(1);
  expect(JSON.parse(output())).toEqual({
    level: 'fatal',
    time: expect.any(String),
    msg: 'The gateway did not start. Correct these settings:',
    details: [
      'PORT: expected a whole number from 0 to 65535, got "http"',
      expect.stringMatching(/^UPSTREAM_URL: expected an address such as .*, got "nowhere"$/),
      'GRAPHIQL: expected true or false, got "on"',
      'UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?',
    ],
  });
});

const configOf = (content: string) => readConfig({ TRUSTED_DOCUMENTS: temporaryFile(content) });

const NAMES = 'query Names { chains { name } }';
const MANIFEST = { format: 'apollo-persisted-query-manifest', version: 1 };
const APOLLO = {
  id: '483e5f108130bba44a9562f99fb295baa9cf0541a6d35b47716b80517048b89f',
  name: 'Names',
  type: 'query',
  body: 'query Names {\n  chains {\n    name\n    __typename\n  }\n}',
};
const manifest = (operations: unknown, changes: object = {}) =>
  JSON.stringify({ ...MANIFEST, operations, ...changes });

// The first three are as these tools wrote them: versions 1.4.0, 21.0.1, and client-preset 6.2.0.
it.each([
  ['generate-persisted-query-manifest', APOLLO.id, APOLLO.body, { ...MANIFEST, operations: [APOLLO] }],
  [
    'relay-compiler',
    'fa7db77d2e5ebef0dd8eeda0ef4486a5',
    'query relayNamesQuery {\n  chains {\n    name\n  }\n}\n',
  ],
  ['graphql-codegen', 'sha256:3fe166c46fd7da3d5ad5cd28b5b39752fcc081a0060ca0e9847b06ea85c0b50c', NAMES],
  ['with an odd id', 'format', NAMES],
])('a file of documents is read: %s', (_name, id, text, json: object = { [id]: text }) => {
  const settings = configOf(JSON.stringify(json));
  expect('config' in settings && [...(settings.config.trustedDocuments ?? [])]).toEqual([[id, text]]);
});

it.each([
  ['{', ', which is not JSON'],
  ['["{ a }"]', ' which is an array'],
  ['null', ' with this error: Invalid type: Expected Object but received null'],
  ['{}', ' without documents'],
  ['{"a":1}', ' with this error: a: Invalid type: Expected string but received 1'],
  ['{"":"{ a }"}', ' with this error: Invalid length'],
  [`{"${'x'.repeat(300)}":"{ a }"}`, 'with this error: '],
  [manifest([], { version: 2 }), 'version: Invalid type'],
  [manifest([], { format: 'z'.repeat(5000) }), 'format: Invalid type'],
  [manifest({}), 'operations: Invalid type'],
  [manifest([]), ' without documents'],
  [manifest([{ id: 'a' }]), 'operations.0.body: '],
  [manifest(['{ a }', '{ b }'].map((body) => ({ id: 'a', body }))), ' where "a" names two documents'],
])('the file of documents %s is an error that says what is wrong', (content, fault) => {
  const settings = configOf(content);
  const [error = '', ...others] = 'errors' in settings ? settings.errors : [];
  expect(error).toMatch(/^TRUSTED_DOCUMENTS: expected a JSON file of documents as .*, got ".*file\.txt"/);
  expect(error).toContain(fault);
  expect(error.length).toBeLessThan(1_000);
  expect(others).toEqual([]);
});

it.each([
  ['UPSTREAM_ULR', 'UPSTREAM_URL'],
  ['UPSTREAM_URI', 'UPSTREAM_URL'],
  ['UPSTREAM_HEADER', 'UPSTREAM_HEADERS'],
  ['UPSTREAMURL', 'UPSTREAM_URL'],
  ['upstream_url', 'UPSTREAM_URL'],
  ['upstream-url', 'UPSTREAM_URL'],
  ['REDIS_URLL', 'REDIS_URL'],
  ['PROT', 'PORT'],
  ['UPSTREAM_URL_FILE', 'UPSTREAM_URL'],
  ['LISTING_RULES_FILE', 'LISTING_RULES'],
])('a variable that resembles a setting is reported: %s', (name, meant) => {
  const message = `${name} is not a setting, and is not read. Did you mean ${meant}?`;
  expect(nameWarnings({ [name]: 'x' })).toEqual([{ name, message }]);
});

it.each<[name: string, now: string]>([
  ['MAX_BODY_BYTES', 'The value is always 1048576.'],
  ['HOLD_BACK_SHRINK', 'The value is always 0.5.'],
  ['REDIS_SECRET', 'Protect Redis by a password and TLS.'],
  [
    'REQUIRE_UPSTREAM',
    'Without UPSTREAM_URL the process ends if DEMO=false, or if NODE_ENV=production and DEMO is unset.',
  ],
])('a variable that was a setting is reported with the present rule: %s', (name, now) => {
  const message = `${name} is no longer a setting, and is not read. ${now}`;
  expect(nameWarnings({ [name]: 'x' })).toEqual([{ name, message }]);
});

it('a variable is ignored if it resembles no setting or has no value', () => {
  const usual = 'PATH HOME HOSTNAME PWD LANG SHELL USER TERM NODE_ENV NODE_OPTIONS npm_config_port TZ _ LOG';
  const names = [...usual.split(' '), ...SETTING_NAMES];
  expect(nameWarnings(Object.fromEntries(names.map((name) => [name, 'x'])))).toEqual([]);
  expect(nameWarnings({ UPSTREAM_ULR: ' ', 'UPSTREAM_URL\u001b': 'x' })).toEqual([]);
});

it('a variable that resembles a setting causes a warning at the start, without its value', async () => {
  const wrong = { UPSTREAM_ULR: 'https://key@example.org', UPSTREAM_URL_FILE: '/url', MAX_DEPTH: '20' };
  const { output } = await startGatewayProcess(wrong);
  const warned = output().match(/^.*not read.*$/gm) ?? [];
  const lines = warned.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines.map(({ level, msg }) => `${level}: ${msg}`).sort()).toEqual([
    'warn: MAX_DEPTH is no longer a setting, and is not read. The value is always 12.',
    'warn: UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?',
    'warn: UPSTREAM_URL_FILE is not a setting, and is not read. Did you mean UPSTREAM_URL?',
  ]);
  expect(output()).not.toContain('example.org');
});

it('an unreachable upstream is logged for each listing, with advice and without a stack', async () => {
  const { output, address, child, exited } = await startGatewayProcess({
    UPSTREAM_URL: 'http://nowhere.invalid/v1',
    ...fixedLimits({ upstreamRetries: 0 }),
  });
  expect((await fetch(`${address}/ready`)).status).toBe(503);
  const failures = () => output().match(/^.*could not be refreshed.*$/gm) ?? [];
  const isTold = (listing: string) => failures().some((line) => line.includes(`The ${listing} listing`));
  await expect.poll(() => isTold('chains') && isTold('tokens'), { timeout: 60_000 }).toBe(true);
  child.kill('SIGINT');
  await exited;
  for (const line of failures()) {
    expect(line).toContain('nowhere.invalid');
    expect(line).toContain('Check the address (UPSTREAM_URL)');
    expect(line).not.toMatch(/"stack"|node_modules|\.js:\d/);
  }
});
