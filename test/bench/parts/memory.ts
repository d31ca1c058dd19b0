import { megabytesOf } from '../../support/process-facts.js';
import { type Load, runLoad } from '../load.js';
import { byKey, entities, oneToken } from '../new-variables.js';
import { end } from '../processes.js';
import { type Part, shown, table } from '../report.js';
import { tell } from '../rounds.js';
import { startGateway } from '../targets.js';
import { inNewWords, lookUps, lookUpsIn, q1, q2, q3, q4, searches } from '../workloads.js';

const GOAL_MB = 200;
const SIZES = [2000, 10_000];
const LARGE_CONNECTIONS = 4;
/** Time between refreshes in milliseconds: short, so that several refreshes happen during the measurement. */
const FRESH_MS = 3000;

/** After each kind of load, reads the peak of resident memory since the start of the process. */
export const memory: Part = async ({ upstream, seconds }) => {
  const columns: { listed: number; start: number; most: readonly number[] }[] = [];
  for (const listed of SIZES) {
    const gateway = await startGateway(upstream, {
      listed,
      isMoving: true,
      settings: { TOKENS_FRESH_MS: String(FRESH_MS) },
    });
    const start = megabytesOf(gateway.child.pid).now;
    const most: number[] = [];
    for (const { name, loads } of kindsFor(listed)) {
      tell(`Memory with ${listed} tokens: ${name}`);
      for (const load of loads) await runLoad(gateway.url, load, seconds);
      most.push(megabytesOf(gateway.child.pid).most);
    }
    columns.push({ listed, start, most });
    await end(gateway);
  }
  tell('');
  const underLoad = columns.at(-1)?.most.at(-2) ?? Number.NaN;
  const atWorst = columns.at(-1)?.most.at(-1) ?? Number.NaN;
  return {
    title: 'Memory',
    text: `${table(
      ['the most MB up to and with', ...columns.map(({ listed }) => `${shown(listed, 0)} tokens`)],
      [
        ['the start', ...columns.map(({ start }) => shown(start, 0))],
        ...kindsFor(SIZES[0] ?? 0).map(({ name }, nth) => [
          name,
          ...columns.map(({ most }) => shown(most[nth] ?? Number.NaN, 0)),
        ]),
      ],
      1,
    )}

One kind of load after the other, each ${seconds} s by each of its questions, with a refresh every ${FRESH_MS / 1000} s.`,
    goals: [
      {
        goal: `memory under ${GOAL_MB} MB with 10,000 tokens under load`,
        measured: `${shown(underLoad, 0)} MB (${shown(atWorst, 0)} MB after full lists by new documents)`,
        isMet: underLoad < GOAL_MB,
      },
    ],
  };
};

function kindsFor(listed: number): readonly { readonly name: string; readonly loads: readonly Load[] }[] {
  const { connections } = q1;
  const full = { connections: LARGE_CONNECTIONS };
  return [
    { name: 'small hits', loads: [q1, q2, q4, { connections, bodies: lookUpsIn(listed, 500).bodies }] },
    { name: 'searches', loads: [{ connections, bodies: searches }] },
    {
      name: 'small questions by new documents',
      loads: [q1, q2, q4, lookUps].map((workload) => ({ connections, next: inNewWords(workload) })),
    },
    {
      name: 'small questions by new variables',
      loads: [oneToken, byKey, entities].map((questions) => ({
        connections: questions.connections,
        next: questions.series(listed),
      })),
    },
    { name: 'full lists, repeated', loads: [{ ...full, bodies: q3.bodies }] },
    { name: 'full lists by new documents', loads: [{ ...full, next: inNewWords(q3) }] },
  ];
}
