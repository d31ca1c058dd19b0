import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/config/config.js';
import { nameWarnings } from '../../src/config/names.js';
import { fixedLimits } from '../support/fixed-limits.js';
import { spawnGateway, startGatewayProcess } from '../support/gateway-process.js';

describe('a variable that is not a setting', () => {
  it.each([
    ['UPSTREAM_ULR', 'UPSTREAM_URL'],
    ['UPSTREAM_URI', 'UPSTREAM_URL'],
    ['UPSTREAM_HEADER', 'UPSTREAM_HEADERS'],
    ['UPSTREAMURL', 'UPSTREAM_URL'],
    ['upstream_url', 'UPSTREAM_URL'],
    ['upstream-url', 'UPSTREAM_URL'],
    ['REDIS_URLL', 'REDIS_URL'],
    ['PROT', 'PORT'],
  ])('and resembles one is reported: %s', (name, meant) => {
    const message = `${name} is not a setting, and is not read. Did you mean ${meant}?`;
    expect(nameWarnings({ [name]: 'x' })).toEqual([{ name, message }]);
  });

  it.each([
    ['DESTINATIONS_FRESH_MS', 'The value is always 60000.'],
    ['HOLD_BACK_SHRINK', 'The value is always 0.5.'],
    ['HOLD_BACK_TIMES', 'The value is always 3.'],
    ['MAX_ALIASES', 'The value is always 30.'],
    ['MAX_BODY_BYTES', 'The value is always 1048576.'],
    ['MAX_CONNECTIONS', 'The value is always 5000.'],
    ['MAX_DEPTH', 'The value is always 12.'],
    ['MAX_QUERY_TOKENS', 'The value is always 2000.'],
    ['MAX_ROUTES_PER_OPERATION', 'The value is always 10.'],
    ['MAX_ROWS', 'The value is always 100000.'],
    ['MAX_WAIT_MS', 'The value is always 1000.'],
    ['UPSTREAM_MAX_BYTES', 'The value is always 8388608.'],
    ['UPSTREAM_RETRIES', 'The value is always 2.'],
    ['REDIS_SECRET', 'Protect Redis by a password and TLS.'],
    ['REQUIRE_UPSTREAM', 'Without UPSTREAM_URL the process ends if'],
  ])('and was one is reported, with what holds now: %s', (name, now) => {
    const [warning, ...others] = nameWarnings({ [name]: 'x' });
    expect(warning?.message).toContain(`${name} is no longer a setting, and is not read. ${now}`);
    expect(others).toEqual([]);
  });

  it('is ignored if it resembles no setting or has no value', () => {
    const usual =
      'PATH HOME HOSTNAME PWD LANG SHELL USER TERM NODE_ENV NODE_OPTIONS npm_config_port TZ _ LOG'.split(' ');
    expect(nameWarnings(Object.fromEntries(usual.map((name) => [name, 'x'])))).toEqual([]);
    expect(nameWarnings({ UPSTREAM_ULR: ' ', 'UPSTREAM_URL\u001b': 'x' })).toEqual([]);
    const settings = Object.values(SETTINGS).map(({ name }) => [name, 'x']);
    expect(nameWarnings(Object.fromEntries(settings))).toEqual([]);
  });

  it('causes a warning at the start, without its value', async () => {
    const { output } = await startGatewayProcess({
      UPSTREAM_ULR: 'https://key@example.org',
      MAX_DEPTH: '20',
    });
    const lines = output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const warned = lines.filter(({ msg }) => String(msg).includes('not read'));
    expect(warned.map(({ level, msg }) => `${level}: ${msg}`).sort()).toEqual([
      'warn: MAX_DEPTH is no longer a setting, and is not read. The value is always 12.',
      'warn: UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?',
    ]);
    expect(output()).not.toContain('example.org');
  });

  it('is listed with the errors that prevent the start', async () => {
    const { output, exited } = spawnGateway({
      UPSTREAM_ULR: 'https://example.org',
      DEMO: 'false',
    });
    expect(await exited).toBe(1);
    expect(JSON.parse(output())).toMatchObject({
      level: 'fatal',
      details: [
        expect.stringMatching(/^UPSTREAM_URL: expected the base address/),
        'UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?',
      ],
    });
  });
});

describe('an unreachable upstream', () => {
  it('causes one line for each listing, with advice and without a stack', async () => {
    const { output, address, child, exited } = await startGatewayProcess({
      UPSTREAM_URL: 'http://nowhere.invalid/v1',
      ...fixedLimits({ upstreamRetries: 0 }),
    });
    expect((await fetch(`${address}/ready`)).status).toBe(503);
    const failures = () =>
      output()
        .trim()
        .split('\n')
        .filter((line) => line.includes('could not be refreshed'));
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
});
