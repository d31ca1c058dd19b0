// Keeps every core busy for some seconds, so that tests can be run beside it:
//   node test/support/busy.js 300 & npm test
import { availableParallelism } from 'node:os';
import { isMainThread, Worker, workerData } from 'node:worker_threads';

if (isMainThread) {
  const seconds = Number(process.argv[2] ?? 60);
  const until = Date.now() + 1000 * seconds;
  for (let thread = 0; thread < 2 * availableParallelism(); thread++)
    new Worker(new URL(import.meta.url), { workerData: until });
} else {
  while (Date.now() < workerData);
}
