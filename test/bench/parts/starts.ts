/** The part of the bench that measures the time from the start of the process to the first answer. */
import { megabytesOf } from '../../support/processes.js';
import { end, startGateway } from '../processes.js';
import { type Part, shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { ofChain, SMALL } from '../workloads.js';

const STARTS = 5;
const GOAL_MS = 600;

export const starts: Part = async ({ upstream }) => {
  const times: number[] = [];
  const megabytes: number[] = [];
  for (let nth = 1; nth <= STARTS; nth++) {
    tell(`Start ${nth} of ${STARTS}`);
    const options = { listed: SMALL, delayMs: 0, hasAllCores: true };
    const gateway = await startGateway(upstream, options, ofChain.bodies[0]);
    times.push(gateway.firstAnswerMs);
    megabytes.push(megabytesOf(gateway.child.pid).now);
    await end(gateway);
  }
  const row = (name: string, values: readonly number[]) => [
    name,
    ...[median(values), Math.min(...values), Math.max(...values)].map((value) => shown(value, 0)),
  ];
  return {
    title: 'Start',
    text: table(
      ['', 'median', 'least', 'most'],
      [row('ms to the first answer', times), row('MB then', megabytes)],
      1,
    ),
    goals: [
      {
        goal: `first answer within ${GOAL_MS} ms of the start of the process, upstream time not counted`,
        measured: `${shown(median(times), 0)} ms`,
        isMet: median(times) <= GOAL_MS,
      },
    ],
  };
};
