/**
 * Measures the built gateway against a bare server in the same run: `npm run bench`, or `npm run bench -- 5`
 * for runs of 5 seconds. Machines drift, so read the ratios; the control says how far two runs of one server
 * differ.
 */
import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import autocannon from 'autocannon';
import type { BareAnswers } from './servers.js';
import { type Answer, facts, type ListedTokens, type Workload, workloads } from './workloads.js';

interface Target {
  readonly name: string;
  readonly url: string;
  readonly child: ChildProcess;
}

/** What one run gave; NaN where the system does not tell. */
type Sample = Readonly<
  Record<'perSecond' | 'p50' | 'p99' | 'cpuMicros' | 'megabytes' | 'upstreamRequests' | 'loadBusy', number>
>;

/** A server set against the bare one, run by run. */
interface Match {
  readonly label: string;
  readonly workload: Workload;
  readonly target: Target;
  readonly samples: Sample[];
  readonly bareSamples: Sample[];
}

const CONNECTIONS = 16;
const ROUNDS = 3;
const STARTS = 5;
const WARM_UP_SECONDS = 1;
const UPSTREAM_DELAY_MS = 50;
/** For everything but the runs. */
const OVERHEAD_SECONDS = 120;
const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const SERVERS = fileURLToPath(new URL('servers.js', import.meta.url));
const HEADERS = {
  accept: 'application/graphql-response+json,application/json;q=0.9',
  'accept-encoding': 'identity',
  'content-type': 'application/json',
};

const children = new Set<ChildProcess>();
let gatewayLog = '';

async function main(seconds: number): Promise<void> {
  const upstream = await startServer('upstream');
  const startsMs: number[] = [];
  for (let nth = 0; nth < STARTS; nth++) {
    const { target, firstAnswerMs } = await startGateway(upstream, 0, 1000);
    startsMs.push(firstAnswerMs);
    target.child.kill('SIGKILL');
    await once(target.child, 'exit');
  }
  const gateways = {
    1000: (await startGateway(upstream, UPSTREAM_DELAY_MS, 1000)).target,
    10000: (await startGateway(upstream, UPSTREAM_DELAY_MS, 10000)).target,
  };
  const bare = await startServer('bare');
  await teach(bare, gateways);

  const matches: Match[] = [];
  for (const workload of workloads) {
    const target = gateways[workload.listed];
    matches.push({ label: workload.name, workload, target, samples: [], bareSamples: [] });
    await measure(target, upstream, workload, WARM_UP_SECONDS);
    await measure(bare, upstream, workload, WARM_UP_SECONDS);
  }
  const control = matches.find(({ label }) => label === 'Q2');
  if (control) matches.push({ ...control, label: 'control', target: bare, samples: [], bareSamples: [] });

  for (let round = 1; round <= ROUNDS; round++) {
    for (const { workload, target, samples, bareSamples } of matches) {
      const pair = [
        async () => samples.push(await measure(target, upstream, workload, seconds)),
        async () => bareSamples.push(await measure(bare, upstream, workload, seconds)),
      ];
      for (const run of round % 2 === 1 ? pair : pair.reverse()) await run();
    }
  }
  for (const workload of workloads) await rightAnswers(gateways[workload.listed], workload);
  report(seconds, matches, startsMs);
}

/** Asks everything of the gateway, and has the bare server give the very same. */
async function teach(bare: Target, gateways: Readonly<Record<ListedTokens, Target>>): Promise<void> {
  const answers: [body: string, answer: string][] = [];
  for (const workload of workloads) {
    answers.push(...(await rightAnswers(gateways[workload.listed], workload)));
  }
  const response = await send(gateways[1000].url, {
    method: 'POST',
    headers: HEADERS,
    body: answers[0]?.[0] ?? '',
  });
  const put: BareAnswers = { contentType: response.headers.get('content-type') ?? '', answers };
  await send(bare.url, { method: 'PUT', body: JSON.stringify(put) });
  for (const [body, answer] of answers) {
    if ((await ask(bare, body)) !== answer) throw new Error(`Unequal answers to ${body}`);
  }
}

