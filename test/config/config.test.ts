/** Settings are read from the environment and from files, and every error in them is reported at once. */
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readConfig, SETTING_GROUPS } from '../../src/config/config.js';
import { spawnGateway } from '../support/gateway-process.js';
import { temporaryFile as file, temporaryDirectory } from '../support/temporary-files.js';

function errorsOf(env: Record<string, string>): readonly string[] {
  const settings = readConfig(env);
  return 'errors' in settings ? settings.errors : [];
}

it('settings are read from the environment, and empty ones are unset', () => {
  expect(
    readConfig({
      HOST: '::1',
      PORT: '0',
      UPSTREAM_URL: 'https://example.org/v1/',
      UPSTREAM_HEADERS: '{"x-api-key":"key"}',
      CORS_ORIGINS: 'https://a.example, http://localhost:3000, capacitor://localhost',
      GRAPHIQL: 'false',
      LOG_LEVEL: 'silent',
      ADMIN_PORT: '9090',
      LOG_REQUESTS: 'errors',
      MAX_COST: ' ',
      PRICE_MAX_AGE_MS: '',
    }),
  ).toMatchObject({
    config: {
      host: '::1',
      port: 0,
      upstreamUrl: 'https://example.org/v1/',
      upstreamHeaders: { 'x-api-key': 'key' },
      corsOrigins: ['https://a.example', 'http://localhost:3000', 'capacitor://localhost'],
      graphiql: false,
      logLevel: 'silent',
      adminPort: 9090,
      logRequests: 'errors',
      maxCost: 250000,
      priceMaxAgeMs: 3600000,
    },
  });
});

