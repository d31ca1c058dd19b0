import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';

const isInstalled = spawnSync('redis-server', ['--version']).status === 0;

/**
 * Whether tests that need Redis are to be skipped. In CI they never are: a Redis that is missing there fails them.
 */
export const isRedisMissing = !isInstalled && !process.env.CI;

if (isRedisMissing) {
  process.stderr.write(
    'redis-server is not installed: tests of sharing are skipped. Install it to run them.\n',
  );
}

/** A real Redis on a free loopback port, which keeps nothing on disk. */
export interface TestRedis {
  readonly url: string;
  /** To look into it, and to put rubbish there. */
  readonly client: Redis;
  /** Ends it at once, as a crash would. */
  kill(): Promise<void>;
  /** Starts it again, empty, on the same port. */
  start(): Promise<void>;
  /** Lets it answer nothing, while its connections stay; `false` lets it go on. */
  freeze(isFrozen: boolean): void;
}

/** Starts a Redis; the test's end ends it. */
export async function startRedis(...options: readonly string[]): Promise<TestRedis> {
  const port = await freePort();
  const url = `redis://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn(
      'redis-server',
      ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no', ...options],
      { stdio: 'ignore' },
    );
    child = started;
    const failed = once(started, 'error').then(([error]) => {
      throw error;
    });
    failed.catch(() => {});
    await Promise.race([failed, answers(port)]);
  }
  async function kill(): Promise<void> {
    const ended = child;
    child = undefined;
    if (!ended || ended.exitCode !== null) return;
    const exited = once(ended, 'exit');
    ended.kill('SIGKILL');
    await exited;
  }

  await start();
  const client = new Redis(url, { retryStrategy: () => 100, maxRetriesPerRequest: null });
  client.on('error', () => {});
  onTestFinished(async () => {
    client.disconnect();
    await kill();
  });
  return {
    url,
    client,
    kill,
    start,
    freeze(isFrozen) {
      child?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
    },
  };
}

async function answers(port: number): Promise<void> {
  for (;;) {
    const probe = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    probe.on('error', () => {});
    try {
      await probe.connect();
      await probe.ping();
      return;
    } catch {
      await sleep(20);
    } finally {
      probe.disconnect();
    }
  }
}

/** A port that nobody listens on now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address ? address.port : 0;
}
