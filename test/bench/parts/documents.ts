import { checkEqual } from '../answers.js';
import { ask } from '../load.js';
import { end } from '../processes.js';
import { contestTable, cpuGoals, type MostCpu, type Part } from '../report.js';
import { type Contest, entry, runRounds } from '../rounds.js';
import { startGateway, startPeer } from '../targets.js';
import { inNewWords, q1, q2, q3, q4 } from '../workloads.js';

const ONE = { server: 'Mercurius', times: 1 };
const MOST: Readonly<Record<string, MostCpu>> = { Q1: ONE, Q2: ONE, Q3: { ...ONE, times: 0.6 }, Q4: ONE };
const LISTED = 2000;
const CHECKED = 5;

/** Measures documents that were never sent before. */
export const documents: Part = async ({ upstream, seconds }) => {
  const options = { listed: LISTED };
  const gateway = await startGateway(upstream, options);
  const mercurius = await startPeer('Mercurius', upstream, options, 'mercurius', 'memory');
  const contests: Contest[] = [];
  for (const workload of [q1, q2, q3, q4]) {
    const { name, connections } = workload;
    const next = inNewWords(workload);
    for (let nth = 0; nth < CHECKED; nth++) {
      const body = next();
      await checkEqual([[body, await ask(gateway.url, body)]], [mercurius]);
    }
    contests.push({
      label: name,
      entries: [gateway, mercurius].map((target) => entry(target.name, target, { connections, next })),
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(gateway, mercurius);

  return {
    title: 'New documents, 2,000 tokens',
    text: `${contestTable(contests)}

Each request is an operation of another name. Mercurius: with its JIT and all rows in memory.`,
    goals: cpuGoals('new documents', contests, MOST),
  };
};
