import { once } from 'node:events';
import { rightAnswers, teach } from '../answers.js';
import { runLoad } from '../load.js';
import { end } from '../processes.js';
import { shown, table } from '../report.js';
import { median, ROUNDS, tell } from '../rounds.js';
import type { Fetching } from '../servers/fetcher.js';
import { startGateway, startServer, type Target } from '../targets.js';
import { q1, q3x10k } from '../workloads.js';
import type { Part } from './bench.js';

const GOAL_MS = 20;
const SMALL_CONNECTIONS = 8;
const LARGE_CONNECTIONS = 4;
const LISTED = 10_000;

interface Result {
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
  readonly largePerSecond: number;
}

/** Small questions, while others fetch the full list of 10,000 tokens without pause. */
export const mixed: Part = async ({ upstream, seconds }) => {
  const gateway = await startGateway(upstream, { listed: LISTED });
  const bare = await startServer('bare', 'bare');
  const fetcher = await startServer('fetcher', 'fetcher');
  const small = { ...q1, listed: LISTED };
  await teach(bare, gateway, [
    ...(await rightAnswers(gateway, small)),
    ...(await rightAnswers(gateway, q3x10k)),
  ]);
  const load = { connections: SMALL_CONNECTIONS, bodies: small.bodies };

  async function measure({ url, child }: Target, largeConnections: number): Promise<Result> {
    const began = performance.now();
    const what: Fetching = {
      url,
      connections: largeConnections,
      bodies: q3x10k.bodies,
    };
    fetcher.child.send(what);
    const run = await runLoad(url, load, seconds);
    fetcher.child.send('stop');
    const [fetched] = (await once(fetcher.child, 'message')) as [number];
    if (child.exitCode !== null) throw new Error('The server has ended');
    return {
      perSecond: run.answers / run.seconds,
      p50: run.p50,
      p99: run.p99,
      largePerSecond: (fetched * 1000) / (performance.now() - began),
    };
  }

  const kinds = [
    { name: 'gateway', target: gateway, connections: LARGE_CONNECTIONS, results: [] as Result[] },
    { name: 'bare', target: bare, connections: LARGE_CONNECTIONS, results: [] as Result[] },
    { name: 'gateway, nobody else', target: gateway, connections: 0, results: [] as Result[] },
  ];
  for (const { target, connections } of kinds) await measure(target, connections);
  for (let round = 1; round <= ROUNDS; round++) {
    tell(`Small beside large: round ${round} of ${ROUNDS}`);
    for (const { target, connections, results } of round % 2 === 1 ? kinds : kinds.toReversed()) {
      results.push(await measure(target, connections));
    }
  }
  tell('');
  await end(gateway, bare, fetcher);
  const middle = (results: readonly Result[], key: keyof Result) =>
    median(results.map((result) => result[key]));
  const p99 = middle(kinds[0]?.results ?? [], 'p99');
  return {
    title: 'Small questions beside large ones',
    text: `${table(
      ['server', 'Q1 req/s', 'Q1 p50 ms', 'Q1 p99 ms', 'full lists/s'],
      kinds.map(({ name, results }) => [
        name,
        shown(middle(results, 'perSecond')),
        shown(middle(results, 'p50'), 2),
        shown(middle(results, 'p99'), 2),
        shown(middle(results, 'largePerSecond')),
      ]),
      1,
    )}

${SMALL_CONNECTIONS} connections ask Q1 while ${LARGE_CONNECTIONS} of another process fetch Q3 x10k without pause.`,
    goals: [
      {
        goal: `p99 of Q1 under ${GOAL_MS} ms while others fetch the full list of 10,000 tokens`,
        measured: `${shown(p99, 1)} ms (bare server: ${shown(middle(kinds[1]?.results ?? [], 'p99'), 1)} ms)`,
        isMet: p99 < GOAL_MS,
      },
    ],
  };
};
