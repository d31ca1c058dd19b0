import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { demoChains, demoTokens } from '../../fixtures/demo.js';
import { generatedListings } from '../../fixtures/rows.js';
import { type FakeUpstream, json, startFakeUpstream } from '../../support/fake-upstream.js';
import { isIdle, mainThreadMs, megabytesOf } from '../../support/process-facts.js';

export type FuzzTarget = Awaited<ReturnType<typeof startFuzzTarget>>;

/** Options of {@link startFuzzTarget}. */
export interface FuzzTargetOptions {
  /** Path of the gateway's built `main.js`. */
  readonly main: string;
  readonly tokenCount: number;
  /** Settings in addition to those of the fuzzer. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The flags of `npm start`. */
const FLAGS = ['--max-semi-space-size=8', '--v8-pool-size=1'];
const CHAIN_COUNT = 80;
const ROUTE_ROWS = 50;
const HOUR = '3600000';
/** Levels of log lines that do not count as failures. */
const CALM = ['trace', 'debug', 'info', 'warn'];

/**
 * Starts the built gateway as a separate process, with an upstream that has a large listing, and waits until the gateway
 * is ready.
 */
export async function startFuzzTarget({ main, tokenCount, env = {} }: FuzzTargetOptions) {
  const upstream = await startUpstream(tokenCount);
  const child = spawn(process.execPath, [...FLAGS, main], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      UPSTREAM_URL: upstream.url,
      // Without refreshes, because their CPU time would count as the cost of a request.
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
      /** False once the process has ended. */
      isAlive: () => child.exitCode === null && child.signalCode === null,
      /** CPU time of the main thread so far, in milliseconds. */
      cpuMs: () => mainThreadMs(pid),
      /** Whether the main thread is idle. */
      isIdle: () => isIdle(pid),
      /** The peak of resident memory so far, in megabytes. */
      peakMb: () => megabytesOf(pid).most,
      /** Output since the last call that must not occur: errors in the log, and lines that are not of the log. */
      takeComplaints: () => complaints.splice(0),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts an upstream with the rows of the demo, which valid operations read, and many others. */
async function startUpstream(tokenCount: number): Promise<FakeUpstream> {
  const generated = generatedListings(CHAIN_COUNT, tokenCount);
  const chains = [...demoChains, ...generated.chains.slice(1)];
  const tokens = [...demoTokens, ...generated.tokens].slice(0, tokenCount);
  const upstream = await startFakeUpstream({ chains, tokens });
  const [all, routes] = [json({ tokens }), json({ tokens: tokens.slice(0, ROUTE_ROWS) })];
  upstream.plan('tokens', (response, request, nth) => {
    // The fake upstream stores each request. There are very many here, so they are removed.
    upstream.seen.length = 0;
    (request.url?.includes('?') ? routes : all)(response, request, nth);
  });
  return upstream;
}

/** Reads the log. Errors, and lines that are not JSON, are complaints; warnings are not. */
function watchOutput(child: ChildProcess) {
  const complaints: string[] = [];
  let found: (address: string) => void;
  const address = new Promise<string>((resolve) => {
    found = resolve;
  });
  eachLine(child.stdout, (line) => {
    const level = /^\{"level":"(\w+)"/.exec(line)?.[1];
    if (level === undefined || !CALM.includes(level)) complaints.push(complaintOf(line));
    else if (line.includes('"Listening"')) found(/"address":"([^"]+)"/.exec(line)?.[1] ?? '');
  });
  eachLine(child.stderr, (line) => complaints.push(line));
  return { complaints, address };
}

/** A line of the log without the members of one request. Other output is not changed. */
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
