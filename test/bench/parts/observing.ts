import { rightAnswers } from '../answers.js';
import { end } from '../processes.js';
import { contestTable, type Goal, shown } from '../report.js';
import { type Contest, cpuRatio, entry, runRounds } from '../rounds.js';
import { startGateway, type Target } from '../targets.js';
import { q1, q2 } from '../workloads.js';
import type { Part } from './bench.js';

/** How many times as much a hit may cost with everything on by default. */
const ALLOWED = 1.05;
const WORKLOADS = [q1, q2];
/** The log lines of all requests, which the bench reads, and metrics; without an SDK there are no traces. */
const DEFAULTS = { LOG_LEVEL: 'info' };
const NO_LINES = { LOG_LEVEL: 'info', LOG_REQUESTS: 'none' };

/**
 * What log lines cost a hit. Metrics cannot be switched off: with `BENCH_AGAINST`, a checkout from before there were
 * any shows what they cost.
 */
export const observing: Part = async ({ upstream, seconds }) => {
  const { listed } = q1;
  const root = process.env.BENCH_AGAINST;
  const start = (settings: Readonly<Record<string, string>>) => startGateway(upstream, { listed, settings });
  const [defaults, noLines] = [await start(DEFAULTS), await start(NO_LINES)];
  const others: readonly (readonly [name: string, Target])[] =
    root === undefined
      ? []
      : [
          ['other, defaults', await startGateway(upstream, { listed, root, settings: DEFAULTS })],
          [
            'other, no lines',
            await startGateway(upstream, { listed, root, settings: { LOG_LEVEL: 'warn' } }),
          ],
        ];
  const all = [defaults, noLines, ...others.map(([, gateway]) => gateway)];
  const contests: Contest[] = [];
  for (const workload of WORKLOADS) {
    for (const gateway of all) await rightAnswers(gateway, workload);
    contests.push({
      label: workload.name,
      entries: [
        entry('defaults', defaults, workload),
        entry('no lines', noLines, workload),
        entry('no lines, again', noLines, workload, 'no lines'),
        ...others.map(([name, gateway]) => entry(name, gateway, workload)),
      ],
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(...all);
  return {
    title: 'Observing',
    text: `${contestTable(contests)}

"no lines": LOG_REQUESTS=none, and LOG_LEVEL=warn in the other checkout. The last columns: how many times as good as this one the gateway with its defaults is; for "again", that one as itself.`,
    goals: contests.flatMap(goalsOf),
  };
};

function goalsOf({ label, entries: [defaults, ...others] }: Contest): readonly Goal[] {
  if (!defaults) return [];
  return others
    .filter(({ against }) => against === undefined)
    .map((other) => {
      const times = cpuRatio(other, defaults);
      return {
        goal: `hits on ${label} with all defaults: at most ${ALLOWED} of the CPU of "${other.name}"`,
        measured: shown(times, 2),
        isMet: times <= ALLOWED,
      };
    });
}
