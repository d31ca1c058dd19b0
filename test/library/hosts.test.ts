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
import { blockOf, readText } from '../support/readme.js';
import { sendHttp } from '../support/send-http.js';
import { plainOf } from '../support/test-server.js';
import { HOSTS, installPacked, installRuntime, startHost, startNext } from './support.js';

const QUERY = '{ tokens(srcChainKey: "degen") { symbol decimals chain { name } } }';
const LONG = '{ tokens { id symbol name decimals address chain { name chainKey } } }';
const JSON_TYPE = { 'content-type': 'application/json' };

interface Asked {
  readonly method?: string;
  /** The path below the base path, with its query string; `/graphql` unless given. */
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const posted = (query: string, headers: Record<string, string> = {}): Asked => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify({ query }),
});
const asGet = (query: string, headers: Record<string, string> = {}): Asked => ({
  path: `/graphql?query=${encodeURIComponent(query)}`,
  headers,
});

/** Each request is sent three times: it is executed, executed and cached, and then answered from the cache. */
const QUESTIONS: Readonly<Record<string, Asked>> = {
  'a query by POST': posted(QUERY),
  'a query by GET': asGet(QUERY),
  'a compressed response': asGet(LONG, { 'accept-encoding': 'br' }),
  'another compression': posted(LONG, { 'accept-encoding': 'gzip' }),
  'a page of another origin': posted(QUERY, { origin: 'https://app.example.org' }),
  'a preflight request': {
    method: 'OPTIONS',
    headers: {
      origin: 'https://app.example.org',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type',
    },
  },
  'a request id': posted(QUERY, { 'x-request-id': 'mine-1' }),
  'an unknown field': posted('{ nothing }'),
  'a syntax error': posted('{'),
  'an invalid argument': posted('{ tokenSearch(first: 1000) { totalCount } }'),
  'a body that is no JSON': { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'hello' },
  'no query': posted(''),
  'a body that is too large': posted(`# ${'x'.repeat(2 ** 20)}\n${QUERY}`),
  'a mutation by GET': asGet('mutation { nothing }'),
  'the picker': { path: '/', headers: { accept: 'text/html' } },
  'the playground': { headers: { accept: 'text/html' } },
  'llms.txt': { path: '/llms.txt' },
  'the schema': { path: '/schema.graphql', headers: { 'accept-encoding': 'gzip' } },
  'the tools for agents': {
    method: 'POST',
    path: '/mcp',
    headers: JSON_TYPE,
    body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
  },
  'no token list': { path: '/tokenlist.json?chainKey=nope' },
  'what is not served': { path: '/metrics' },
  'a compressed body': posted(QUERY, { 'content-encoding': 'gzip' }),
  'another method': { method: 'PUT', headers: JSON_TYPE, body: JSON.stringify({ query: QUERY }) },
};

/** The lines of the README that mount the gateway in each host. */
const SHOWN: Readonly<Record<string, string>> = {
  'express.js': "app.use('/tokens', gateway.handler)",
  'hono.js': "app.all('/tokens/*', (context) => gateway.fetch(context.req.raw))",
  'fastify-json.js': 'gateway.handler(Object.assign(request.raw, { body: request.body }), reply.raw)',
  'bun.js': '(request) => gateway.fetch(request)',
  'deno.js': '(request) => gateway.fetch(request)',
};

const readHost = (file: string) => readFileSync(join(HOSTS, file), 'utf8');

/** Headers that depend on the connection or the moment, and those that hosts add. */
const NOT_COMPARED = [
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'last-modified',
  'transfer-encoding',
  'x-powered-by',
];

/** Sends a request. The body of the result is decompressed. */
async function ask(address: string, { path = '/graphql', ...asked }: Asked, agent?: Agent) {
  const received = await sendHttp(address + path, { ...asked, ...(agent ? { agent } : {}) });
  return { ...received, body: plainOf(received) };
}

/** The responses without values that differ between processes or moments. */
async function answersTo(address: string, asked: Asked) {
  const answers = [];
  for (let time = 0; time < 3; time++) {
    const { status, headers, body } = await ask(address, asked);
    const compared = Object.entries(headers).filter(([name]) => !NOT_COMPARED.includes(name));
    answers.push({
      status,
      body: body.toString(),
      headers: {
        ...Object.fromEntries(compared),
        'x-request-id': asked.headers?.['x-request-id'] ?? typeof headers['x-request-id'],
        'cache-control': headers['cache-control']?.replaceAll(/\d+/g, 'n'),
        age: typeof headers.age,
      },
    });
  }
  return answers;
}

describe('the README', () => {
  it('mounts the gateway in the same way as the tested hosts', () => {
    expect(blockOf('README.md', 'hosts/node-http.js')).toBe(readHost('node-http.js'));
    const guide = readText('src/library/README.md');
    for (const file of ['next/app/tokens/[[...path]]/route.js', 'next/next.config.js'])
      expect(blockOf('src/library/README.md', `hosts/${file}`)).toBe(readHost(file));
    for (const [file, shown] of Object.entries(SHOWN)) {
      expect(guide).toContain(shown);
      expect(readHost(file)).toContain(shown);
    }
  });
});

