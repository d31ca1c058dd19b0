/** The process obeys its command line, and SIGTERM or SIGINT ends it without a lost request. */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { SETTING_NAMES } from '../src/config/config.js';
import { demoTokens } from './fixtures/demo.js';
import { json, late, stall } from './support/fake-upstream.js';
import { MAIN, spawnGateway, startGatewayProcess, startWaitingGateway } from './support/gateway-process.js';
import { freePort } from './support/processes.js';
import { PACKAGE, ROOT } from './support/readme.js';
import { spawnGroup } from './support/server-process.js';

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

const runWith = (...options: string[]) =>
  promisify(execFile)(process.execPath, [MAIN, ...options]).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
  );

it('--help names every setting', async () => {
  const { code, stdout, stderr } = await runWith('--help');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const name of SETTING_NAMES) expect(stdout).toMatch(new RegExp(`^ {2}${name}\\b`, 'm'));
  expect(stdout).toContain('PORT (default 4000)');
});

it('--version prints the version of the package and the commit that was built', async () => {
  const stdout = `^chains-and-tokens-gateway ${PACKAGE.version} \\([0-9a-f]{40}(-dirty)?\\)\n$`;
  const expected = { code: 0, stdout: expect.stringMatching(stdout), stderr: '' };
  expect(await runWith('--version')).toEqual(expected);
});

it('the command line refuses other options, and names where the settings are', async () => {
  const stderr = expect.stringMatching(/--port 4001[\s\S]*--help/);
  expect(await runWith('--port', '4001')).toEqual({ code: 1, stdout: '', stderr });
});

it('the line "Listening" of the log has the beginning of all request ids of the process', async () => {
  const { address, output } = await startGatewayProcess();
  const [, requestIds = ''] = /"requestIds":"([^"]+)"/.exec(output()) ?? [];
  expect(requestIds).toHaveLength(24);
  const { headers } = await fetch(`${address}/graphql?query={__typename}`);
  expect(headers.get('x-request-id')).toMatch(new RegExp(`^${requestIds}\\w{12}$`));
});

it('the admin port answers only when the public port is open: a gateway that it calls ready accepts connections', async () => {
  const [port, adminPort] = [await freePort(), await freePort()];
  const env = { PORT: String(port), ADMIN_PORT: String(adminPort) };
  // With so few file handles, the gateway loads GraphQL Yoga before its public port opens, which takes a while.
  const few = ['sh', '-c', 'ulimit -n 250; exec "$0" "$@"'];
  const { child, exited } = spawnGateway(env, undefined, few);
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const statusOf = (address: string) => fetch(address).then(({ status }) => status, String);
  await expect.poll(() => statusOf(`http://127.0.0.1:${adminPort}/ready`), { interval: 5 }).toBe(200);
  expect(await statusOf(`http://127.0.0.1:${port}/live`)).toBe(200);
});

it.each([0, 60, 600])('SIGTERM %i ms after its handler is set ends the gateway', async (ms) => {
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
});

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

// `production.test.ts` sends SIGTERM.
it('SIGINT reaches the gateway through npm start', async () => {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), npm_config_ignore_scripts: 'true' };
  const { child, output, exited } = spawnGroup('npm', ['start'], { cwd: ROOT, env });
  await expect.poll(output, { timeout: 120_000 }).toContain('"msg":"Listening"');
  child.kill('SIGINT');
  expect(await exited).toBe(0);
  expect(output()).toContain('"msg":"Stopped"');
  await expect(fetch(`http://127.0.0.1:${port}/live`)).rejects.toThrow();
});
