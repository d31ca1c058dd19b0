import { checkEqual } from '../answers.js';
import { ask } from '../load.js';
import { byKey, entities, LISTED, type NewQuestions, oneToken } from '../new-variables.js';
import { end } from '../processes.js';
import { contestTable, cpuGoals, type Goal, type MostCpu, type Part } from '../report.js';
import { type Contest, entry, runRounds } from '../rounds.js';
import { startGateway, startPeer } from '../targets.js';
import { q2, q3x10k, q4, type Workload, withNewVariables } from '../workloads.js';

const MOST: Readonly<Record<string, MostCpu>> = {
  one: { server: 'hand-written', times: 1.4 },
  'by key': { server: 'hand-written', times: 1.4 },
  entities: { server: 'hand-written', times: 1.4 },
  Q2: { server: 'Mercurius', times: 0.5 },
  Q4: { server: 'Mercurius', times: 0.5 },
  'Q3 x10k': { server: 'Mercurius', times: 0.6 },
};
const CHECKED = 8;
const CHECKED_SERIES = 9;
const MEASURED_SERIES = 1;
/** The most refreshes of listings during these measurements. */
const MOST_REFRESHES = 40;

/** Measures known documents with variables that were never sent before. */
export const misses: Part = async ({ upstream, seconds }) => {
  const options = { listed: LISTED };
  const gateway = await startGateway(upstream, options);
  const byHand = await startPeer('hand-written', upstream, options, 'hand-written');
  const mercurius = await startPeer('Mercurius', upstream, options, 'mercurius', 'memory');
  const kinds: readonly NewQuestions[] = [oneToken, byKey, entities, ...[q2, q4, q3x10k].map(besideUnlisted)];
  const contests: Contest[] = [];
  for (const kind of kinds) {
    const rival = MOST[kind.name]?.server === byHand.name ? byHand : mercurius;
    const next = kind.series(CHECKED_SERIES);
    for (let nth = 0; nth < CHECKED; nth++) {
      const body = next();
      await checkEqual([[body, await ask(gateway.url, body)]], [rival]);
    }
    contests.push({
      label: kind.name,
      entries: [gateway, rival].map((target) =>
        entry(target.name, target, {
          connections: kind.connections,
          next: kind.series(MEASURED_SERIES),
        }),
      ),
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(gateway, byHand, mercurius);

  return {
    title: 'Known documents, new variables, 10,000 tokens',
    text: `${contestTable(contests)}

${kinds.map(({ name, about }) => `${name}: ${about}.`).join('\n')}
hand-written: a handler on node:http that parses the request, finds the rows in Maps and sends an object as JSON.
Mercurius: with its JIT and all rows in memory.`,
    goals: [...cpuGoals('new variables', contests, MOST), askedGoal(contests)],
  };
};

/** The requests of a workload. Each request also asks for a chain that is not listed, another chain each time. */
function besideUnlisted(workload: Workload): NewQuestions {
  const { name, about, connections } = workload;
  return {
    name,
    about: `${about}; beside the rows a chain that is not listed, another each time`,
    connections,
    series: () => withNewVariables(workload),
  };
}

function askedGoal(contests: readonly Contest[]): Goal {
  const asked = contests
    .flatMap(({ entries }) => entries[0]?.samples ?? [])
    .reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0);
  return {
    goal: 'new variables: no upstream request but for refreshes',
    measured: `${asked} in all of these lines together`,
    isMet: asked <= MOST_REFRESHES,
  };
}
