import { describe, expect, it } from 'vitest';
import { mistypedNames } from '../../src/config/names.js';
import { SETTINGS } from '../../src/config.js';
import { spawnGateway, startGatewayProcess } from '../support/gateway-process.js';

describe('a name that is no setting', () => {
  it.each([
    ['UPSTREAM_ULR', 'UPSTREAM_URL'],
    ['UPSTREAM_URI', 'UPSTREAM_URL'],
    ['UPSTREAM_HEADER', 'UPSTREAM_HEADERS'],
    ['UPSTREAMURL', 'UPSTREAM_URL'],
    ['upstream_url', 'UPSTREAM_URL'],
    ['upstream-url', 'UPSTREAM_URL'],
    ['REDIS_URLL', 'REDIS_URL'],
    ['MAX_ROW', 'MAX_ROWS'],
    ['PROT', 'PORT'],
  ])('and resembles one is told: %s', (name, meant) => {
    expect(mistypedNames({ [name]: 'x' })).toEqual([{ name, meant }]);
  });

  it('and resembles none is left alone, and so is one without a value', () => {
    const usual =
      'PATH HOME HOSTNAME PWD LANG SHELL USER TERM NODE_ENV NODE_OPTIONS npm_config_port TZ _ LOG'.split(' ');
    expect(mistypedNames(Object.fromEntries(usual.map((name) => [name, 'x'])))).toEqual([]);
    expect(mistypedNames({ UPSTREAM_ULR: ' ', 'UPSTREAM_URL\u001b': 'x' })).toEqual([]);
    const settings = Object.values(SETTINGS).map(({ name }) => [name, 'x']);
    expect(mistypedNames(Object.fromEntries(settings))).toEqual([]);
  });

  it('is a warning at the start, without its value', async () => {
    const { output } = await startGatewayProcess({ UPSTREAM_ULR: 'https://key@example.org' });
    const lines = output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(lines.filter(({ meant }) => meant)).toMatchObject([
      { level: 40, msg: 'UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?' },
    ]);
    expect(output()).not.toContain('example.org');
  });

  it('stands beside the errors that keep the process from starting', async () => {
    const { output, exited } = spawnGateway({
      UPSTREAM_ULR: 'https://example.org',
      DEMO: 'false',
    });
    expect(await exited).toBe(1);
    expect(output()).toContain('  UPSTREAM_URL: expected the base address');
    expect(output()).toContain(
      '  UPSTREAM_ULR is not a setting, and is not read. Did you mean UPSTREAM_URL?\n',
    );
  });
});

describe('an upstream that cannot be reached', () => {
  it('is one line for each listing, which says what to check and has no stack', async () => {
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
