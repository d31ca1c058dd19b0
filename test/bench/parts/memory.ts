import { megabytesOf } from '../../support/process-facts.js';
import { type Load, runLoad } from '../load.js';
import { end, startGateway } from '../processes.js';
import { type Part, shown, table } from '../report.js';
import { tell } from '../rounds.js';
import {
  asNewDocuments,
  byKey,
  chainNames,
  entities,
  keySets,
  keySetsIn,
  LARGE,
  ofChain,
  oneToken,
  SMALL,
  searchFor,
  wholeList,
} from '../workloads.js';

const GOAL_MB = 200;
/** Time between refreshes in milliseconds: short, so that several refreshes happen during the measurement. */
const FRESH_MS = 3000;
const { connections } = chainNames;
/** Many different searches. Each finds some 100 rows of 10,000. */
const SEARCHES = Array.from({ length: 90 * 30 }, (_nothing, nth) =>
  searchFor(`tok${10 + Math.floor(nth / 30)}`, (nth % 30) / 100),
);

/** One kind of load after the other. The documents and variables are new each time. */
function loadsFor(listed: number): Readonly<Record<string, readonly Load[]>> {
  return {
    'small hits': [chainNames, ofChain, { connections, bodies: keySetsIn(listed, 500) }],
    searches: [{ connections, bodies: SEARCHES }],
    'small new documents': [chainNames, ofChain, keySets].map(({ bodies }) => ({
      connections,
      next: asNewDocuments(bodies),
    })),
    'small new variables': [oneToken, byKey, entities].map((kind) => ({
      connections,
      next: kind.series(listed),
    })),
    'whole lists, repeated': [wholeList],
    'whole lists by new documents': [{ ...wholeList, next: asNewDocuments(wholeList.bodies) }],
  };
}

/** After each kind of load, reads the peak of resident memory since the start of the process. */
export const memory: Part = async ({ upstream, seconds }) => {
  const names = ['the start', ...Object.keys(loadsFor(SMALL))];
  const columns: number[][] = [];
  for (const listed of [SMALL, LARGE]) {
    const settings = { TOKENS_FRESH_MS: String(FRESH_MS) };
    const gateway = await startGateway(upstream, { listed, isMoving: true, settings });
    const most = [megabytesOf(gateway.child.pid).now];
    for (const [name, loads] of Object.entries(loadsFor(listed))) {
      tell(`Memory with ${listed} tokens: ${name}`);
      for (const load of loads) await runLoad(gateway.url, load, seconds);
      most.push(megabytesOf(gateway.child.pid).most);
    }
    columns.push(most);
    await end(gateway);
  }
  const [underLoad = Number.NaN, atWorst = Number.NaN] = columns.at(-1)?.slice(-2) ?? [];
  return {
    title: 'Memory',
    text: `${table(
      ['the most MB up to and with', '2,000 tokens', '10,000 tokens'],
      names.map((name, nth) => [name, ...columns.map((most) => shown(most[nth] ?? Number.NaN, 0))]),
      1,
    )}

One kind of load after the other, each ${seconds} s by each of its operations, with a refresh every ${FRESH_MS / 1000} s.`,
    goals: [
      {
        goal: `memory under ${GOAL_MB} MB with 10,000 tokens under load`,
        measured: `${shown(underLoad, 0)} MB (${shown(atWorst, 0)} MB after whole lists by new documents)`,
        isMet: underLoad < GOAL_MB,
      },
    ],
  };
};
