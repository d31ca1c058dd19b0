import { checkEqual, rightAnswers, teach } from '../answers.js';
import { end } from '../processes.js';
import { contestTable, type Goal, type Part, shown } from '../report.js';
import { type Contest, cpuRatio, entry, runRounds } from '../rounds.js';
import { startGateway, startPeer, startServer } from '../targets.js';
import { common, lookUps, q2, type Workload } from '../workloads.js';

const OF_BARE = 0.9;
const OF_MERCURIUS = 10;
const SIZES = [2000, 10_000];

/** Measures questions that are repeated again and again. */
export const hits: Part = async ({ upstream, seconds }) => {
  const servers = await Promise.all(
    SIZES.map(async (listed) => ({
      listed,
      gateway: await startGateway(upstream, { listed }),
      mercurius: await startPeer('Mercurius, cached', upstream, { listed }, 'mercurius', 'upstream'),
    })),
  );
  const bare = await startServer('bare', 'bare');
  const serversFor = ({ listed }: Workload) => {
    const found = servers.find((of) => of.listed === listed);
    if (!found) throw new Error(`Expected servers with ${listed} tokens`);
    return found;
  };

  const contests: Contest[] = [];
  // The bare server has only one answer for each request text, but the answer to Q3 depends on the length of the listing.
  for (const workload of [...common, lookUps]) {
    const { gateway, mercurius } = serversFor(workload);
    const isCommon = common.includes(workload);
    const asked = workload.name === 'Q3 x10k' ? renamed(workload) : workload;
    const answers = await rightAnswers(gateway, asked);
    await checkEqual(answers, isCommon ? [mercurius] : []);
    await teach(bare, gateway, answers);
    contests.push({
      label: workload.name,
      entries: [
        entry('gateway', gateway, asked),
        entry('bare', bare, asked),
        entry('bare, again', bare, asked, 'bare'),
        ...(isCommon ? [entry(mercurius.name, mercurius, asked)] : []),
      ],
    });
  }
  await runRounds(contests, { upstream, seconds });
  for (const workload of [...common, lookUps]) await rightAnswers(serversFor(workload).gateway, workload);
  await end(bare, ...servers.flatMap(({ gateway, mercurius }) => [gateway, mercurius]));

  return {
    title: 'Repeated questions',
    text: `${contestTable(contests)}

The last columns: how many times as good as this server the gateway is; for "bare, again", the bare server as itself.
${[...common, lookUps].map(({ name, about }) => `${name}: ${about}.`).join('\n')}`,
    goals: contests.flatMap((contest) => goalsOf(contest)),
  };
};

function renamed(workload: Workload): Workload {
  return { ...workload, bodies: workload.bodies.map((body) => body.replaceAll('Q3', 'Q3x10k')) };
}

function goalsOf({ label, entries: [gateway, bare, control, mercurius] }: Contest): readonly Goal[] {
  if (!gateway || !bare || !control) return [];
  const ofBare = cpuRatio(gateway, bare);
  const goals: Goal[] = [
    {
      goal: `hits on ${label}: ${OF_BARE} or more of the bare server, by CPU a request`,
      measured: `${shown(ofBare, 2)} (the bare server of itself: ${shown(cpuRatio(bare, control), 2)})`,
      isMet: ofBare >= OF_BARE,
    },
  ];
  if (label === q2.name && mercurius) {
    const ofMercurius = cpuRatio(gateway, mercurius);
    goals.push({
      goal: `hits on ${label}: ${OF_MERCURIUS} times Mercurius with its cache, by CPU a request`,
      measured: shown(ofMercurius, 1),
      isMet: ofMercurius >= OF_MERCURIUS,
    });
  }
  return goals;
}
