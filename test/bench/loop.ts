import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicrosOf } from './processes.js';
import { requestsOf, type Target } from './targets.js';

/** A time in which an event loop did not turn. */
export interface Block {
  readonly ms: number;
  /** As much of it at most as the process ran itself; in the rest others had its core. */
  readonly ownMs: number;
}

/** What happened to a gateway's event loop in some time. */
export interface LoopWatch {
  readonly refreshes: number;
  /** The longest blocks, as many as there were refreshes, the longest first. */
  readonly blockedMs: readonly number[];
  /** The same of what the process itself needed of each block. */
  readonly ownMs: readonly number[];
  readonly cpuMs: number;
  readonly ms: number;
}

const POLL_MS = 100;

/** Watches a probed gateway until so many refreshes have ended, or time is up. */
export async function watchLoop(
  upstream: Target,
  gateway: Target,
  until: { readonly refreshes: number; readonly ms: number },
): Promise<LoopWatch> {
  await blocks(gateway);
  const began = performance.now();
  const cpuBefore = cpuMicrosOf(gateway.child.pid);
  const before = await requestsOf(upstream, gateway, 'tokens');
  let refreshes = 0;
  while (refreshes < until.refreshes && performance.now() - began < until.ms) {
    await sleep(POLL_MS);
    refreshes = (await requestsOf(upstream, gateway, 'tokens')) - before;
  }
  // The upstream has counted the last one when it was asked.
  await sleep(until.refreshes > 0 ? 500 : 0);
  const ms = performance.now() - began;
  const blocked = await blocks(gateway);
  const longest = (times: readonly number[]) =>
    times.toSorted((a, b) => b - a).slice(0, Math.max(1, refreshes));
  return {
    refreshes,
    blockedMs: longest(blocked.map((block) => block.ms)),
    ownMs: longest(blocked.map((block) => block.ownMs)),
    cpuMs: (cpuMicrosOf(gateway.child.pid) - cpuBefore) / 1000,
    ms,
  };
}

async function blocks({ child }: Target): Promise<readonly Block[]> {
  child.send('tell');
  const [came] = (await once(child, 'message')) as [readonly Block[]];
  return came;
}
