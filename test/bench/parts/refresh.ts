import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../load.js';
import { type LoopWatch, watchLoop } from '../loop.js';
import { end } from '../processes.js';
import { shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { startGateway } from '../targets.js';
import { inNewWords, lookUps, q2, searchFor } from '../workloads.js';
import type { Part } from './bench.js';

const GOAL_MS = 50;
const LISTED = 10_000;
const REFRESHES = 6;
const FRESH_MS = 1000;
const WATCH_MS = 30_000;
const STILL_MS = 5000;
const ASK_EVERY_MS = 100;

/** For how long a refresh blocks the event loop, when nothing is asked and when the new rows are asked for. */
export const refresh: Part = async ({ upstream }) => {
  const still = await startGateway(upstream, {
    listed: LISTED,
    isProbed: true,
    settings: { TOKENS_FRESH_MS: '3600000', CHAINS_FRESH_MS: '3600000' },
  });
  const moving = await startGateway(upstream, {
    listed: LISTED,
    isProbed: true,
    isMoving: true,
    settings: { TOKENS_FRESH_MS: String(FRESH_MS) },
  });
  const until = { refreshes: REFRESHES, ms: WATCH_MS };
  const nextLookUp = inNewWords(lookUps);
  const nextQ2 = inNewWords(q2);
  let cents = 0;
  const askSmall = [
    () => ask(moving.url, nextLookUp()),
    () => ask(moving.url, q2.bodies[0] ?? ''),
    () => ask(moving.url, nextQ2()),
  ];
  const askSearch = () => ask(moving.url, searchFor('tok', cents++ / 1e6));

  const rows: { readonly name: string; readonly watched: LoopWatch }[] = [];
  tell('Refresh: none');
  await watchLoop(upstream, still, { refreshes: 0, ms: 0 });
  rows.push({
    name: 'no refresh, nothing asked',
    watched: await watchLoop(upstream, still, { refreshes: 1, ms: STILL_MS }),
  });
  tell('Refresh: nothing asked');
  await watchLoop(upstream, moving, { refreshes: 3, ms: WATCH_MS });
  rows.push({ name: 'nothing asked', watched: await watchLoop(upstream, moving, until) });
  tell('Refresh: small questions');
  // What the first questions load is no part of a refresh.
  await during(askSmall, () => watchLoop(upstream, moving, { refreshes: 2, ms: WATCH_MS }));
  rows.push({
    name: 'small questions',
    watched: await during(askSmall, () => watchLoop(upstream, moving, until)),
  });
  tell('Refresh: searches');
  rows.push({
    name: 'small questions and searches',
    watched: await during([...askSmall, askSearch], () => watchLoop(upstream, moving, until)),
  });
  tell('');
  await end(still, moving);

  return {
    title: 'Refresh of 10,000 tokens',
    text: `${table(
      ['asked meanwhile', 'refreshes', 'longest block ms', 'median of the longest ms', 'CPU ms a refresh'],
      rows.map(({ name, watched: { refreshes, blockedMs, cpuMs } }) => [
        name,
        shown(refreshes, 0),
        shown(blockedMs[0] ?? 0, 1),
        shown(median(blockedMs), 1),
        shown(cpuMs / refreshes, 0),
      ]),
      1,
    )}

One price is another at each refresh. A timer of one millisecond in the gateway's process tells how late it comes: that long the
event loop was blocked. Of so many refreshes, so many of the longest blocks are taken.`,
    goals: rows.slice(1).map(({ name, watched: { blockedMs } }) => ({
      goal: `a refresh of 10,000 tokens blocks the event loop for less than ${GOAL_MS} ms (${name})`,
      measured: `${shown(median(blockedMs), 1)} ms, at most ${shown(blockedMs[0] ?? 0, 1)} ms`,
      isMet: (blockedMs[0] ?? 0) < GOAL_MS,
    })),
  };
};

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
