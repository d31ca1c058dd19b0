/** The part of the bench that compares this gateway with that of another checkout. */
import type { Load } from '../load.js';
import { end, startGateway, type Target } from '../processes.js';
import { contestTable, type Part } from '../report.js';
import { type Contest, checkEqual, entry, runRounds } from '../rounds.js';
import * as workloads from '../workloads.js';

export const against: Part = async (bench) => {
  const root = process.env.BENCH_AGAINST;
  if (!root) throw new Error('Expected the folder of another checkout, built, as BENCH_AGAINST');
  const gateways = new Map<number, readonly [own: Target, other: Target]>();
  for (const listed of [workloads.SMALL, workloads.LARGE]) {
    const own = await startGateway(bench.upstream, { listed });
    gateways.set(listed, [own, await startGateway(bench.upstream, { listed, root })]);
  }
  const contests: Contest[] = [];
  /** Adds a contest in which both gateways run equally often. @param load returns the requests of the nth entry */
  function add(label: string, listed: number, load: (nth: number) => Load): void {
    const [own, other] = gateways.get(listed) ?? [];
    if (!own || !other) throw new Error(`Expected gateways with ${listed} tokens`);
    contests.push({
      label,
      entries: [
        entry('this', own, load(0)),
        entry('other', other, load(1)),
        entry('other, again', other, load(2), 'other'),
        entry('this, again', own, load(3), 'this'),
      ],
    });
  }
  for (const { name, listed, ...load } of workloads.repeated) {
    const [own, other] = gateways.get(listed) ?? [];
    if (own && other) await checkEqual(load.bodies, own, other);
    add(name, listed, () => load);
  }
  const { bodies, connections } = workloads.ofChain;
  const documents = [0, 1, 2, 3].map(() => workloads.asNewDocuments(bodies));
  add('new document', workloads.SMALL, (nth) => ({ connections, next: documents[nth] ?? (() => '') }));
  const { lookUps, searchMix, withNewVariables } = workloads;
  for (const kind of [...lookUps, searchMix, withNewVariables(workloads.ofChain)]) {
    add(`${kind.name}, new variables`, workloads.LARGE, (nth) => ({ connections, next: kind.series(nth) }));
  }
  await runRounds(contests, bench);
  await end(...[...gateways.values()].flat());
  return {
    title: 'Two checkouts',
    text: `${contestTable(contests)}\n\nThe last columns: how many times as good as the other this checkout is; for "again", the same checkout as itself.`,
    goals: [],
  };
};
