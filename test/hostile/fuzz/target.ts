import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { generatedListings } from '../../fixtures/rows.js';
import { type FakeUpstream, json, startFakeUpstream } from '../../support/fake-upstream.js';

/** The built gateway under attack: a process of its own, which is watched from outside. */
export interface FuzzTarget {
  readonly port: number;
  /** False once the process has ended. */
  isAlive(): boolean;
  /** CPU time of the main thread so far, in milliseconds. */
  cpuMs(): number;
  /** Whether the main thread waits for something to do. */
  isIdle(): boolean;
  /** The most resident memory so far, in megabytes. */
  peakMb(): number;
  /** Resident memory now, in megabytes. */
  memoryMb(): number;
  /** What the process has said since the last call that it must not say: errors in its log, or anything else. */
  takeComplaints(): readonly string[];
  stop(): Promise<void>;
}

/** What {@link startFuzzTarget} takes. */
export interface FuzzTargetOptions {
  /** Path of the gateway's built `main.js`. */
  readonly main: string;
  readonly tokenCount: number;
  /** Settings beside those that the fuzzer needs. */
  readonly env?: Readonly<Record<string, string>>;
}

/** As `npm start` has them. */
const FLAGS = ['--max-semi-space-size=8', '--v8-pool-size=1'];
const CHAIN_COUNT = 80;
const ROUTE_ROWS = 50;
const HOUR = '3600000';
const WARNING = 40;

/** Starts it in front of an upstream with a large listing, and waits until it is ready. */
export async function startFuzzTarget({
  main,
  tokenCount,
  env = {},
}: FuzzTargetOptions): Promise<FuzzTarget> {
  const upstream = await startUpstream(tokenCount);
  const child = spawn(process.execPath, [...FLAGS, main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      UPSTREAM_URL: upstream.url,
      // Refreshes would be counted as costs of the requests that come at the same time.
      CHAINS_FRESH_MS: HOUR,
      TOKENS_FRESH_MS: HOUR,
      UPSTREAM_REQUESTS_PER_SECOND: '1000',
      ...env,
    },
  });
  const exited = once(child, 'exit');
  const kill = () => child.kill('SIGKILL');
  process.once('exit', kill);
  const stop = async () => {
    process.off('exit', kill);
    kill();
    await exited;
    await upstream.close();
  };
  try {
    const { complaints, address } = watchOutput(child);
    const port = Number(
      new URL(
        await Promise.race([
          address,
          exited.then(() => Promise.reject(new Error(`The gateway did not start: ${complaints.join('\n')}`))),
        ]),
      ).port,
    );
    while ((await fetch(`http://127.0.0.1:${port}/ready`)).status !== 200) await sleep(50);
    const { pid } = child;
    return {
      port,
      isAlive: () => child.exitCode === null && child.signalCode === null,
      cpuMs: () => Number(procFile(pid, 'schedstat').split(' ')[0]) / 1e6,
      isIdle: () => /^\d+ \(.*\) S/.test(procFile(pid, 'stat')),
      peakMb: () => megabytes(pid, 'VmHWM'),
      memoryMb: () => megabytes(pid, 'VmRSS'),
      takeComplaints: () => complaints.splice(0),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The demo's rows, which valid operations ask for, before many others. */
async function startUpstream(tokenCount: number): Promise<FakeUpstream> {
  const generated = generatedListings(CHAIN_COUNT, tokenCount);
  const chains = [...demoChains, ...generated.chains.slice(1)];
  const tokens = [...demoTokens, ...generated.tokens].slice(0, tokenCount);
  const upstream = await startFakeUpstream({ chains, tokens });
  const [all, routes] = [json({ tokens }), json({ tokens: tokens.slice(0, ROUTE_ROWS) })];
  upstream.plan('tokens', (response, request, nth) => {
    // It remembers each request, of which there are very many here.
    upstream.seen.length = 0;
    (request.url?.includes('?') ? routes : all)(response, request, nth);
  });
  return upstream;
}

/** Reads the log: a warning is no complaint, but a line that is no JSON, or an error, is. */
function watchOutput(child: ChildProcess) {
  const complaints: string[] = [];
  let found: (address: string) => void;
  const address = new Promise<string>((resolve) => {
    found = resolve;
  });
  eachLine(child.stdout, (line) => {
    const level = /^\{"level":(\d+)/.exec(line)?.[1];
    if (level === undefined || Number(level) > WARNING) complaints.push(complaintOf(line));
    else if (line.includes('"Listening"')) found(/"address":"([^"]+)"/.exec(line)?.[1] ?? '');
  });
  eachLine(child.stderr, (line) => complaints.push(line));
  return { complaints, address };
}

/** A line of the log without what is of one request alone; whatever else comes as it is. */
function complaintOf(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: string; err?: { stack?: string } };
    return `${msg}: ${err?.stack?.split('\n').slice(0, 4).join('\n')}`;
  } catch {
    return line;
  }
}

function eachLine(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = '';
  stream?.setEncoding('utf8');
  stream?.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) take(line);
  });
}

function megabytes(pid: number | undefined, name: string): number {
  const kilobytes = new RegExp(`${name}:\\s+(\\d+)`).exec(procFile(pid, 'status'))?.[1];
  return (Number(kilobytes ?? 0) * 1024) / 1e6;
}

/** Nothing once the process is gone. */
function procFile(pid: number | undefined, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}
