/**
 * Fuzzes the built gateway: `npm run fuzz`, `npm run fuzz -- --seed=7 --requests=5000 --from=1200`. It ends with
 * status 1 if it found a failure. README.md beside this file says more.
 */
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type FuzzReport, fuzz } from './fuzz.js';

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    requests: { type: 'string', default: '100000' },
    from: { type: 'string', default: '0' },
    tokens: { type: 'string', default: '10000' },
    main: { type: 'string' },
  },
});

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 0)
    throw new Error(`--${name}: expected a whole number, got ${text}`);
  return number;
}

/** The nearest folder above with a package.json. A fixed path would be wrong, because this file is compiled elsewhere. */
function projectFolder(folder: string): string {
  return existsSync(join(folder, 'package.json')) ? folder : projectFolder(dirname(folder));
}

function tell({ requests, failures, dearest, peakMb, statuses }: FuzzReport): void {
  say(`\n${requests} requests, ${failures.length} failures, ${Math.round(peakMb)} MB of memory at most`);
  say(
    `statuses: ${[...statuses]
      .sort()
      .map(([status, count]) => `${status} ${count}×`)
      .join(', ')}`,
  );
  say('\nthe dearest by CPU time of the main thread:');
  for (const { nth, kind, cost, request } of dearest)
    say(`  ${cost.toFixed(0)} ms  #${nth} ${kind}\n    ${request.slice(0, 400)}`);
  for (const { nth, kind, fault, request } of failures)
    say(`\nFAILED #${nth} ${kind}: ${fault}\n  ${request}`);
}

// Without this, a signal would end the process without its exit handlers, and the gateway would go on.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1));
const seed = values.seed === undefined ? Date.now() % 1_000_000 : wholeNumber('seed', values.seed);
const main = resolve(
  values.main ?? join(projectFolder(dirname(fileURLToPath(import.meta.url))), 'dist/main.js'),
);
say(`seed ${seed}, ${values.requests} requests from ${values.from} on, ${values.tokens} tokens`);
const report = await fuzz({
  main,
  seed,
  from: wholeNumber('from', values.from),
  requests: wholeNumber('requests', values.requests),
  tokenCount: wholeNumber('tokens', values.tokens),
  maxPeakMb: 300,
  maxCpuMs: 500,
  tell: say,
});
tell(report);
process.exit(report.failures.length === 0 ? 0 : 1);
