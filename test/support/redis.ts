/** A real Redis for a test, which the test can freeze, kill and start again. */
import { spawnSync } from 'node:child_process';
import { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import { freePort } from './processes.js';
import { isMissing, spawnKept } from './server-process.js';

export const isRedisMissing = isMissing(spawnSync('redis-server', ['-v']).status === 0, 'redis-server');

export type TestRedis = Awaited<ReturnType<typeof startRedis>>;

/** Starts a real Redis on a free loopback port, without files on disk. The end of the test ends it. */
export async function startRedis() {
  const port = String(await freePort());
  const url = `redis://127.0.0.1:${port}`;
  const args = ['--port', port, '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  let running: ReturnType<typeof spawnKept> | undefined;

  async function start(): Promise<void> {
    const { child, output, exited } = spawnKept('redis-server', args);
    running = { child, output, exited };
    const ready = new Promise<void>((resolve) => {
      child.stdout.on('data', () => output().includes('Ready to accept connections') && resolve());
    });
    const failed = exited.then(() => Promise.reject(new Error(`redis-server ended: ${output()}`)));
    await Promise.race([ready, failed]);
  }
  async function kill(): Promise<void> {
    running?.child.kill('SIGKILL');
    await running?.exited;
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
    /** With `true`, Redis stops responding, but its connections stay open. With `false` it continues. */
    freeze(isFrozen: boolean) {
      running?.child.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT');
    },
  };
}
