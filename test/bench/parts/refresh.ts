import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { listingsOf } from '../listings.js';
import { ask } from '../load.js';
import { type LoopWatch, watchLoop } from '../loop.js';
import { end } from '../processes.js';
import { NO_REDIS, startRedis } from '../redis.js';
import { type Goal, shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { startGateway, type Target } from '../targets.js';
import { inNewWords, lookUpsIn, q2, searchFor } from '../workloads.js';
import type { Part } from './bench.js';

interface Size {
  readonly listed: number;
  readonly refreshes: number;
  readonly goalMs: number;
}

const SIZES: readonly Size[] = [
  { listed: 10_000, refreshes: 6, goalMs: 30 },
  { listed: 100_000, refreshes: 4, goalMs: 60 },
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
 * For how long a refresh blocks the event loop where the listing is stored on disk and in Redis, when nothing is asked,
 * when the new rows are searched, and when they are listed, too.
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
  for (const [name, questions] of questionsTo(still, listed)) {
    await during(questions, () => watchLoop(upstream, still, none));
    add(`no refresh, ${name}`, await during(questions, () => watchLoop(upstream, still, none)));
  }
  await end(still);

  const moving = await start({ TOKENS_FRESH_MS: String(FRESH_MS) }, true);
  const until = { refreshes, ms: WATCH_MS };
  // So that V8 has optimised the code that is measured.
  const warmUp = { refreshes: 2, ms: WATCH_MS };
  tell(`Refresh of ${listed} tokens: nothing asked`);
  await watchLoop(upstream, moving, warmUp);
  add('nothing asked', await watchLoop(upstream, moving, until));
  for (const [name, questions] of questionsTo(moving, listed)) {
    tell(`Refresh of ${listed} tokens: ${name}`);
    await during(questions, () => watchLoop(upstream, moving, warmUp));
    add(name, await during(questions, () => watchLoop(upstream, moving, until)));
  }
  await end(moving);
  return rows;
}

type Questions = readonly (() => Promise<unknown>)[];

const SEARCHES = 'look-ups and searches';

/** Questions that are new each time. */
function questionsTo({ url }: Target, listed: number): readonly [name: string, questions: Questions][] {
  const nextLookUp = inNewWords(lookUpsIn(listed, LOOK_UPS));
  const nextQ2 = inNewWords(q2);
  let asked = 0;
  const searches = [
    () => ask(url, nextLookUp()),
    // It matches every token.
    () => ask(url, searchFor('tok', asked++ / 1e6)),
  ];
  const lists = [() => ask(url, q2.bodies[0] ?? ''), () => ask(url, nextQ2())];
  return [
    [SEARCHES, searches],
    [`these, and lists of ${countOfQ2(listed)} rows`, [...searches, ...lists]],
  ];
}

/** How many rows the answer to Q2 has. */
function countOfQ2(listed: number): number {
  return listingsOf(listed).tokens.filter(({ chainKey }) => chainKey === 'ethereum').length;
}

function goalOf({ size, name, watched }: Row, isShared: boolean): readonly Goal[] {
  const { listed, goalMs } = size;
  const { blockedMs, ownMs } = watched;
  // A list of thousands of rows blocks for as long as it takes to write it, with a refresh or without.
  if (name !== SEARCHES && name !== 'nothing asked') return [];
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
