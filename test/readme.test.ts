import { execFile, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { SETTINGS } from '../src/config.js';
import { ERROR_CODES } from '../src/domain/errors.js';
import { startFakeSuccessor } from './support/fake-successor.js';
import { startFakeUpstream, status } from './support/fake-upstream.js';
import { freePort } from './support/free-port.js';
import { ask, startGatewayProcess } from './support/gateway-process.js';
import { isRedisMissing } from './support/redis.js';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

interface Block {
  readonly language: string;
  readonly text: string;
}

const blocks: readonly Block[] = [...readme.matchAll(/^```(\w+)\n(.*?)^```$/gms)].map(
  ([, language = '', text = '']) => ({ language, text: text.trim() }),
);
const commands = blocks.filter(({ language }) => language === 'sh').map(({ text }) => text);
const [
  START = '',
  TEST = '',
  CURL = '',
  WITH_UPSTREAM = '',
  WITH_DIRECTORY = '',
  WITH_SUCCESSOR = '',
  REDIS = '',
  WITH_REDIS = '',
] = commands;

/** A copy of the project as a newcomer has it: without anything installed or built, unless it is named. */
function copyProject(withLinks: readonly string[] = []): string {
  const copy = mkdtempSync(join(tmpdir(), 'gateway-'));
  onTestFinished(() => rmSync(copy, { recursive: true, force: true }));
  const left = new Set(['node_modules', 'dist', 'build', 'snapshots', '.git']);
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !left.has(basename(path)) });
  for (const name of withLinks) symlinkSync(join(ROOT, name), join(copy, name));
  return copy;
}

/** Runs a command of the README, in a process group of its own that ends with the test. */
function run(command: string, cwd: string, env: Record<string, string> = {}) {
  const child = spawn('bash', ['-c', command], { cwd, env: { ...process.env, ...env }, detached: true });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += chunk.toString();
    });
  }
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  onTestFinished(async () => {
    try {
      if (child.pid) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
    await exited;
  });
  return { output: () => output, exited };
}

