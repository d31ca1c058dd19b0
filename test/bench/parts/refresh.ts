/** The part of the bench that measures for how long a refresh blocks the event loop. */
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cpuMicrosOf } from '../../support/processes.js';
import { ask } from '../load.js';
import { end, requestsOf, startGateway, type Target } from '../processes.js';
import { type Part, shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { asNewDocuments, keySetsIn, searchFor } from '../workloads.js';

const SIZES = [
  { listed: 2_000, refreshes: 6, goalMs: 30 },
  { listed: 5_000, refreshes: 6, goalMs: 40 },
  { listed: 10_000, refreshes: 6, goalMs: 30 },
  // No service lists so many tokens, so the gateway need not be fast here.
  { listed: 100_000, refreshes: 2, goalMs: 1000 },
];
const WATCH_MS = 30_000;
const POLL_MS = 100;
const HEAD =
  'tokens, asked meanwhile, refreshes, longest block ms, median of the longest ms, CPU ms a refresh'.split(
    ', ',
  );

/** The listing is stored on disk, and in Redis if REDIS_URL is set. */
export const refresh: Part = async ({ upstream }) => {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'));
  const { REDIS_URL } = process.env;
  const settings = { TOKENS_FRESH_MS: '1000', SNAPSHOT_DIR: folder, ...(REDIS_URL ? { REDIS_URL } : {}) };
  const rows: string[][] = [];
  const goals = [];
  try {
    for (const { listed, refreshes, goalMs } of SIZES) {
      const gateway = await startGateway(upstream, { listed, isProbed: true, isMoving: true, settings });
      for (const [name, meanwhile] of [
        ['nothing asked', async () => {}],
        ['look-ups and searches', requestsTo(gateway, listed)],
      ] as const) {
        tell(`Refresh of ${listed} tokens: ${name}`);
        // After the warm-up V8 has optimised the measured code.
        await watchLoop(upstream, gateway, 2, meanwhile);
        const watched = await watchLoop(upstream, gateway, refreshes, meanwhile);
        const [most = Number.NaN] = watched.blockedMs;
        const middle = shown(median(watched.blockedMs), 1);
        const cpu = shown(watched.cpuMs / watched.refreshes, 0);
        rows.push([shown(listed, 0), name, String(watched.refreshes), shown(most, 1), middle, cpu]);
        goals.push({
          goal: `refresh of ${shown(listed, 0)} tokens, ${name}: blocks for less than ${goalMs} ms`,
          measured: `${shown(most, 1)} ms`,
          isMet: most < goalMs,
        });
      }
      await end(gateway);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return {
    title: 'Refresh',
    text: `${table(HEAD, rows, 2)}

Each refresh is written to disk${REDIS_URL ? ' and to Redis' : ''}, and changes one price.`,
    goals,
  };
};

/** Returns a function that sends a look-up and then a search, both new each time. The search matches every token. */
function requestsTo({ url }: Target, listed: number): () => Promise<void> {
  const nextLookUp = asNewDocuments(keySetsIn(listed, 5));
  let asked = 0;
  return async () => {
    await ask(url, nextLookUp());
    await ask(url, searchFor('tok', asked++ / 1e6));
  };
}

async function watchLoop(upstream: Target, gateway: Target, wanted: number, meanwhile: () => Promise<void>) {
  await blocks(gateway);
  const began = performance.now();
  const cpuBefore = cpuMicrosOf(gateway.child.pid);
  const before = await requestsOf(upstream, gateway, 'tokens');
  let refreshes = 0;
  while (refreshes < wanted && performance.now() - began < WATCH_MS) {
    await meanwhile();
    await sleep(POLL_MS);
    refreshes = (await requestsOf(upstream, gateway, 'tokens')) - before;
  }
  // The upstream counts a refresh when the request for it arrives. Wait until the gateway has finished the last one.
  await sleep(500);
  const blocked = await blocks(gateway);
  return {
    refreshes,
    /** The longest blocks in descending order, as many as there were refreshes. */
    blockedMs: blocked.toSorted((a, b) => b - a).slice(0, Math.max(1, refreshes)),
    cpuMs: (cpuMicrosOf(gateway.child.pid) - cpuBefore) / 1000,
  };
}

/** The lengths of the blocks since the last call, in milliseconds. */
async function blocks({ child }: Target): Promise<readonly number[]> {
  child.send('tell');
  const [came] = (await once(child, 'message')) as [readonly number[]];
  return came;
}