describe('the packed gateway, installed into an empty project', () => {
  const atEnd = afterTests();
  let folder: string | undefined;
  let upstream: FakeUpstream;
  const ofProcess = new Map<string, unknown>();

  beforeAll(async () => {
    folder = await installPacked(atEnd);
    if (folder === undefined) return;
    upstream = await startFakeUpstream();
    atEnd(upstream.close);
    const env = {
      UPSTREAM_URL: upstream.url,
      BASE_PATH: '/tokens',
      SERVED_PATHS: PATHS_WITHOUT_METRICS.join(),
    };
    const { address } = await startGatewayProcess(env, atEnd);
    while ((await fetch(`${address}/ready`)).status !== 200) await sleep(20);
    for (const [name, asked] of Object.entries(QUESTIONS)) {
      ofProcess.set(name, await answersTo(address, asked));
    }
  });

  async function expectSameAnswers(address: string, ofHost: readonly string[] = []): Promise<void> {
    for (const [name, asked] of Object.entries(QUESTIONS)) {
      if (ofHost.includes(name)) continue;
      expect(await answersTo(address, asked), name).toEqual(ofProcess.get(name));
    }
    // A host that parses bodies refuses large ones itself, and may close the connection.
    if (ofHost.length === 0) await expectUnbroken(address);
    const { headers } = await ask(address, asGet(QUERY));
    const again = await ask(address, asGet(QUERY, { 'if-none-match': headers.etag ?? '' }));
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

  it.each(['node-http.js', 'express.js', 'fastify.js', 'hono.js'])(
    'responds in %s as the process does',
    async (file) => {
      if (folder === undefined) return;
      await expectSameAnswers(await startHost(folder, file, upstream.url, atEnd));
    },
  );

  it('responds in Express, after its JSON parser, as the process does', async ({ skip }) => {
    if (folder === undefined) return skip();
    const ofHost = ['a compressed body'];
    await expectSameAnswers(await startHost(folder, 'express-json.js', upstream.url, atEnd), ofHost);
  });

  it('responds in Fastify, after its own parser, as the process does', async ({ skip }) => {
    if (folder === undefined) return skip();
    // Fastify itself refuses these requests.
    const ofHost = ['a body that is no JSON', 'a compressed body'];
    await expectSameAnswers(await startHost(folder, 'fastify-json.js', upstream.url, atEnd), ofHost);
  });

  it.each(['bun', 'deno'] as const)('responds in %s as the process does', async (runtime) => {
    if (folder === undefined) return;
    const command = await installRuntime(runtime, folder);
    await expectSameAnswers(await startHost(folder, `${runtime}.js`, upstream.url, atEnd, command));
  });

  it('responds in a built app of Next as the process does, compressed once', async ({ skip }) => {
    if (folder === undefined) return skip();
    const address = await startNext(folder, upstream.url, atEnd);
    for (const [name, asked] of Object.entries(QUESTIONS)) {
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
      const asked = asGet(LONG, { 'accept-encoding': encoding });
      const { headers, body } = await ask(address, asked);
      expect(headers['content-encoding']).toBe(encoding === 'identity' ? undefined : 'gzip');
      expect(JSON.parse(body.toString())).toHaveProperty('data.tokens.0.symbol');
    }
  });

  it('has types that compile strictly, with exactly the options', async ({ skip }) => {
    if (folder === undefined) return skip();
    await promisify(execFile)(join(folder, 'node_modules/.bin/tsc'), ['-p', '.'], { cwd: folder });
  });

  it('has a command that starts the process', async ({ skip }) => {
    if (folder === undefined) return skip();
    const program = join(folder, 'node_modules/.bin/chains-and-tokens-gateway');
    const env = { PATH: process.env.PATH ?? '', PORT: '0' };
    const started = promisify(execFile)(program, { env, cwd: folder });
    let output = '';
    let isStopping = false;
    started.child.stdout?.on('data', (chunk) => {
      output += String(chunk);
      if (!isStopping && output.includes('"Listening"')) isStopping = started.child.kill('SIGINT');
    });
    await started;
    expect(output).toContain('"Stopped"');
  });

  it.each(['bun', 'deno'] as const)('says in %s that its process needs Node', async (runtime) => {
    if (folder === undefined) return;
    const [program = '', ...args] = await installRuntime(runtime, folder);
    const main = join(folder, 'node_modules/chains-and-tokens-gateway/dist/main.js');
    const started = promisify(execFile)(program, [...args, main], { cwd: folder, timeout: 60_000 });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: 'The process needs Node. In Bun and Deno use the library: openGateway.\n',
    });
  });

  it.each(['node', 'bun', 'deno'] as const)(
    'ends with the process once it is closed, in %s',
    async (runtime) => {
      if (folder === undefined) return;
      const code = `import { openGateway } from 'chains-and-tokens-gateway';
      const gateway = await openGateway({ upstreamUrl: '${upstream.url}', logLevel: 'silent' });
      const asked = () => gateway.fetch(new Request('http://gateway/graphql?query={tokens{symbol}}'));
      for (let time = 0; time < 3; time++) console.log(String((await asked()).status));
      await gateway.close();`;
      writeFileSync(join(folder, 'closing.js'), code);
      const [program = '', ...args] =
        runtime === 'node' ? [process.execPath] : await installRuntime(runtime, folder);
      const { stdout } = await promisify(execFile)(program, [...args, 'closing.js'], {
        cwd: folder,
        timeout: 60_000,
      });
      expect(stdout).toBe('200\n200\n200\n');
    },
  );
});
