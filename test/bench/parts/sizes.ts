import { ask } from '../load.js';
import { watchLoop } from '../loop.js';
import { end, megabytesOf } from '../processes.js';
import { shown, table } from '../report.js';
import { type Contest, entry, middle, runRounds, tell } from '../rounds.js';
import { startGateway, type Target } from '../targets.js';
import { inNewWords, lookUpsIn, q1, searchFor } from '../workloads.js';
import type { Part } from './bench.js';

const SIZES = [100, 1000, 10_000, 100_000];
const REFRESHES = 3;
const FRESH_MS = 1000;
const WATCH_MS = 20_000;

interface Column {
  readonly questions: readonly string[];
  readonly megabytes: string;
  readonly refresh: RefreshCost;
}

interface RefreshCost {
  readonly cpuMs: number;
  readonly blockedMs: number;
  readonly firstSearchMs: number;
}

/** What a question and a refresh cost, by how many tokens are listed. */
export const sizes: Part = async ({ upstream, seconds }) => {
  const gateways: { readonly listed: number; readonly gateway: Target }[] = [];
  for (const listed of SIZES) {
    tell(`Start with ${listed} tokens`);
    gateways.push({ listed, gateway: await startGateway(upstream, { listed }) });
  }
  const { connections } = q1;
  let asked = 0;
  const contestOf = (label: string, nextFor: (listed: number) => () => string): Contest => ({
    label,
    entries: gateways.map(({ listed, gateway }) =>
      entry(`${listed} tokens`, gateway, { connections, next: nextFor(listed) }),
    ),
  });
  const contests = [
    contestOf('hit', (listed) => {
      const [body = ''] = lookUpsIn(listed, 1).bodies;
      return () => body;
    }),
    contestOf('miss', (listed) => inNewWords(lookUpsIn(listed, 5))),
    contestOf('search', () => () => searchFor(`tok${asked % 100}`, asked++ / 1e9)),
  ];
  await runRounds(contests, { upstream, seconds });
  const columns: Column[] = [];
  for (const [nth, { listed, gateway }] of gateways.entries()) {
    columns.push({
      questions: contests.map(({ entries }) => {
        const found = entries[nth];
        return shown(found ? middle(found, 'cpuMicros') : Number.NaN);
      }),
      megabytes: shown(megabytesOf(gateway.child.pid).most, 0),
      refresh: await refreshCost(listed),
    });
  }
  await end(...gateways.map(({ gateway }) => gateway));
  tell('');

  async function refreshCost(listed: number): Promise<RefreshCost> {
    tell(`Refresh of ${listed} tokens`);
    const gateway = await startGateway(upstream, {
      listed,
      isProbed: true,
      isMoving: true,
      settings: { TOKENS_FRESH_MS: String(FRESH_MS) },
    });
    // So that V8 has optimised what is measured.
    await watchLoop(upstream, gateway, { refreshes: 2, ms: WATCH_MS });
    const alone = await watchLoop(upstream, gateway, { refreshes: REFRESHES, ms: WATCH_MS });
    await watchLoop(upstream, gateway, { refreshes: 1, ms: WATCH_MS });
    const began = performance.now();
    await ask(gateway.url, searchFor('tok', 0));
    const firstSearchMs = performance.now() - began;
    await end(gateway);
    return { cpuMs: alone.cpuMs / alone.refreshes, blockedMs: alone.blockedMs[0] ?? 0, firstSearchMs };
  }

  const line = (name: string, cell: (column: Column) => string) => [name, ...columns.map(cell)];
  return {
    title: 'Cost by the number of tokens',
    text: `${table(
      ['', ...SIZES.map((size) => `${shown(size, 0)} tokens`)],
      [
        ...['hit', 'miss', 'search'].map((name, nth) =>
          line(`${name}, CPU µs`, ({ questions }) => questions[nth] ?? ''),
        ),
        line('refresh, CPU ms', ({ refresh }) => shown(refresh.cpuMs, 0)),
        line('refresh, longest block ms', ({ refresh }) => shown(refresh.blockedMs, 1)),
        line('first search after it, ms', ({ refresh }) => shown(refresh.firstSearchMs, 1)),
        line('the most MB, under these', ({ megabytes }) => megabytes),
      ],
      1,
    )}

Hit: 20 rows by their keys. Miss: the same by a document that was never sent before. Search: never asked before, 20 rows given.
All with the default settings; these let no more than 100,000 rows into one answer (MAX_ROWS).`,
    goals: [],
  };
};
