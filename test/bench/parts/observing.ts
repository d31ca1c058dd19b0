import { rightAnswers } from '../answers.js';
import { end } from '../processes.js';
import { contestTable, type Goal, shown } from '../report.js';
import { type Contest, cpuRatio, entry, runRounds } from '../rounds.js';
import { startGateway } from '../targets.js';
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
  const [defaults, noLines, other] = [
    await start(DEFAULTS),
    await start(NO_LINES),
    root === undefined
      ? undefined
      : await startGateway(upstream, { listed, root, settings: { LOG_LEVEL: 'warn' } }),
  ];
  const contests: Contest[] = [];
  for (const workload of WORKLOADS) {
    for (const gateway of [defaults, noLines, ...(other ? [other] : [])])
      await rightAnswers(gateway, workload);
    contests.push({
      label: workload.name,
      entries: [
        entry('defaults', defaults, workload),
        entry('LOG_REQUESTS=none', noLines, workload),
        entry('LOG_REQUESTS=none, again', noLines, workload, 'LOG_REQUESTS=none'),
        ...(other ? [entry('other checkout, LOG_LEVEL=warn', other, workload)] : []),
      ],
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(defaults, noLines, ...(other ? [other] : []));
  return {
    title: 'Observing',
    text: `${contestTable(contests)}

The last columns: how many times as good as this one the gateway with its defaults is; for "again", that one as itself.`,
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
