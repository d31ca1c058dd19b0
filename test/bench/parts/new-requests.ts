/** The parts of the bench for requests that were never sent before: new variables, and new documents. */
import { end, startGateway, startServer, type Target } from '../processes.js';
import { contestTable, cpuGoal, type Part } from '../report.js';
import { type Bench, type Contest, checkEqual, entry, runRounds } from '../rounds.js';
import * as workloads from '../workloads.js';

const CHECKED = 8;
const CHECKED_SERIES = 9;
/** The goal: during all measurements of known documents, the upstream gets at most this many requests. */
const MOST_REFRESHES = 40;

async function contestOf(
  { name, connections, series }: workloads.NewVariables,
  gateway: Target,
  rival: Target,
): Promise<Contest> {
  const next = series(CHECKED_SERIES);
  await checkEqual(Array.from({ length: CHECKED }, next), gateway, rival);
  return {
    label: name,
    entries: [gateway, rival].map((target) => entry(target.name, target, { connections, next: series(1) })),
  };
}

async function startAll({ upstream }: Bench, listed: number) {
  return {
    gateway: await startGateway(upstream, { listed }),
    mercurius: await startServer('Mercurius', 'mercurius', upstream, listed),
  };
}

export const misses: Part = async (bench) => {
  const { gateway, mercurius } = await startAll(bench, workloads.LARGE);
  const byHand = await startServer('hand-written', 'hand-written', bench.upstream, workloads.LARGE);
  const contests: Contest[] = [];
  for (const kind of workloads.lookUps) contests.push(await contestOf(kind, gateway, byHand));
  for (const kind of [workloads.ofChain, workloads.longList]) {
    contests.push(await contestOf(workloads.withNewVariables(kind), gateway, mercurius));
  }
  await runRounds(contests, bench);
  await end(gateway, byHand, mercurius);
  const asked = contests
    .flatMap(({ entries }) => entries[0]?.samples ?? [])
    .reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0);
  const most = [1.4, 1.4, 1.4, 0.5, 0.6];
  return {
    title: 'Known documents, new variables, 10,000 tokens',
    text: contestTable(contests),
    goals: [
      ...contests.map((contest, nth) => cpuGoal('new variables', contest, most[nth] ?? 0)),
      {
        goal: 'new variables: at most 40 upstream requests',
        measured: `${asked} in all of these lines together`,
        isMet: asked <= MOST_REFRESHES,
      },
    ],
  };
};

export const documents: Part = async (bench) => {
  const { gateway, mercurius } = await startAll(bench, workloads.SMALL);
  const contests: Contest[] = [];
  for (const { bodies, ...kind } of [workloads.chainNames, workloads.ofChain, workloads.wholeList]) {
    const next = workloads.asNewDocuments(bodies);
    contests.push(await contestOf({ ...kind, series: () => next }, gateway, mercurius));
  }
  await runRounds(contests, bench);
  await end(gateway, mercurius);
  const most = [1, 1, 0.6];
  return {
    title: 'New documents, 2,000 tokens',
    text: contestTable(contests),
    goals: contests.map((contest, nth) => cpuGoal('new documents', contest, most[nth] ?? 0)),
  };
};
