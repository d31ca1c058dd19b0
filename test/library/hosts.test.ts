/** The packed gateway works in each of the supported servers and runtimes as it does in its own process. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { PATHS_WITHOUT_METRICS } from '../../src/http/paths.js';
import { type AtEnd, afterTests, temporaryDirectory } from '../support/ends.js';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { freePort } from '../support/processes.js';
import { ROOT, readText } from '../support/readme.js';
import { sendHttp } from '../support/send-http.js';
import { isMissing, spawnGroup, startServerProcess } from '../support/server-process.js';
import { plainOf } from '../support/test-server.js';
import { type Asked, answers, got, LONG, posted, QUERY, REQUESTS } from './requests.js';

const run = promisify(execFile);
const HOSTS = fileURLToPath(new URL('hosts', import.meta.url));
const QUIET = ['--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts'];
/** The address of the upstream in the files of `hosts`. The tests replace it. */
const UPSTREAM = 'https://stargate.finance/api/v1';
/** The runtimes that npm can install, and their arguments to run a file. */
const RUNTIMES = {
  bun: { installed: 'bun@1.4.5', args: [] },
  deno: { installed: 'deno@2.9.6', args: ['run', '--allow-all'] },
} as const;

type Runtime = keyof typeof RUNTIMES;

const SHOWN: Readonly<Record<string, string>> = {
  'express.js': "app.use('/tokens', gateway.handler)",
  'hono.js': "app.all('/tokens/*', (context) => gateway.fetch(context.req.raw))",
  'fastify-json.js': 'gateway.handler(Object.assign(request.raw, { body: request.body }), reply.raw)',
  'bun.js': '(request) => gateway.fetch(request)',
  'deno.js': '(request) => gateway.fetch(request)',
};

function ask(address: string, { path = '/graphql', ...asked }: Asked, agent?: Agent) {
  return sendHttp(address + path, { ...asked, ...(agent ? { agent } : {}) });
}

const answersTo = (address: string, asked: Asked) => answers((each) => ask(address, each), asked);

it('the guide of the library mounts the gateway in the same way as the tested hosts', () => {
  const guide = readText('src/library/README.md');
  for (const [file, shown] of Object.entries(SHOWN)) {
    expect(guide).toContain(shown);
    expect(readFileSync(join(HOSTS, file), 'utf8')).toContain(shown);
  }
});

const canInstall = await run('npm', ['ping', '--fetch-retries=0']).then(
  () => true,
  () => false,
);