it.each<[name: string, value: string, message: string]>([
  ['HOST', 'not a host', 'an IP address or a host name, got "not a host"'],
  ['PORT', '65536', 'a whole number from 0 to 65535, got "65536"'],
  ['PORT', '-1', 'a whole number from 0 to 65535, got "-1"'],
  ['DEMO', 'yes', 'true or false, got "yes"'],
  [
    'UPSTREAM_URL',
    'example.org/v1',
    'an address such as https://example.org/v1, without "?", "#", user name',
  ],
  ['UPSTREAM_URL', 'ftp://example.org/v1', 'got "ftp://example.org/v1"'],
  ...[
    'https://example.org/v1?key=secret',
    'https://user:secret@example.org/v1',
    'https://user:secret@example.org:99999/v1',
    'user:secret@example.org/v1',
    'example.org/v1?key=secret',
    'https://exa mple.org/v1#secret',
    'https://example.org/v1?',
    'https://example.org/v1#',
  ].map((url): [string, string, string] => [
    'UPSTREAM_URL',
    url,
    '(send keys by UPSTREAM_HEADERS), got another address',
  ]),
  ['UPSTREAM_PROFILE', 'v2', 'one of v1, value-transfer, auto, got "v2"'],
  ['UPSTREAM_HEADERS', '{"Host":"secret"}', 'without headers of the connection'],
  ['UPSTREAM_HEADERS', 'x-api-key: secret', 'a JSON object of header names and texts'],
  ['UPSTREAM_HEADERS', '["secret"]', 'a JSON object of header names and texts'],
  ['UPSTREAM_HEADERS', '{"x-api-key":1234567}', 'a JSON object of header names and texts'],
  ['UPSTREAM_HEADERS', '{"bad name":"secret"}', 'a JSON object of header names and texts'],
  ['UPSTREAM_HEADERS', '{"x":"secret\\nmore"}', 'a JSON object of header names and texts'],
  ['UPSTREAM_TIMEOUT_MS', '10s', 'a whole number from 1 to'],
  ['UPSTREAM_TIMEOUT_MS', '4e3', 'a whole number from 1 to'],
  ['CHAINS_FRESH_MS', '99999999999', 'a whole number from 1 to 2147483647'],
  ['SNAPSHOT_DIR', 'a\0b', 'a path'],
  ['REDIS_URL', 'http://:secret@example.org', 'an address such as redis://127.0.0.1:6379'],
  ['REDIS_URL', 'redis://', 'an address such as redis://'],
  ['REDIS_URL', 'redis://:100%secret@example.org', 'with "%25" for a "%"'],
  ['REDIS_URL', '127.0.0.1:6379', 'an address such as redis://'],
  ['REDIS_URL', 'redis://127.0.0.1/secret', 'a number after "/" if it names a database'],
  ['REDIS_URL', 'redis://127.0.0.1?db=secret', 'a number after "/" if it names a database'],
  ['HOLD_BACK_MS', '-1', 'a whole number of milliseconds'],
  ['HOLD_BACK_MS', 'forever', 'a whole number of milliseconds from 0 to 315360000000, or never'],
  ['LISTING_RULES', '/nowhere/at-all.txt', 'got "/nowhere/at-all.txt", which cannot be read (ENOENT)'],
  ['LISTING_RULES', 'src', 'got "src", which is not a regular file'],
  ['LISTING_RULES', '/dev/zero', 'got "/dev/zero", which is not a regular file'],
  ['LISTING_RULES', 'package-lock.json', '"package-lock.json" with this error: line 1: expected a rule'],
  ['CORS_ORIGINS', 'https://a.example/path', '* or origins such as'],
  ['CORS_ORIGINS', '*, https://a.example', '* or origins such as'],
  ['CORS_ORIGINS', 'a.example', '* or origins such as'],
  ['CORS_ORIGINS', 'https://*.example.org', '* or origins such as'],
  ['CORS_ORIGINS', 'capacitor://localhost/', '* or origins such as'],
  ['BASE_PATH', 'tokens', 'a path such as /tokens, '],
  ['BASE_PATH', '/a/../b', 'a path such as /tokens, '],
  ['BASE_PATH', '/a//b', 'a path such as /tokens, '],
  ['BASE_PATH', '/a?b', 'a path such as /tokens, '],
  ['BASE_PATH', '/a"b', 'a path such as /tokens, '],
  ['SERVED_PATHS', '/,/mcp', 'none, or some of /, /llms.txt, '],
  ['SERVED_PATHS', 'none,/live', 'none, or some of /, /llms.txt, '],
  ['RATE_LIMIT', '0', 'a whole number of operations a second'],
  ['RATE_LIMIT', '20/10', 'which must not be smaller'],
  ['RATE_LIMIT', '1.5', 'a whole number of operations'],
  ['RATE_LIMIT', '20/', 'a whole number of operations'],
  ['RATE_LIMIT', '1e3', 'a whole number of operations'],
  ['TRUSTED_DOCUMENTS', '/nowhere/at-all.json', 'which cannot be read (ENOENT)'],
  ['TRUSTED_DOCUMENTS', 'src', 'which is not a regular file'],
  ['TRUSTED_DOCUMENTS', 'README.md', 'a JSON file of documents as generate-persisted-query-manifest'],
  ['TRUSTED_PROXIES', 'proxy.example.org', 'networks such as 10.0.0.0/8'],
  ['TRUSTED_PROXIES', '10.0.0.0/33', 'networks such as'],
  ['TRUSTED_PROXIES', '10.0.0.1,,10.0.0.2', 'networks such as'],
  ['TRUSTED_PROXIES', '0.0.0.0/0', 'networks such as'],
  ['TRUSTED_PROXIES', '10.1', 'networks such as'],
  ['LOG_LEVEL', 'loud', 'one of trace, debug, info, warn, error, fatal, silent, got "loud"'],
])('%s=%s is an error that says the expected and the actual value', (name, value, message) => {
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

it('settings accept words in any letter case', () => {
  expect(
    readConfig({ MCP: 'FALSE', LOG_LEVEL: 'Warn', UPSTREAM_PROFILE: 'V1', HOLD_BACK_MS: 'Never' }),
  ).toMatchObject({
    config: { mcp: false, logLevel: 'warn', upstreamProfile: 'v1', holdBackMs: Number.POSITIVE_INFINITY },
  });
  expect(readConfig({ TRUSTED_PROXIES: 'Loopback, uniqueLocal' })).toMatchObject({
    config: { trustedProxies: ['loopback', 'uniquelocal'] },
  });
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
