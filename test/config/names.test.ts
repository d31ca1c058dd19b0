import { describe, expect, it } from 'vitest';
import { SETTINGS } from '../../src/config/config.js';
import { mistypedNames } from '../../src/config/names.js';
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
    expect(mistypedNames({ [name]: 'x' })).toEqual([{ name, meant }]);
  });

  it.each([
    'DESTINATIONS_FRESH_MS',
    'HOLD_BACK_SHRINK',
    'MAX_QUERY_TOKENS',
    'MAX_ROUTES_PER_OPERATION',
    'MAX_ROWS',
    'REDIS_SECRET',
    'REQUIRE_UPSTREAM',
  ])('and was one is reported: %s', (name) => {
    expect(mistypedNames({ [name]: 'x' })).toEqual([{ name, meant: undefined }]);
  });

  it('is ignored if it resembles no setting or has no value', () => {
    const usual =
      'PATH HOME HOSTNAME PWD LANG SHELL USER TERM NODE_ENV NODE_OPTIONS npm_config_port TZ _ LOG'.split(' ');
    expect(mistypedNames(Object.fromEntries(usual.map((name) => [name, 'x'])))).toEqual([]);
    expect(mistypedNames({ UPSTREAM_ULR: ' ', 'UPSTREAM_URL\u001b': 'x' })).toEqual([]);
    const settings = Object.values(SETTINGS).map(({ name }) => [name, 'x']);
    expect(mistypedNames(Object.fromEntries(settings))).toEqual([]);
  });

  it('causes a warning at the start, without its value', async () => {
    const { output } = await startGatewayProcess({
      UPSTREAM_ULR: 'https://key@example.org',
      REQUIRE_UPSTREAM: 'true',
    });
    const lines = output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const warned = lines.filter(({ msg }) => String(msg).includes('not read'));
    expect(warned.map(({ level, msg }) => `${level}: ${msg}`).sort()).toEqual([
      'warn: REQUIRE_UPSTREAM is no longer a setting, and is not read.',
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
      UPSTREAM_RETRIES: '0',
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
