import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../support/free-port.js';
import { cpuMicrosOf } from '../../support/process-facts.js';
import { ask } from '../load.js';
import { end, keep, pin } from '../processes.js';
import { type Goal, type Part, shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { endWith, requestsOf, startGateway, type Target } from '../targets.js';
import { inNewWords, lookUpsIn, searchFor } from '../workloads.js';

interface Size {
  readonly listed: number;
  readonly refreshes: number;
  readonly goalMs: number;
}

const SIZES: readonly Size[] = [
  { listed: 2_000, refreshes: 6, goalMs: 30 },
  { listed: 5_000, refreshes: 6, goalMs: 40 },
  { listed: 10_000, refreshes: 6, goalMs: 30 },
  // More tokens than any service lists. The gateway need not be fast with them.
  { listed: 100_000, refreshes: 2, goalMs: 1000 },
];
const FRESH_MS = 1000;
const WATCH_MS = 30_000;
const STILL_MS = 4000;
const ASK_EVERY_MS = 100;
const LOOK_UPS = 5;
const SETTLED = { TOKENS_FRESH_MS: '3600000', CHAINS_FRESH_MS: '3600000' };

interface Row {
  readonly size: Size;
  readonly name: string;
  readonly watched: LoopWatch;
}

/**
 * Measures for how long a refresh blocks the event loop, without requests and with searches of the new rows. The listing
 * is stored on disk and in Redis.
 */
export const refresh: Part = async ({ upstream }) => {
  const redis = await startRedis(upstream);
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const stored = { SNAPSHOT_DIR: folder, ...(redis ? { REDIS_URL: redis.url } : {}) };
  const rows: Row[] = [];
  try {
    for (const size of SIZES) rows.push(...(await rowsOf(size, upstream, stored)));
  } finally {
    if (redis) await end(redis);
    rmSync(folder, { recursive: true, force: true });
  }
  tell('');
  return {
    title: 'Refresh',
    text: `${table(
      [
        'tokens',
        'asked meanwhile',
        'refreshes',
        'longest block ms',
        'median of the longest ms',
        'longest by own CPU ms',
        'CPU ms a refresh',
      ],
      rows.map(({ size, name, watched: { refreshes, blockedMs, ownMs, cpuMs } }) => [
        shown(size.listed, 0),
        name,
        shown(refreshes, 0),
        shown(blockedMs[0] ?? 0, 1),
        shown(median(blockedMs), 1),
        shown(ownMs[0] ?? 0, 1),
        shown(cpuMs / refreshes, 0),
      ]),
      2,
    )}

Each refresh is written to disk${redis ? ' and to Redis' : ''}. ${redis ? '' : `${NO_REDIS} `}One price is another each time. A timer of one millisecond in the
gateway's process tells how late it comes: that long the event loop was blocked. Of so many refreshes, so many of the longest blocks are taken.
By own CPU: at most so much of a block can be the gateway's; in the rest of it other processes had its core.`,
    goals: rows.flatMap((row) => goalOf(row, redis !== undefined)),
  };
};

/** Measures a gateway that never refreshes and one that always does. */
async function rowsOf(
  size: Size,
  upstream: Target,
  stored: Readonly<Record<string, string>>,
): Promise<Row[]> {
  const { listed, refreshes } = size;
  tell(`Refresh of ${listed} tokens: start`);
  const start = (settings: Readonly<Record<string, string>>, isMoving: boolean) =>
    startGateway(upstream, { listed, isProbed: true, isMoving, settings: { ...stored, ...settings } });
  const rows: Row[] = [];
  const add = (name: string, watched: LoopWatch) => rows.push({ size, name, watched });

  const still = await start(SETTLED, false);
  const none = { refreshes: 1, ms: STILL_MS };
  add('no refresh, nothing asked', await watchLoop(upstream, still, none));
  const toStill = questionsTo(still, listed);
  await during(toStill, () => watchLoop(upstream, still, none));
  add(`no refresh, ${SEARCHES}`, await during(toStill, () => watchLoop(upstream, still, none)));
  await end(still);

  const moving = await start({ TOKENS_FRESH_MS: String(FRESH_MS) }, true);
  const until = { refreshes, ms: WATCH_MS };
  // After the warm-up V8 has optimised the measured code.
  const warmUp = { refreshes: 2, ms: WATCH_MS };
  tell(`Refresh of ${listed} tokens: nothing asked`);
  await watchLoop(upstream, moving, warmUp);
  add('nothing asked', await watchLoop(upstream, moving, until));
  tell(`Refresh of ${listed} tokens: ${SEARCHES}`);
  const toMoving = questionsTo(moving, listed);
  await during(toMoving, () => watchLoop(upstream, moving, warmUp));
  add(SEARCHES, await during(toMoving, () => watchLoop(upstream, moving, until)));
  await end(moving);
  return rows;
}

const SEARCHES = 'look-ups and searches';

/** Questions that are new each time. */
function questionsTo({ url }: Target, listed: number): readonly (() => Promise<unknown>)[] {
  const nextLookUp = inNewWords(lookUpsIn(listed, LOOK_UPS));
  let asked = 0;
  // The search matches every token.
  return [() => ask(url, nextLookUp()), () => ask(url, searchFor('tok', asked++ / 1e6))];
}

function goalOf({ size, name, watched }: Row, isShared: boolean): readonly Goal[] {
  const { listed, goalMs } = size;
  const { blockedMs, ownMs } = watched;
  if (name.startsWith('no refresh')) return [];
  const most = blockedMs[0] ?? Number.NaN;
  return [
    {
      goal: `a refresh of ${shown(listed, 0)} tokens, ${isShared ? 'with disk and Redis' : 'with disk'}, blocks for less than ${goalMs} ms (${name})`,
      measured: `${shown(median(blockedMs), 1)} ms, at most ${shown(most, 1)} ms (by its own CPU at most ${shown(ownMs[0] ?? 0, 1)} ms)`,
      isMet: most < goalMs,
    },
  ];
}

async function during<Result>(
  asking: readonly (() => Promise<unknown>)[],
  act: () => Promise<Result>,
): Promise<Result> {
  let isOver = false;
  const asked = (async () => {
    for (let nth = 0; !isOver; nth++) {
      await asking[nth % asking.length]?.();
      await sleep(ASK_EVERY_MS);
    }
  })();
  const result = await act();
  isOver = true;
  await asked;
  return result;
}

/** A time in which an event loop was blocked. */
export interface Block {
  readonly ms: number;
  /** The CPU time of the process during the block. For the rest of the block other processes used the core. */
  readonly ownMs: number;
}

/** The blocks of a gateway's event loop in some time. */
interface LoopWatch {
  readonly refreshes: number;
  /** The longest blocks, as many as there were refreshes, the longest first. */
  readonly blockedMs: readonly number[];
  /** The largest CPU times of the process in blocks, as many as there were refreshes, the largest first. */
  readonly ownMs: readonly number[];
  readonly cpuMs: number;
}

const POLL_MS = 100;

/** Watches a probed gateway until this many refreshes have ended, or until the time limit. */
async function watchLoop(
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
  // The upstream counts a refresh at its request, so wait until the gateway has finished the last one.
  await sleep(500);
  const blocked = await blocks(gateway);
  const longest = (times: readonly number[]) =>
    times.toSorted((a, b) => b - a).slice(0, Math.max(1, refreshes));
  return {
    refreshes,
    blockedMs: longest(blocked.map((block) => block.ms)),
    ownMs: longest(blocked.map((block) => block.ownMs)),
    cpuMs: (cpuMicrosOf(gateway.child.pid) - cpuBefore) / 1000,
  };
}

async function blocks({ child }: Target): Promise<readonly Block[]> {
  child.send('tell');
  const [came] = (await once(child, 'message')) as [readonly Block[]];
  return came;
}

const REDIS = 'redis-server';
const REDIS_START_MS = 10_000;

/** The note if Redis is not installed. */
const NO_REDIS = `${REDIS} is not installed, so that nothing was shared through Redis.`;

/** Starts a Redis on a free loopback port, without files on disk. Undefined if it is not installed. */
async function startRedis(
  upstream: Target,
): Promise<{ readonly url: string; readonly child: Target['child'] } | undefined> {
  if (spawnSync(REDIS, ['--version']).status !== 0) return undefined;
  const port = await freePort();
  const child = keep(
    spawn(REDIS, ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'], {
      stdio: 'ignore',
    }),
  );
  pin(child.pid, 'load');
  endWith(upstream, child);
  const began = performance.now();
  while (child.exitCode === null && performance.now() - began < REDIS_START_MS) {
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
  throw new Error(`${REDIS} did not start on port ${port}`);
}
