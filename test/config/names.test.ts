/** A misspelt or former name of a setting is reported with the name or the rule that holds now. */
import { expect, it } from 'vitest';
import { nameWarnings, SETTING_NAMES } from '../../src/config/config.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { fixedLimits } from '../support/processes.js';

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