/** Each body of the workload with the gateway's answer, if all agree with the upstream's rows. */
async function rightAnswers(gateway: Target, workload: Workload): Promise<[body: string, answer: string][]> {
  const answers: [string, string][] = [];
  for (const [index, body] of workload.bodies.entries()) {
    const answer = await ask(gateway, body);
    const { data, errors } = JSON.parse(answer) as { data: Answer; errors?: unknown };
    if (errors || !isDeepStrictEqual(facts(data), workload.expected[index])) {
      throw new Error(`The answer to ${workload.name} is wrong: ${answer.slice(0, 500)}`);
    }
    answers.push([body, answer]);
  }
  return answers;
}

async function measure(
  target: Target,
  upstream: Target,
  workload: Workload,
  seconds: number,
): Promise<Sample> {
  const { pid } = target.child;
  const latencies: number[] = [];
  const megabytes: number[] = [];
  const watch = setInterval(() => megabytes.push(megabytesOf(pid)), 200);
  const upstreamBefore = await requestsOf(upstream);
  const cpuBefore = cpuMicrosOf(pid);
  const ownBefore = process.cpuUsage();
  const began = performance.now();
  const run = autocannon({
    url: target.url,
    connections: CONNECTIONS,
    duration: seconds,
    sampleInt: 100,
    method: 'POST',
    headers: HEADERS,
    requests: workload.bodies.map((body) => ({ body })),
  });
  run.on('response', (_client, _status, _bytes, ms) => latencies.push(ms));
  const { errors, non2xx, requests } = await run;
  const micros = (performance.now() - began) * 1000;
  const own = process.cpuUsage(ownBefore);
  const cpuMicros = cpuMicrosOf(pid) - cpuBefore;
  clearInterval(watch);

  const lost = Math.max(0, requests.sent - latencies.length - CONNECTIONS);
  if (errors + non2xx + lost > 0 || latencies.length === 0) {
    const counts = `${latencies.length} answers, ${non2xx} of bad status; ${errors} errors, ${lost} lost`;
    throw new Error(`${target.name}, ${workload.name}: ${counts}`);
  }
  const sorted = latencies.sort((a, b) => a - b);
  return {
    perSecond: sorted.length / (micros / 1e6),
    p50: sorted[Math.floor(sorted.length * 0.5)] ?? Number.NaN,
    p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN,
    cpuMicros: cpuMicros / sorted.length,
    megabytes: Math.max(...megabytes),
    upstreamRequests: (await requestsOf(upstream)) - upstreamBefore,
    loadBusy: (own.user + own.system) / micros,
  };
}

