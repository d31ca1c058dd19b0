/**
 * Compares the built gateway with a bare server, a hand-written handler and Mercurius: `npm run bench`. With
 * `npm run bench -- 3` each run takes 3 seconds; `npm run bench -- 1 hits misses` runs only these two parts.
 * `BENCH_AGAINST=<folder> npm run bench -- 1 against` compares it with the checkout in that folder. The speed of a
 * machine changes, so read the ratios. The bare server is measured twice, to show how far two runs of one server differ.
 */
import { cpus } from 'node:os';
import { against } from './parts/against.js';
import { hits } from './parts/hits.js';
import { documents, misses } from './parts/new-requests.js';
import { refresh } from './parts/refresh.js';
import { starts } from './parts/starts.js';
import { endAll, gatewayLog, installPeers, isPinned, pin, startServer } from './processes.js';
import { type Goal, type Part, table } from './report.js';
import { ROUNDS } from './rounds.js';

const PARTS: Readonly<Record<string, Part>> = { starts, hits, misses, documents, refresh, against };
/** This part needs another checkout, and runs only if it is named. */
const NAMED_ONLY = 'against';
const LONGEST_MS = 60 * 60_000;

async function main(seconds: number, names: readonly string[]): Promise<void> {
  installPeers();
  const upstream = await startServer('upstream', 'upstream');
  pin(process.pid, 'load');
  const own = `${process.version}, ${new Date().toISOString().slice(0, 10)}`;
  write(`${cpus()[0]?.model} (${cpus().length} cores), Node ${own}: npm run bench -- ${[seconds, ...names].join(' ')}
${ROUNDS} rounds of ${seconds} s, interleaved; medians of the rounds, ratios taken in each. An answer is checked before it counts.
${isPinned ? 'The servers share one core, the load and the upstream another.' : 'Servers and load share the cores.'}`);
  const goals: Goal[] = [];
  for (const name of names) {
    const findings = await PARTS[name]?.({ upstream, seconds });
    if (!findings) continue;
    write(`## ${findings.title}\n\n${findings.text}`);
    goals.push(...findings.goals);
  }
  const rows = goals.map(({ goal, measured, isMet }) => [goal, measured, isMet ? 'met' : 'NOT MET']);
  write(`## Goals\n\n${table(['goal', 'measured', ''], rows, 3)}`);
  if (gatewayLog()) write(`The gateways logged:\n${gatewayLog()}`);
}

function write(text: string): void {
  process.stdout.write(`${text}\n\n`);
}

function fail(reason: unknown): never {
  process.stderr.write(`${reason instanceof Error ? reason.stack : reason}\n${gatewayLog()}\n`);
  process.exit(1);
}

const [first = '1', ...others] = process.argv.slice(2);
const isTimed = !Number.isNaN(Number(first));
const seconds = isTimed ? Number(first) : 1;
const asked = isTimed ? others : [first, ...others];
const stray = asked.find((name) => !(name in PARTS));
if (stray !== undefined) fail(`Expected some of ${Object.keys(PARTS).join(', ')}, got ${stray}`);
if (!(seconds >= 0.5 && seconds <= 60)) fail('Expected the seconds of a run, from 0.5 to 60');
process.once('exit', endAll);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, fail);
setTimeout(() => fail('It took too long'), LONGEST_MS).unref();
const all = Object.keys(PARTS).filter((name) => name !== NAMED_ONLY);
main(seconds, asked.length > 0 ? asked : all).then(endAll, fail);
