/** Settings are read from the environment and from files, and every error in them is reported at once. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig, SETTING_GROUPS } from '../../src/config/config.js';
import { temporaryFile as file, temporaryDirectory } from '../support/ends.js';
import { spawnGateway } from '../support/gateway-process.js';

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
  [
    'CORS_ORIGINS',
    'https://a.example, http://b:3000',
    { corsOrigins: ['https://a.example', 'http://b:3000'] },
  ],
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
  [
    'UPSTREAM_URL',
    'an address such as https://example.org/v1, without "?", "#", user name',
    'example.org/v1',
  ],
  ['UPSTREAM_URL', 'got "ftp://example.org/v1"', 'ftp://example.org/v1'],
  [
    'UPSTREAM_URL',
    '(send keys by UPSTREAM_HEADERS), got another address',
    ...['https://example.org/v1?key=secret', 'https://user:secret@example.org/v1'],
    ...[
      'https://user:secret@example.org:99999/v1',
      'user:secret@example.org/v1',
      'example.org/v1?key=secret',
    ],
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
  ['RATE_LIMIT', 'a whole number of operations a second', '0', '1.5', '20/', '1e3'],
  ['RATE_LIMIT', 'which must not be smaller', '20/10'],
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
