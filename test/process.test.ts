import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SETTINGS } from '../src/config/config.js';
import { demoTokens } from './fixtures/demo.js';
import { json, late, stall } from './support/fake-upstream.js';
import { freePort } from './support/free-port.js';
import { spawnGateway, startGatewayProcess } from './support/gateway-process.js';
import { ROOT } from './support/readme.js';
import { startWaitingGateway } from './support/waiting-gateway.js';

const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string };

/** Code that is loaded before the gateway. It reports when a handler of SIGTERM is set, which the gateway does first. */
const SAY_WHEN_ARMED = `data:text/javascript,${encodeURIComponent(`
  import { writeSync } from 'node:fs';
  const { on } = process;
  process.on = function (event, ...rest) {
    on.call(this, event, ...rest);
    if (event === 'SIGTERM') writeSync(2, 'ARMED');
    return this;
  };
`)}`;

/** Runs the built gateway with options. */
async function runWith(...options: string[]) {
  const child = spawn(process.execPath, [`${ROOT}/dist/main.js`, ...options]);
  let text = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    text += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [status] = await once(child, 'close');
  return { status, text, errors };
}

describe('the command line', () => {
  it('--help names every setting', async () => {
    const { status, text, errors } = await runWith('--help');
    expect({ status, errors }).toEqual({ status: 0, errors: '' });
    for (const { name } of Object.values(SETTINGS)) expect(text).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
    expect(text).toContain('PORT (default 4000)');
  });

  it('--version prints the version of the package and the commit that was built', async () => {
    expect(await runWith('--version')).toEqual({
      status: 0,
      text: expect.stringMatching(`^chains-and-tokens-gateway ${version} \\([0-9a-f]{40}(-dirty)?\\)\n$`),
      errors: '',
    });
  });

  it('refuses other options, and names where the settings are', async () => {
    const { status, text, errors } = await runWith('--port', '4001');
    expect({ status, text }).toEqual({ status: 1, text: '' });
    expect(errors).toContain('--port 4001');
    expect(errors).toContain('--help');
  });
});

describe('a signal', () => {
  it.each([0, 30, 100, 400, 1600])(
    'SIGTERM %i ms after the first line of the gateway ends it with status 0',
    async (ms) => {
      const { child, output, exited } = spawnGateway({
        PORT: '0',
        NODE_OPTIONS: `--import "${SAY_WHEN_ARMED}"`,
        DRAIN_MS: '0',
      });
      await expect.poll(output, { interval: 1 }).toContain('ARMED');
      // The handler must be set before the gateway writes its first line.
      expect(output()).toMatch(/^ARMED/);
      await sleep(ms);
      child.kill('SIGTERM');
      expect(await exited, output()).toBe(0);
      expect(output()).not.toMatch(/"level":"(error|fatal)"|Error/);
    },
  );

  it('SIGHUP is ignored', async () => {
    const { address, child } = await startGatewayProcess();
    child.kill('SIGHUP');
    await sleep(200);
    expect((await fetch(`${address}/live`)).status).toBe(200);
    expect(child.exitCode ?? child.signalCode).toBeNull();
  });

  it('a repeated SIGTERM, from a supervisor that signals npm and its children, loses no request', async () => {
    const { answer, child, exited } = await startWaitingGateway(late(2000, json({ tokens: demoTokens })));
    for (const signal of ['SIGTERM', 'SIGTERM', 'SIGHUP', 'SIGTERM'] as const) {
      child.kill(signal);
      await sleep(200);
    }
    expect((await answer).data.tokens).toHaveLength(demoTokens.length);
    expect(await exited).toBe(0);
  });

  it('a second Ctrl-C ends the process at once; the copy of the first that npm passes on does not', async () => {
    const { child, exited, output } = await startWaitingGateway(stall);
    child.kill('SIGINT');
    child.kill('SIGINT');
    await expect.poll(output).toContain('"msg":"Stopping');
    await sleep(1500);
    expect(child.exitCode).toBeNull();
    child.kill('SIGINT');
    expect(await exited).toBe(130);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)('%s reaches the gateway through npm start', async (signal) => {
    const port = await freePort();
    const npm = spawn('npm', ['start'], {
      cwd: ROOT,
      env: { ...process.env, PORT: String(port), npm_config_ignore_scripts: 'true' },
      detached: true,
    });
    let output = '';
    for (const stream of [npm.stdout, npm.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
      });
    }
    onTestFinished(() => {
      try {
        if (npm.pid) process.kill(-npm.pid, 'SIGKILL');
      } catch {
        // The process has already ended.
      }
    });
    const exited = once(npm, 'exit');
    await expect.poll(() => output, { timeout: 120_000 }).toContain('"msg":"Listening"');
    npm.kill(signal);
    expect(await exited).toEqual([0, null]);
    expect(output).toContain('"msg":"Stopped"');
    await expect(fetch(`http://127.0.0.1:${port}/live`)).rejects.toThrow();
  });
});
