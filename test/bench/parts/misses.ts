import { checkEqual } from '../answers.js';
import { ask } from '../load.js';
import { end } from '../processes.js';
import { contestTable, type Goal, shown } from '../report.js';
import { type Contest, cpuRatio, entry, runRounds } from '../rounds.js';
import { startGateway, startPeer } from '../targets.js';
import { inNewWords, q1, q2, q3, q4, withNewVariables } from '../workloads.js';
import type { Part } from './bench.js';

const OF_YOGA = 3;
const LISTED = 1000;
const CHECKED = 5;
/** As often as listings may come due while these are asked. */
const REFRESHES = 8;

/** Questions that were never asked before. */
export const misses: Part = async ({ upstream, seconds }) => {
  const options = { listed: LISTED };
  const gateway = await startGateway(upstream, options);
  const others = [
    await startPeer('Yoga in memory', upstream, options, 'yoga', 'memory'),
    await startPeer('plain Yoga', upstream, options, 'yoga', 'upstream'),
    await startPeer('Mercurius, cached', upstream, options, 'mercurius'),
  ];
  const kinds = [
    ...[q1, q2, q3, q4].map((workload) => ({
      label: `${workload.name}, new document`,
      connections: workload.connections,
      next: inNewWords(workload),
    })),
    ...[q2, q3, q4].map((workload) => ({
      label: `${workload.name}, new variables`,
      connections: workload.connections,
      next: withNewVariables(workload),
    })),
  ];
  const contests: Contest[] = [];
  for (const { label, connections, next } of kinds) {
    const questions = Array.from({ length: CHECKED }, next);
    const answers = await Promise.all(
      questions.map(async (body) => [body, await ask(gateway.url, body)] as const),
    );
    await checkEqual(answers, others);
    contests.push({
      label,
      entries: [gateway, ...others].map((target) => entry(target.name, target, { connections, next })),
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(gateway, ...others);

  return {
    title: 'New questions',
    text: `${contestTable(contests)}

New document: an operation of another name each time. New variables: beside the rows a chain that is not listed, another each time.
Yoga in memory: plain Yoga that reads from memory instead of the upstream.`,
    goals: contests.flatMap(goalsOf),
  };
};

function goalsOf({ label, entries: [gateway, inMemory, plain] }: Contest): readonly Goal[] {
  if (!gateway || !inMemory || !plain) return [];
  const asked = gateway.samples.reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0);
  const ofPlain = cpuRatio(gateway, plain);
  const ofMemory = cpuRatio(gateway, inMemory);
  return [
    {
      goal: `misses, ${label}: ${OF_YOGA} times plain Yoga, by CPU a request, and no upstream request but for refreshes`,
      measured: `${shown(ofPlain, 2)} (upstream requests: ${asked})`,
      isMet: ofPlain >= OF_YOGA && asked <= REFRESHES,
    },
    {
      goal: `misses, ${label}: ${OF_YOGA} times plain Yoga that has all rows in memory, by CPU a request`,
      measured: shown(ofMemory, 2),
      isMet: ofMemory >= OF_YOGA,
    },
  ];
}
