import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.js';
import { isMissing } from './missing.js';

/** Whether to skip tests that need Redis. */
export const isRedisMissing = isMissing(
  spawnSync('redis-server', ['--version']).status === 0,
  'redis-server',
);

/** A real Redis on a free loopback port, without files on disk. */
export interface TestRedis {
  readonly url: string;
  /** A client with which tests read the content of Redis and write invalid data. */
  readonly client: Redis;
  /** Kills Redis with SIGKILL, which has the effect of a crash. */
  kill(): Promise<void>;
  /** Starts Redis again, empty, on the same port. */
  start(): Promise<void>;
  /** With `true`, Redis stops responding, but its connections stay open. With `false` it continues. */
  freeze(isFrozen: boolean): void;
}

/** Starts a Redis. The end of the test ends it. */
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
    const failed = new Promise<never>((_, reject) => {
      started.once('error', reject);
      started.once('exit', () => reject(new Error(`redis-server ended; is port ${port} taken?`)));
    });
    failed.catch(() => {});
    await Promise.race([failed, answers(port, started.pid)]);
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

/**
 * Waits until this process responds at the port.
 *
 * @throws Error by rejection if another Redis responds there, such as that of another test, with other settings
 */
async function answers(port: number, pid: number | undefined): Promise<void> {
  for (;;) {
    const probe = new Redis({ port, host: '127.0.0.1', lazyConnect: true, retryStrategy: () => null });
    probe.on('error', () => {});
    try {
      await probe.connect();
      if ((await probe.info('server')).includes(`process_id:${pid}\r\n`)) return;
      throw new Error(`Another Redis answers on port ${port}`);
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('Another')) throw error;
      await sleep(20);
    } finally {
      probe.disconnect();
    }
  }
}
