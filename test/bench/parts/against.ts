import { rightAnswers } from '../answers.js';
import { byKey, entities as entityQuestions, LISTED, oneToken, searchMix } from '../new-variables.js';
import { end } from '../processes.js';
import { contestTable, type Part } from '../report.js';
import { type Contest, entry, runRounds } from '../rounds.js';
import { startGateway, type Target } from '../targets.js';
import { common, inNewWords, lookUps, q2, q4, type Workload, withNewVariables } from '../workloads.js';

/** Compares the gateway of this checkout with the gateway of another built checkout: `BENCH_AGAINST=<its folder>`. */
export const against: Part = async ({ upstream, seconds }) => {
  const root = process.env.BENCH_AGAINST;
  if (!root) throw new Error('Expected the folder of another checkout, built, as BENCH_AGAINST');
  const gateways = new Map<number, readonly [Target, Target]>();
  for (const listed of new Set([...common, lookUps].map((workload) => workload.listed))) {
    gateways.set(listed, [
      await startGateway(upstream, { listed }),
      await startGateway(upstream, { listed, root }),
    ]);
  }
  const entries = async (workload: Workload, loads: (nth: number) => object) => {
    const [own, other] = gateways.get(workload.listed) ?? [];
    if (!own || !other) throw new Error(`Expected gateways with ${workload.listed} tokens`);
    for (const gateway of [own, other]) await rightAnswers(gateway, workload);
    const load = (nth: number) => ({ connections: workload.connections, ...loads(nth) });
    return [
      entry('this', own, load(0)),
      entry('other', other, load(1)),
      entry('other, again', other, load(2), 'other'),
    ];
  };
  const contests: Contest[] = [];
  for (const workload of [...common, lookUps]) {
    const { name, bodies } = workload;
    contests.push({ label: name, entries: await entries(workload, () => ({ bodies })) });
  }
  for (const workload of [q2, q4]) {
    const nexts = [0, 1, 2].map(() => inNewWords(workload));
    contests.push({
      label: `${workload.name}, new document`,
      entries: await entries(workload, (nth) => ({ next: nexts[nth] })),
    });
    const variables = [0, 1, 2].map(() => withNewVariables(workload));
    contests.push({
      label: `${workload.name}, new variables`,
      entries: await entries(workload, (nth) => ({ next: variables[nth] })),
    });
  }
  const tenThousand = { ...lookUps, listed: LISTED };
  for (const questions of [oneToken, byKey, entityQuestions, searchMix]) {
    contests.push({
      label: `${questions.name}, new variables`,
      entries: await entries(tenThousand, (nth) => ({ next: questions.series(nth) })),
    });
  }
  await runRounds(contests, { upstream, seconds });
  await end(...[...gateways.values()].flat());
  return {
    title: 'Two checkouts',
    text: `${contestTable(contests)}\n\nThe last columns: how many times as good as the other this checkout is; for "again", the other as itself.`,
    goals: [],
  };
};