describe('the README', () => {
  it('gives eight commands, and says no more of itself than these tests run', () => {
    expect(commands).toEqual([
      'npm ci && npm start',
      'npm ci && npm test',
      expect.stringMatching(/^curl /),
      expect.stringMatching(/^UPSTREAM_URL=\S+ npm start$/),
      expect.stringMatching(/^SNAPSHOT_DIR=snapshots UPSTREAM_URL=\S+ npm start$/),
      expect.stringMatching(/^UPSTREAM_PROFILE=auto .* npm start$/),
      expect.stringMatching(/^redis-server /),
      expect.stringMatching(/^REDIS_URL=\S+ UPSTREAM_URL=\S+ npm start$/),
    ]);
  });

  it('has two commands that do everything, and a query whose answer it gives', {
    timeout: 150_000,
  }, async () => {
    const copy = copyProject();
    const port = await freePort();
    const env = { PORT: String(port), npm_config_prefer_offline: 'true', NO_COLOR: '1' };
    const started = run(START, copy, env);
    await expect.poll(started.output, { timeout: 90_000 }).toContain('"msg":"Listening"');
    expect(started.output()).not.toMatch(/npm warn (?!Unknown \w+ config)|EBADENGINE|deprecated/i);
    await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/ready`)).status).toBe(200);
    const { stdout } = await promisify(execFile)('bash', ['-c', CURL.replace(':4000/', `:${port}/`)]);
    const answer = blocks[blocks.findIndex(({ text }) => text === CURL) + 1];
    expect(JSON.parse(stdout)).toEqual(JSON.parse(answer?.text ?? ''));

    const upstream = await startFakeUpstream();
    onTestFinished(upstream.close);
    const other = run(WITH_UPSTREAM.replace(/https:\S+/, upstream.url), copy, { ...env, PORT: '0' });
    await expect.poll(() => upstream.count(), { timeout: 30_000 }).toBe(2);
    expect(other.output()).toContain(`"upstream":"${upstream.url}","isDemo":false`);

    const kept = run(WITH_DIRECTORY.replace(/https:\S+/, upstream.url), copy, { ...env, PORT: '0' });
    await expect
      .poll(() => existsSync(join(copy, 'snapshots')) && readdirSync(join(copy, 'snapshots')).sort(), {
        timeout: 30_000,
      })
      .toEqual([
        expect.stringMatching(/^chains-.*\.snapshot$/),
        expect.stringMatching(/^tokens-.*\.snapshot$/),
      ]);
    expect(kept.output()).toContain('"msg":"Listening"');

    upstream.plan('chains', status(410));
    upstream.plan('tokens', status(410));
    const successor = await startFakeSuccessor();
    onTestFinished(successor.close);
    const services = [upstream.url, successor.url];
    const changing = WITH_SUCCESSOR.replace(/https:\S+/g, () => services.shift() ?? '').replace(
      'snapshots',
      'new',
    );
    const changed = run(changing, copy, { ...env, PORT: '0' });
    await expect
      .poll(changed.output, { timeout: 30_000 })
      .toContain('the listings are from the value-transfer service from now on');

    // The whole of it is what runs this test: one file of it shows that the command works there, too, where its
    // first half has been run.
    const tested = run(`${TEST.replace('npm ci && ', '')} -- schema-file`, copy, { ...env, CI: 'true' });
    expect(await tested.exited, tested.output()).toBe(0);
    expect(tested.output()).toMatch(/Tests\s+1 passed/);
  });

  it.skipIf(isRedisMissing)(
    'gives commands by which gateways share through Redis',
    { timeout: 60_000 },
    async () => {
      const port = String(await freePort());
      const copy = copyProject(['node_modules']);
      run(REDIS.replace('6379', port), copy);
      const upstream = await startFakeUpstream();
      onTestFinished(upstream.close);
      const command = WITH_REDIS.replace('6379', port).replace(/https:\S+/, upstream.url);
      // One after the other: each builds what it starts.
      for (let gateway = 0; gateway < 2; gateway++) {
        const { output } = run(command, copy, { PORT: '0' });
        await expect.poll(output, { timeout: 30_000 }).toContain('Sharing snapshots through Redis');
        await expect.poll(output).toContain('Took a new snapshot of the tokens listing');
      }
      expect(upstream.count()).toBe(2);
    },
  );

  it('gives queries that are answered, each with rows', async () => {
    const { address } = await startGatewayProcess();
    const queries = blocks.flatMap(({ language, text }, index) => {
      const next = blocks[index + 1];
      const variables =
        text.startsWith('query ') && next?.language === 'json' ? JSON.parse(next.text) : undefined;
      return language === 'graphql' ? [{ text, variables }] : [];
    });
    expect(queries).toHaveLength(5);
    for (const { text, variables } of queries) {
      const answer = await ask<Record<string, unknown>>(address, text, variables);
      expect(answer, text).not.toHaveProperty('errors');
      for (const value of Object.values(answer.data)) {
        expect(Array.isArray(value) ? value.length : value, text).toBeTruthy();
      }
    }
  });

  it('lists every setting with its default and meaning', () => {
    const rows = Object.values(SETTINGS).map(({ name, fallback, meaning }) => {
      const hasDefault = typeof fallback !== 'object' && fallback !== undefined;
      return `| \`${name}\` | ${hasDefault ? `\`${fallback}\`` : 'none'} | ${meaning} |`;
    });
    for (const row of rows) expect(readme).toContain(row);
  });

  it('lists every error code', () => {
    for (const code of ERROR_CODES) expect(readme).toContain(`| \`${code}\` |`);
  });

  it('names scripts, files and commands that there are', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    const named = [...readme.matchAll(/npm run ([\w:]+)/g)].map(([, script]) => script);
    expect(Object.keys(scripts)).toEqual(expect.arrayContaining(named));
    for (const [, file = ''] of readme.matchAll(/`((?:src|test)\/[\w./-]+)`/g)) {
      expect(() => readFileSync(join(ROOT, file), 'utf8'), file).not.toThrow(/ENOENT/);
    }
  });
});