function report(seconds: number, matches: readonly Match[], startsMs: readonly number[]): void {
  const lines = [
    ['', 'server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'MB', 'upstream', 'of bare', 'CPU of bare'],
    ...matches.flatMap(({ label, target, samples, bareSamples }) => [
      // The gateway goes on refreshing while the bare server is measured.
      [
        label,
        target.name,
        ...cells(samples),
        asked([...samples, ...bareSamples]),
        ...ratios(samples, bareSamples),
      ],
      ['', 'bare', ...cells(bareSamples)],
    ]),
  ];
  const table = lines.map((line) =>
    line.map((cell, i) => (i < 2 ? cell.padEnd(9) : cell.padStart(12))).join(''),
  );
  const busiest = Math.max(
    ...matches.flatMap(({ bareSamples }) => bareSamples.map(({ loadBusy }) => loadBusy)),
  );
  process.stdout.write(`
${cpus()[0]?.model} (${cpus().length} cores), Node ${process.version}, ${new Date().toISOString().slice(0, 10)}
${CONNECTIONS} connections, ${ROUNDS} rounds of ${seconds} s, interleaved; medians of the rounds, ratios taken in each.

${table.join('\n')}

${workloads.map(({ name, about }) => `${name}: ${about}.`).join('\n')}
control: the bare server against itself, on Q2.
bare: a node:http server that gives kept bytes by the text of the request.
MB: the most of resident memory seen. upstream: the gateway's requests to it in all rounds of both.
The load took up to ${Math.round(busiest * 100)} % of a core. Near 100 % the bare server could do more than it was asked to:
"of bare" then flatters the gateway, and "CPU of bare" is the ratio to trust.

From the start of the process to the first answer, to Q2: ${median(startsMs).toFixed(0)} ms (median of ${STARTS}; the upstream without delay).
${gatewayLog && `\nThe gateway logged:\n${gatewayLog.slice(0, 2000)}\n`}`);
}

function cells(samples: readonly Sample[]): string[] {
  const middle = (key: keyof Sample) => median(samples.map((sample) => sample[key]));
  return [
    shown(middle('perSecond'), 0),
    shown(middle('p50'), 2),
    shown(middle('p99'), 2),
    shown(middle('cpuMicros'), 1),
    shown(Math.max(...samples.map(({ megabytes }) => megabytes)), 0),
  ];
}

function asked(samples: readonly Sample[]): string {
  return String(samples.reduce((sum, { upstreamRequests }) => sum + upstreamRequests, 0));
}

function ratios(samples: readonly Sample[], bareSamples: readonly Sample[]): string[] {
  const ratio = (key: keyof Sample) =>
    median(samples.map((sample, round) => sample[key] / (bareSamples[round]?.[key] ?? Number.NaN)));
  return [shown(ratio('perSecond'), 3), shown(ratio('cpuMicros'), 2)];
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function shown(value: number, digits: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(digits);
}

async function startServer(role: 'upstream' | 'bare'): Promise<Target> {
  const child = keep(fork(SERVERS, [role]));
  const [port] = (await once(child, 'message')) as [number];
  return { name: role, url: `http://127.0.0.1:${port}`, child };
}

/** Starts `node dist/main.js` with the settings given here alone, and waits for its first answer. */
async function startGateway(
  upstream: Target,
  delayMs: number,
  listed: ListedTokens,
): Promise<{ target: Target; firstAnswerMs: number }> {
  const port = await freePort();
  const env = {
    PORT: String(port),
    UPSTREAM_URL: `${upstream.url}/${delayMs}/${listed}/v1`,
    LOG_LEVEL: 'warn',
  };
  const question = workloads.find(({ name }) => name === 'Q2')?.bodies[0] ?? '';
  const began = performance.now();
  const child = keep(spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] }));
  upstream.child.send(child.pid ?? 0);
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (text) => {
      gatewayLog += text;
    });
  }
  const target = { name: 'gateway', url: `http://127.0.0.1:${port}/graphql`, child };
  while (child.exitCode === null) {
    try {
      await ask(target, question);
      return { target, firstAnswerMs: performance.now() - began };
    } catch (error) {
      // What `fetch` throws before the port is open.
      if (!(error instanceof TypeError)) throw error;
      await sleep(1);
    }
  }
  throw new Error('The gateway did not start');
}

function keep<Child extends ChildProcess>(child: Child): Child {
  children.add(child);
  child.once('exit', () => children.delete(child));
  return child;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function send(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, { ...init, signal: AbortSignal.timeout(10_000) });
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${await response.text()}`);
  return response;
}

async function ask({ url }: Target, body: string): Promise<string> {
  return (await send(url, { method: 'POST', headers: HEADERS, body })).text();
}

async function requestsOf(upstream: Target): Promise<number> {
  return Number(await (await send(`${upstream.url}/count`, {})).text());
}

/** User and system time of all threads, which Linux counts in hundredths of a second. */
function cpuMicrosOf(pid: number | undefined): number {
  const fields = procFile(pid, 'stat').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11] ?? Number.NaN) + Number(fields[12] ?? Number.NaN)) * 10_000;
}

function megabytesOf(pid: number | undefined): number {
  const kibibytes = /VmRSS:\s+(\d+)/.exec(procFile(pid, 'status'))?.[1] ?? Number.NaN;
  return (Number(kibibytes) * 1024) / 1e6;
}

function procFile(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

function endChildren(): void {
  for (const child of children) child.kill('SIGKILL');
}

function fail(reason: unknown): never {
  process.stderr.write(`${reason instanceof Error ? reason.stack : reason}\n${gatewayLog.slice(0, 2000)}`);
  process.exit(1);
}

const seconds = Number(process.argv[2] ?? 3);
if (!(seconds >= 0.5 && seconds <= 60)) fail('Expected the seconds of a run, from 0.5 to 60');
process.once('exit', endChildren);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, fail);
const runsSeconds = (workloads.length + 1) * 2 * ROUNDS * seconds;
setTimeout(() => fail('It took too long'), (runsSeconds + OVERHEAD_SECONDS) * 1000).unref();
main(seconds).then(endChildren, fail);
