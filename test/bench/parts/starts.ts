import { megabytesOf } from '../../support/process-facts.js';
import { end } from '../processes.js';
import { type Part, shown, table } from '../report.js';
import { median, tell } from '../rounds.js';
import { startGateway } from '../targets.js';
import { q2 } from '../workloads.js';

const STARTS = 5;
const GOAL_MS = 600;

/** Measures the time from the start of the process to the first answer, with an upstream that responds at once. */
export const starts: Part = async ({ upstream }) => {
  const times: number[] = [];
  const megabytes: number[] = [];
  for (let nth = 1; nth <= STARTS; nth++) {
    tell(`Start ${nth} of ${STARTS}`);
    const gateway = await startGateway(
      upstream,
      { listed: q2.listed, delayMs: 0, hasAllCores: true },
      q2.bodies[0],
    );
    times.push(gateway.firstAnswerMs);
    megabytes.push(megabytesOf(gateway.child.pid).now);
    await end(gateway);
  }
  tell('');
  const middle = median(times);
  return {
    title: 'Start',
    text: table(
      ['', 'median', 'least', 'most'],
      [
        [
          'ms to the first answer',
          ...[middle, Math.min(...times), Math.max(...times)].map((ms) => shown(ms, 0)),
        ],
        [
          'MB then',
          ...[median(megabytes), Math.min(...megabytes), Math.max(...megabytes)].map((mb) => shown(mb, 0)),
        ],
      ],
      1,
    ),
    goals: [
      {
        goal: `first answered Q2 within ${GOAL_MS} ms of the start of the process, upstream time not counted`,
        measured: `${shown(middle, 0)} ms`,
        isMet: middle <= GOAL_MS,
      },
    ],
  };
};
