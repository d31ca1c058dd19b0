/** The packed gateway works in each of the supported servers and runtimes as it does in its own process. */
import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { PATHS_WITHOUT_METRICS } from '../../src/http/paths.js';
import { afterTests } from '../support/ends.js';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { isMissing } from '../support/missing.js';
import { readText } from '../support/readme.js';
import { sendHttp } from '../support/send-http.js';
import { spawnGroup } from '../support/server-process.js';
import { plainOf } from '../support/test-server.js';
import { type Asked, answersOf, got, LONG, posted, QUERY, REQUESTS } from './requests.js';
import { HOSTS, installPacked, installRuntime, startHost, startNext } from './support.js';

/** The lines of the library’s guide that mount the gateway, by the file of the host. */
const SHOWN: Readonly<Record<string, string>> = {
  'express.js': "app.use('/tokens', gateway.handler)",
  'hono.js': "app.all('/tokens/*', (context) => gateway.fetch(context.req.raw))",
  'fastify-json.js': 'gateway.handler(Object.assign(request.raw, { body: request.body }), reply.raw)',
  'bun.js': '(request) => gateway.fetch(request)',
  'deno.js': '(request) => gateway.fetch(request)',
};

/** Sends a request. */
function ask(address: string, { path = '/graphql', ...asked }: Asked, agent?: Agent) {
  return sendHttp(address + path, { ...asked, ...(agent ? { agent } : {}) });
}

const answersTo = (address: string, asked: Asked) => answersOf((each) => ask(address, each), asked);

it('the guide of the library mounts the gateway in the same way as the tested hosts', () => {
  const guide = readText('src/library/README.md');
  for (const [file, shown] of Object.entries(SHOWN)) {
    expect(guide).toContain(shown);
    expect(readFileSync(join(HOSTS, file), 'utf8')).toContain(shown);
  }
});

const canInstall = await promisify(execFile)('npm', ['ping', '--fetch-retries=0']).then(
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

    /** Fails unless the connection serves further requests after a refused body. */
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
      await promisify(execFile)(join(folder, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: folder });
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
      const started = promisify(execFile)(program, [...args, main], { cwd: folder, timeout: 60_000 });
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
        const { stdout } = await promisify(execFile)(program, [...args, 'closing.js'], inFolder);
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
