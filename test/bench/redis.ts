import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../support/free-port.js';
import { keep, pin } from './processes.js';
import { endWith, type Target } from './targets.js';

const COMMAND = 'redis-server';
const START_MS = 10_000;

/** What is said where Redis is not installed. */
export const NO_REDIS = `${COMMAND} is not installed, so that nothing was shared through Redis.`;

/** A Redis on a free loopback port, which keeps nothing on disk; undefined where it is not installed. */
export async function startRedis(
  upstream: Target,
): Promise<{ readonly url: string; readonly child: Target['child'] } | undefined> {
  if (spawnSync(COMMAND, ['--version']).status !== 0) return undefined;
  const port = await freePort();
  const child = keep(
    spawn(COMMAND, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
      stdio: 'ignore',
    }),
  );
  pin(child.pid, 'load');
  endWith(upstream, child);
  const began = performance.now();
  while (child.exitCode === null && performance.now() - began < START_MS) {
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return { url: `redis://127.0.0.1:${port}`, child };
    } catch {
      await sleep(20);
    } finally {
      socket.destroy();
    }
  }
  throw new Error(`${COMMAND} did not start on port ${port}`);
}
