import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.js';
import { startGatewayProcess } from '../support/gateway-process.js';
import { blockOf, readText } from '../support/readme.js';
import { plainOf, type Received } from '../support/test-server.js';
import { findRuntime, HOSTS, installPacked, type Runtime, startHost } from './support.js';

const QUERY = '{ tokens(srcChainKey: "degen") { symbol decimals chain { name } } }';
const LONG = '{ tokens { id symbol name decimals address chain { name chainKey } } }';
const JSON_TYPE = { 'content-type': 'application/json' };

interface Asked {
  readonly method?: string;
  /** After the path. */
  readonly search?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

const posted = (query: string, headers: Record<string, string> = {}): Asked => ({
  method: 'POST',
  headers: { ...JSON_TYPE, ...headers },
  body: JSON.stringify({ query }),
});
const asGet = (query: string, headers: Record<string, string> = {}): Asked => ({
  search: `?query=${encodeURIComponent(query)}`,
  headers,
});

/** Each is asked three times: executed, executed and cached, cached. */
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
  'another method': { method: 'PUT', headers: JSON_TYPE, body: JSON.stringify({ query: QUERY }) },
};

/** What the README shows of hosts in a line. */
const SHOWN: Readonly<Record<string, string>> = {
  'express.js': "app.use('/api/graphql', gateway.handler)",
  'hono.js': "app.all('/api/graphql', (context) => gateway.fetch(context.req.raw))",
  'route.js': '(request) => gateway.fetch(request)',
  'bun.js': '(request) => gateway.fetch(request)',
  'deno.js': '(request) => gateway.fetch(request)',
};

const readHost = (file: string) => readFileSync(join(HOSTS, file), 'utf8');

/** Headers of a connection or a moment, and those that hosts add. */
const NOT_COMPARED = [
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'last-modified',
  'transfer-encoding',
  'x-powered-by',
];

/** Its body is not compressed any more. */
async function ask(address: string, { method = 'GET', search = '', headers, body }: Asked) {
  return new Promise<Received>((resolve, reject) => {
    request(`${address}${search}`, { method, headers: headers ?? {} })
      .once('response', async (response) => {
        const { statusCode: status = 0, headers } = response;
        const received = { status, headers, body: await buffer(response) };
        resolve({ ...received, body: plainOf(received) });
      })
      .once('error', reject)
      .end(body);
  });
}

/** The answers without values that differ from one process or second to the next. */
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
      },
    });
  }
  return answers;
}

describe('the README', () => {
  it('shows how to mount it as the hosts do that are tested', () => {
    expect(blockOf('README.md', 'hosts/node-http.js')).toBe(readHost('node-http.js'));
    const guide = readText('src/library/README.md');
    for (const [file, shown] of Object.entries(SHOWN)) {
      expect(guide).toContain(shown);
      expect(readHost(file)).toContain(shown);
    }
  });
});

describe('the packed gateway, installed into an empty project', () => {
  const ends: (() => Promise<void>)[] = [];
  const atEnd = (end: () => Promise<void>) => ends.unshift(end);
  let folder: string | undefined;
  let upstream: FakeUpstream;
  const ofProcess = new Map<string, unknown>();

  beforeAll(async () => {
    folder = await installPacked(atEnd);
    if (folder === undefined) return;
    upstream = await startFakeUpstream();
    atEnd(upstream.close);
    const { address } = await startGatewayProcess({ UPSTREAM_URL: upstream.url }, atEnd);
    while ((await fetch(`${address}/ready`)).status !== 200) await sleep(20);
    for (const [name, asked] of Object.entries(QUESTIONS)) {
      ofProcess.set(name, await answersTo(`${address}/graphql`, asked));
    }
  });
  afterAll(async () => {
    for (const end of ends) await end();
  });

  async function expectSameAnswers(address: string, ofHost: readonly string[] = []): Promise<void> {
    for (const [name, asked] of Object.entries(QUESTIONS)) {
      if (ofHost.includes(name)) continue;
      expect(await answersTo(address, asked), name).toEqual(ofProcess.get(name));
    }
    const { headers } = await ask(address, asGet(QUERY));
    const again = await ask(address, asGet(QUERY, { 'if-none-match': headers.etag ?? '' }));
    expect(again).toMatchObject({ status: 304, body: Buffer.alloc(0), headers: { etag: headers.etag } });
  }

  it.each(['node-http.js', 'express.js', 'fastify.js', 'hono.js', 'next-style.js'])(
    'answers in %s as the process does',
    async (file) => {
      if (folder === undefined) return;
      // Next itself refuses methods that a route does not export.
      const ofHost = file === 'next-style.js' ? ['another method'] : [];
      await expectSameAnswers(await startHost(folder, file, upstream.url, atEnd), ofHost);
    },
  );

  it('answers in Express after its JSON parser as the process does', async ({ skip }) => {
    if (folder === undefined) return skip();
    await expectSameAnswers(await startHost(folder, 'express-json.js', upstream.url, atEnd));
  });

  const COMMANDS: Readonly<Record<Runtime, readonly string[]>> = { bun: [], deno: ['run', '--allow-all'] };

  it.each(['bun', 'deno'] as const)('answers in %s as the process does', async (runtime) => {
    if (folder === undefined) return;
    const program = await findRuntime(runtime, folder);
    if (program === undefined) return;
    const command = [program, ...COMMANDS[runtime]];
    await expectSameAnswers(await startHost(folder, `${runtime}.js`, upstream.url, atEnd, command));
  });

  it('has types that compile strictly, with every option and nothing else', async ({ skip }) => {
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

  it('ends with the process once it is closed', async ({ skip }) => {
    if (folder === undefined) return skip();
    const code = `import { openGateway } from 'chains-and-tokens-gateway';
      const gateway = await openGateway({ demo: true, logLevel: 'silent' });
      const asked = () => gateway.fetch(new Request('http://gateway/graphql?query={tokens{symbol}}'));
      for (let time = 0; time < 3; time++) console.log((await asked()).status);
      await gateway.close();`;
    const args = ['--input-type=module', '--eval', code];
    // Colours would be part of the output.
    const env = { ...process.env, FORCE_COLOR: '0' };
    const { stdout } = await promisify(execFile)(process.execPath, args, {
      cwd: folder,
      env,
      timeout: 60_000,
    });
    expect(stdout).toBe('200\n200\n200\n');
  });
});