describe.skipIf(isMissing(canInstall, 'other servers (the npm registry does not answer)'))(
  'the packed gateway, installed into an empty project',
  () => {
    const atEnd = afterTests();
    let folder: string;
    let upstream: FakeUpstream;
    let next: Promise<string>;
    const ofProcess = new Map<string, unknown>();

    beforeAll(async () => {
      folder = await installPacked(atEnd);
      upstream = await startFakeUpstream({}, atEnd);
      const paths = { BASE_PATH: '/tokens', SERVED_PATHS: PATHS_WITHOUT_METRICS.join() };
      const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url, ...paths }, atEnd);
      while ((await fetch(`${address}/ready`)).status !== 200) await sleep(20);
      for (const [name, asked] of Object.entries(REQUESTS)) {
        ofProcess.set(name, await answersTo(address, asked));
      }
      // Its build takes longer than all other tests of this file: they run meanwhile.
      next = startNext(folder, upstream.url, atEnd);
      next.catch(() => {});
    });

    async function expectSameAnswers(address: string, ofHost: readonly string[] = []): Promise<void> {
      for (const [name, asked] of Object.entries(REQUESTS)) {
        if (ofHost.includes(name)) continue;
        expect(await answersTo(address, asked), name).toEqual(ofProcess.get(name));
      }
      // A host that parses bodies refuses large ones itself, and may close the connection.
      if (ofHost.length === 0) await expectUnbroken(address);
      const { headers } = await ask(address, got(QUERY));
      const again = await ask(address, got(QUERY, { 'if-none-match': headers.etag ?? '' }));
      expect(again).toMatchObject({ status: 304, body: Buffer.alloc(0), headers: { etag: headers.etag } });
    }

    async function expectUnbroken(address: string): Promise<void> {
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      for (const bytes of [2 ** 21, 2 ** 23, 100]) {
        const { status } = await ask(address, posted(`# ${'x'.repeat(bytes)}\n${QUERY}`), agent);
        expect([bytes, status]).toEqual([bytes, bytes === 100 ? 200 : 413]);
      }
      agent.destroy();
    }

    it.each<[string, readonly string[]]>([
      ['node-http.js', []],
      ['express.js', []],
      ['fastify.js', []],
      ['hono.js', []],
      ['bun.js', []],
      ['deno.js', []],
      // The parsers of bodies answer these requests themselves.
      ['express-json.js', ['a compressed body']],
      ['fastify-json.js', ['a body that is no JSON', 'a compressed body']],
    ])('the packed gateway responds in %s as the process does', async (file, ofHost) => {
      const runtime = file === 'bun.js' ? 'bun' : file === 'deno.js' ? 'deno' : undefined;
      const command = runtime ? await installRuntime(runtime, folder) : [process.execPath];
      await expectSameAnswers(await startHost(folder, file, upstream.url, atEnd, command), ofHost);
    });

    it('the packed gateway has types that compile strictly, with exactly the options', async () => {
      await run(join(folder, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: folder });
    });

    it('the packed gateway has a command that starts the process', async () => {
      const program = join(folder, 'node_modules/.bin/chains-and-tokens-gateway');
      const env = { PATH: process.env.PATH ?? '', PORT: '0' };
      const { child, output, exited } = spawnGroup(program, [], { env, cwd: folder });
      await expect.poll(output).toContain('"Listening"');
      child.kill('SIGINT');
      expect(await exited, output()).toBe(0);
      expect(output()).toContain('"Stopped"');
    });

    it.each(['bun', 'deno'] as const)('the packed gateway tells %s that it needs Node', async (runtime) => {
      const [program = '', ...args] = await installRuntime(runtime, folder);
      const main = join(folder, 'node_modules/chains-and-tokens-gateway/dist/main.js');
      const started = run(program, [...args, main], { cwd: folder, timeout: 60_000 });
      await expect(started).rejects.toMatchObject({
        code: 1,
        stderr: 'The process needs Node. In Bun and Deno use the library: openGateway.\n',
      });
    });

    it.each(['node', 'bun', 'deno'] as const)(
      'the packed gateway lets the process end once it is closed, in %s',
      async (runtime) => {
        const code = `import { openGateway } from 'chains-and-tokens-gateway';
      const gateway = await openGateway({ upstreamUrl: '${upstream.url}', logLevel: 'silent' });
      const asked = () => gateway.fetch(new Request('http://gateway/graphql?query={tokens{symbol}}'));
      for (let time = 0; time < 3; time++) console.log(String((await asked()).status));
      await gateway.close();`;
        writeFileSync(join(folder, 'closing.js'), code);
        const [program = '', ...args] =
          runtime === 'node' ? [process.execPath] : await installRuntime(runtime, folder);
        const inFolder = { cwd: folder, timeout: 60_000 };
        const { stdout } = await run(program, [...args, 'closing.js'], inFolder);
        expect(stdout).toBe('200\n200\n200\n');
      },
    );

    it('the packed gateway responds in a built app of Next as the process does, compressed once', async () => {
      const address = await next;
      for (const [name, asked] of Object.entries(REQUESTS)) {
        // Next itself refuses methods that a route does not export.
        if (name === 'another method') continue;
        const expected = ofProcess.get(name) as readonly { status: number; body: string }[];
        // Next redirects a path with a slash at its end.
        const path = asked.path === '/' ? '' : asked.path;
        const answers = await answersTo(address, { ...asked, ...(path === undefined ? {} : { path }) });
        const shown = answers.map(({ status, body }) => ({ status, body }));
        expect(shown, name).toEqual(expected.map(({ status, body }) => ({ status, body })));
      }
      for (const encoding of ['gzip', 'br, gzip', 'identity']) {
        const asked = got(LONG, { 'accept-encoding': encoding });
        const received = await ask(address, asked);
        expect(received.headers['content-encoding']).toBe(encoding === 'identity' ? undefined : 'gzip');
        expect(JSON.parse(plainOf(received).toString())).toHaveProperty('data.tokens.0.symbol');
      }
    });
  },
);

