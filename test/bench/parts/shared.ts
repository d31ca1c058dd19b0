import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { rightAnswers } from '../answers.js';
import { ask, type Load, runLoad } from '../load.js';
import { byKey } from '../new-variables.js';
import { cpuMicrosOf, end, pin } from '../processes.js';
import { NO_REDIS, startRedis } from '../redis.js';
import { shown, table } from '../report.js';
import { median, ROUNDS, tell } from '../rounds.js';
import type { Fetching } from '../servers/fetcher.js';
import { requestsOf, startGateway, startServer, type Target } from '../targets.js';
import { q1, q2 } from '../workloads.js';
import type { Part } from './bench.js';

const LISTED = 10_000;
const FRESH_MS = 1000;
const WATCH_MS = 8000;
const ASK_EVERY_MS = 50;
const TITLE = 'Two processes that share one Redis';
/** A watch can begin just before a refresh and end just after one. */
const EDGES = 1;

interface Result {
  readonly perSecond: number;
  /** CPU time of the gateways for each answer. */
  readonly cpuMicros: number;
}

/** One gateway process and two, which share a Redis: how much they answer, and how often they ask the upstream. */
export const shared: Part = async ({ upstream, seconds }) => {
  const redis = await startRedis(upstream);
  if (!redis) return { title: TITLE, text: NO_REDIS, goals: [] };
  const options = {
    listed: LISTED,
    isMoving: true,
    hasAllCores: true,
    settings: { REDIS_URL: redis.url, TOKENS_FRESH_MS: String(FRESH_MS) },
  };
  tell('Two processes: refreshes');
  const alone = await startGateway(upstream, options);
  const byOne = await refreshesOf(upstream, [alone]);
  await end(alone);
  const first = await startGateway(upstream, options);
  const second = await startGateway(upstream, { ...options, beside: first });
  const byTwo = await refreshesOf(upstream, [first, second]);
  await end(first, second);

  const settled = { ...options, isMoving: false, settings: { REDIS_URL: redis.url } };
  const one = await startGateway(upstream, settled);
  const two = await startGateway(upstream, { ...settled, beside: one });
  const fetcher = await startServer('fetcher', 'fetcher');
  for (const pid of [process.pid, fetcher.child.pid]) pin(pid, 'any');
  const small = { ...q1, listed: LISTED };
  for (const gateway of [one, two]) await rightAnswers(gateway, small);
  const rows: { name: string; single: Result[]; both: Result[] }[] = [];
  for (const [name, load] of [
    ['Q1, hits', { connections: small.connections, bodies: small.bodies }],
    ['tokens by key, new variables', { connections: byKey.connections }],
  ] as const) {
    const row = { name, single: [] as Result[], both: [] as Result[] };
    for (let round = 0; round <= ROUNDS; round++) {
      tell(`Two processes: ${name}, round ${round} of ${ROUNDS}`);
      const single = await measure([one, one], load, fetcher, seconds);
      const both = await measure([one, two], load, fetcher, seconds);
      // The first warms up.
      if (round === 0) continue;
      row.single.push(single);
      row.both.push(both);
    }
    rows.push(row);
  }
  pin(process.pid, 'load');
  await end(one, two, fetcher, redis);
  tell('');

  const middle = (results: readonly Result[], key: keyof Result) => median(results.map((of) => of[key]));
  return {
    title: TITLE,
    text: `${table(
      ['', 'one process, req/s', 'two, req/s', '×', 'one, CPU µs/req', 'two, CPU µs/req'],
      rows.map(({ name, single, both }) => [
        name,
        shown(middle(single, 'perSecond')),
        shown(middle(both, 'perSecond')),
        shown(
          median(both.map(({ perSecond }, nth) => perSecond / (single[nth]?.perSecond ?? Number.NaN))),
          2,
        ),
        shown(middle(single, 'cpuMicros')),
        shown(middle(both, 'cpuMicros')),
      ]),
      1,
    )}

Two programs ask, in both cases. Nobody is kept to a core here, so on two cores those that ask take what they need from the gateways.
In ${WATCH_MS / 1000} s, with listings that are fresh for ${FRESH_MS / 1000} s, the upstream was asked for tokens ${byOne} times by one process and ${byTwo} times by two.`,
    goals: [
      {
        goal: 'two processes that share one Redis make one refresh',
        measured: `${byTwo} upstream requests for tokens in ${WATCH_MS / 1000} s (one process: ${byOne})`,
        isMet: byTwo > 0 && byTwo <= byOne + EDGES,
      },
    ],
  };
};

/** How often these together, which are one asker, ask the upstream for tokens while each is asked. */
async function refreshesOf(upstream: Target, gateways: readonly [Target, ...Target[]]): Promise<number> {
  const before = await requestsOf(upstream, gateways[0], 'tokens');
  const began = performance.now();
  while (performance.now() - began < WATCH_MS) {
    for (const { url } of gateways) await ask(url, q2.bodies[0] ?? '');
    await sleep(ASK_EVERY_MS);
  }
  return (await requestsOf(upstream, gateways[0], 'tokens')) - before;
}

let series = 0;

/** This process asks the first gateway, and the fetcher the second: the same bodies, or those of new series. */
async function measure(
  [own, its]: readonly [Target, Target],
  { connections: together, bodies }: Pick<Load, 'connections' | 'bodies'>,
  fetcher: Target,
  seconds: number,
): Promise<Result> {
  const connections = together / 2;
  const ownLoad = { connections, ...(bodies ? { bodies } : { next: byKey.series(++series) }) };
  const fetching: Fetching = { url: its.url, connections, ...(bodies ? { bodies } : { series: ++series }) };
  const pids = [...new Set([own.child.pid, its.child.pid])];
  const cpu = () => pids.reduce<number>((sum, pid) => sum + cpuMicrosOf(pid), 0);
  const cpuBefore = cpu();
  const began = performance.now();
  fetcher.child.send(fetching);
  const run = await runLoad(own.url, ownLoad, seconds);
  fetcher.child.send('stop');
  const [fetched] = (await once(fetcher.child, 'message')) as [number];
  const answers = run.answers + fetched;
  return {
    perSecond: (answers * 1000) / (performance.now() - began),
    cpuMicros: (cpu() - cpuBefore) / answers,
  };
}