/** Packs the gateway, and installs it into an empty project beside the servers that mount it. @returns the folder */
async function installPacked(atEnd: AtEnd): Promise<string> {
  const folder = temporaryDirectory(atEnd);
  cpSync(HOSTS, folder, { recursive: true });
  const { stdout } = await run('npm', ['pack', '--pack-destination', folder, '--json'], { cwd: ROOT });
  const packed: unknown = JSON.parse(stdout);
  const [file] = Array.isArray(packed) ? packed : Object.values(packed as object);
  const { filename } = file as { filename: string };
  // First the gateway is installed alone, with engine checks: a package that needs a newer Node is an error.
  const alone = join(folder, 'alone');
  mkdirSync(alone);
  writeFileSync(join(alone, 'package.json'), '{ "private": true }');
  await run('npm', ['install', '--engine-strict', '--dry-run', ...QUIET, `../${filename}`], { cwd: alone });
  await run('npm', ['install', ...QUIET, `./${filename}`], { cwd: folder });
  return folder;
}

function installRuntime(runtime: Runtime, folder: string): Promise<readonly string[]> {
  installing[runtime] ??= (async () => {
    // Install scripts must run here, because they install the program.
    const apart = mkdtempSync(join(folder, `${runtime}-`));
    writeFileSync(join(apart, 'package.json'), '{}');
    await run('npm', ['install', '--no-audit', '--no-fund', RUNTIMES[runtime].installed], { cwd: apart });
    return [join(apart, 'node_modules/.bin', runtime), ...RUNTIMES[runtime].args];
  })();
  return installing[runtime];
}

const installing: Partial<Record<Runtime, Promise<readonly string[]>>> = {};

async function startNext(folder: string, upstreamUrl: string, atEnd: AtEnd): Promise<string> {
  const app = join(folder, 'next');
  const route = join(app, 'app/tokens/[[...path]]/route.js');
  writeFileSync(route, readFileSync(route, 'utf8').replace(UPSTREAM, upstreamUrl));
  const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', NEXT_TELEMETRY_DISABLED: '1' };
  const next = join(folder, 'node_modules/.bin/next');
  await run(next, ['build'], { cwd: app, env });
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/tokens`;
  const server = { name: 'Next', command: [next, 'start', '-p', String(port)], cwd: app, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

async function startHost(
  folder: string,
  file: string,
  upstreamUrl: string,
  atEnd: AtEnd,
  command: readonly string[],
): Promise<string> {
  const port = await freePort();
  const apart = mkdtempSync(join(folder, 'host-'));
  const text = readFileSync(join(folder, file), 'utf8');
  writeFileSync(join(apart, file), text.replace(UPSTREAM, upstreamUrl).replaceAll('3000', String(port)));
  // The library must not read the environment, so UPSTREAM_URL is invalid, and other variables are left out.
  const env = { PATH: process.env.PATH ?? '', HOME: folder, NODE_ENV: 'production', UPSTREAM_URL: 'no url' };
  const address = `http://127.0.0.1:${port}/tokens`;
  const server = { name: file, command: [...command, join(apart, file)], cwd: folder, env };
  await startServerProcess({ ...server, isAnswering: () => isAnswering(address) }, atEnd);
  return address;
}

async function isAnswering(address: string): Promise<boolean> {
  const response = await fetch(`${address}/graphql?query={chains{chainKey}tokens{symbol}}`);
  return response.status === 200 && !(await response.text()).includes('"errors"');
}
