/**
 * Sends questions to the built gateway while its upstream fails in all known ways, one after another:
 * `npm run soak`, `npm run soak -- 30` for 30 minutes, `npm run soak -- 30 7` for the order of another seed. It
 * ends with status 1 if there was one error or one wrong answer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { RawChain, RawToken } from '../fixtures/demo.js';
import { generatedListings } from '../fixtures/rows.js';
import { type FakeUpstream, mostInASecond, startFakeUpstream } from '../support/fake-upstream.js';
import { FAULTS, type Fault, LASTING_FAULTS, mend, ODDITIES, type Oddity } from '../support/faults.js';
import { type Load, questionsAbout, startLoad } from '../support/load.js';
import { megabytesOf } from '../support/process-facts.js';
import { randomFrom, shuffled } from '../support/random.js';

/** The measurements of one moment. NaN if a value cannot be measured. */
interface Sample {
  readonly minute: number;
  readonly megabytes: number;
  /** The 99th percentile of the delay of the event loop, in milliseconds. */
  readonly lagMs: number;
}

/** The results of requests for routes. Not all can succeed while the upstream fails. */
interface Routes {
  answered: number;
  refused: number;
  /** Answers that are not explained by a fault of the upstream. */
  readonly failures: string[];
}

interface Soak {
  readonly upstream: FakeUpstream;
  readonly load: Load;
  readonly routes: Routes;
  readonly samples: Sample[];
  readonly began: number;
}

const MAIN = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const QUESTIONS_PER_SECOND = 50;
const ROUTES_EVERY_MS = 1_000;
/** Few enough that all their routes are cached before memory is measured. */
const ROUTES_FROM = 15;
const SAMPLE_EVERY_MS = 1_000;
const CEILING = 3;
/** The last fault is remembered for an hour, so no other can follow it. */
const LASTING_MS = 10_000;
const SHOWN_FAILURES = 10;
const SETTINGS = {
  CHAINS_FRESH_MS: '2000',
  TOKENS_FRESH_MS: '1000',
  UPSTREAM_TIMEOUT_MS: '1000',
  UPSTREAM_RETRIES: '1',
  UPSTREAM_REQUESTS_PER_SECOND: String(CEILING),
  UPSTREAM_MAX_BYTES: String(8 * 2 ** 20),
  // Wrong rows would be accepted after enough repetitions.
  HOLD_BACK_TIMES: '1000',
};

const generated = generatedListings(80, 1000);
const good = {
  chains: generated.chains as readonly RawChain[],
  tokens: generated.tokens as readonly RawToken[],
};

let gateway: ChildProcess | undefined;

async function main(minutes: number, seed: number): Promise<number> {
  const upstream = await startFakeUpstream(good);
  const address = await startGateway(upstream.url);
  const routes: Routes = { answered: 0, refused: 0, failures: [] };
  const load = startLoad(address, questionsAbout(good), QUESTIONS_PER_SECOND);
  const soak: Soak = { upstream, load, routes, samples: [], began: performance.now() };
  const endsAt = soak.began + minutes * 60_000;
  const timers = [
    setInterval(() => askForRoutes(address, routes), ROUTES_EVERY_MS),
    setInterval(() => sample(address, soak), SAMPLE_EVERY_MS),
    // Not at the end, where a sample is taken in any case.
    setInterval(() => performance.now() < endsAt - 30_000 && report(soak), 60_000),
  ];
  await walk(soak, endsAt - LASTING_MS, randomFrom(seed));
  await LASTING_FAULTS[seed % LASTING_FAULTS.length]?.begin(upstream, good);
  await sleep(Math.max(0, endsAt - performance.now()));

  for (const timer of timers) clearInterval(timer);
  await load.stop();
  report(soak);
  const failures = [...load.failures, ...routes.failures];
  if (gateway?.exitCode !== null) failures.push(`The gateway ended with status ${gateway?.exitCode}`);
  if (upstream.count('/trap') > 0) failures.push('A redirect was followed');
  if (load.answered === 0) failures.push('Nothing was answered');
  for (const failure of [...new Set(failures)].slice(0, SHOWN_FAILURES)) process.stdout.write(`${failure}\n`);
  await upstream.close();
  return failures.length === 0 ? 0 : 1;
}

/** Runs all faults in a random order, again and again, with recoveries in between. */
async function walk({ upstream, load }: Soak, until: number, random: () => number): Promise<void> {
  const ways: readonly (Fault | Oddity)[] = [...Object.values(FAULTS).flat(), ...ODDITIES];
  const rest = () => until - performance.now();
  while (rest() > 0) {
    for (const { name, begin } of shuffled(ways, random)) {
      const failuresBefore = load.failures.length;
      await begin(upstream, good);
      await sleep(Math.max(0, Math.min(rest(), 500 + 3500 * random())));
      await mend(upstream, good);
      await sleep(Math.max(0, Math.min(rest(), 3000 * random())));
      const failures = load.failures.length - failuresBefore;
      if (failures > 0) process.stdout.write(`${failures} failures in or after: ${name}\n`);
      if (rest() <= 0) return;
    }
  }
}

/** Requests the routes of a token. Equal requests are far apart, so that they are sent to the upstream. */
async function askForRoutes(address: string, routes: Routes): Promise<void> {
  const nth = routes.answered + routes.refused;
  const { chainKey, address: srcToken } = good.tokens[nth % ROUTES_FROM] ?? {};
  const query = `{ tokens(srcChainKey: "${chainKey}", srcToken: "${srcToken}") { chainKey address } }`;
  try {
    const response = await fetch(`${address}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
      signal: AbortSignal.timeout(30_000),
    });
    const body = await response.text();
    const { data, errors } = JSON.parse(body) as {
      data?: { tokens: unknown[] | null };
      errors?: { extensions: { code: string } }[];
    };
    if (data?.tokens && !errors) routes.answered++;
    else if (errors?.every(({ extensions }) => extensions.code.startsWith('UPSTREAM_'))) routes.refused++;
    else routes.failures.push(`${query} got HTTP ${response.status} ${body.slice(0, 300)}`);
  } catch (error) {
    routes.failures.push(`${query} got ${String(error)}`);
  }
}

async function sample(address: string, { samples, began }: Soak): Promise<void> {
  const minute = (performance.now() - began) / 60_000;
  samples.push({ minute, megabytes: megabytesOf(gateway?.pid).now, lagMs: await lagMsOf(address) });
}

async function lagMsOf(address: string): Promise<number> {
  try {
    const response = await fetch(`${address}/metrics`, { signal: AbortSignal.timeout(5000) });
    const found = /^nodejs_eventloop_lag_p99_seconds(?:\{[^}]*\})? (\S+)/m.exec(await response.text());
    return Number(found?.[1] ?? Number.NaN) * 1000;
  } catch {
    return Number.NaN;
  }
}

function report({ upstream, load, routes, samples, began }: Soak): void {
  const seconds = (performance.now() - began) / 1000;
  // During the first quarter, at most a minute, caches grow to their size.
  const warm = samples.filter(({ minute }) => minute * 60 > Math.min(60, seconds / 4));
  const failures = load.failures.length + routes.failures.length;
  process.stdout.write(`
after ${(seconds / 60).toFixed(1)} minutes
  questions    ${load.answered + load.failures.length} of clients, ${failures} failed or wrongly answered (0 expected)
  routes       ${routes.answered} answered, ${routes.refused} refused with the upstream's fault
  upstream     ${upstream.count()} requests, ${(upstream.count() / seconds).toFixed(2)} a second, ${mostInASecond(upstream.seen)} at most (the ceiling is ${CEILING})
  memory       ${trend(warm, 'megabytes', 'MB')}
  event loop   ${trend(warm, 'lagMs', 'ms')} (99th percentile of its delay)
`);
}

/** The last value, the highest, and the slope by least squares. */
function trend(samples: readonly Sample[], key: 'megabytes' | 'lagMs', unit: string): string {
  const points = samples.filter((point) => !Number.isNaN(point[key]));
  const last = points.at(-1);
  if (!last || points.length < 2) return 'is not there to be read';
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = mean(points.map(({ minute }) => minute));
  const level = mean(points.map((point) => point[key]));
  const covariance = mean(points.map((point) => (point.minute - middle) * (point[key] - level)));
  const slope = covariance / mean(points.map(({ minute }) => (minute - middle) ** 2));
  const most = Math.max(...points.map((point) => point[key]));
  return `${last[key].toFixed(1)} ${unit}, ${most.toFixed(1)} at most, slope ${slope.toFixed(2)} ${unit} a minute`;
}

/** Starts `node dist/main.js` with only these settings, and waits until it is ready. */
async function startGateway(upstreamUrl: string): Promise<string> {
  const env = { ...SETTINGS, PORT: '0', UPSTREAM_URL: upstreamUrl };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  gateway = child;
  let output = '';
  let address: string | undefined;
  child.stdout.on('data', (chunk: Buffer) => {
    if (!address) output += chunk;
  });
  while (child.exitCode === null) {
    address ??= /"address":"(http:[^"]+)\/graphql"/.exec(output)?.[1];
    if (address && (await fetch(`${address}/ready`)).ok) return address;
    await sleep(20);
  }
  throw new Error(`The gateway did not start: ${output}`);
}

function fail(reason: unknown): never {
  process.stderr.write(`${reason instanceof Error ? reason.stack : reason}\n`);
  process.exit(1);
}

const minutes = Number(process.argv[2] ?? 2);
const seed = Number(process.argv[3] ?? 1);
if (!(minutes >= 0.5 && minutes <= 24 * 60)) fail('Expected the minutes of the run, from 0.5 to 1440');
if (!Number.isSafeInteger(seed)) fail('Expected a whole number as seed');
process.once('exit', () => gateway?.kill('SIGKILL'));
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, fail);
setTimeout(() => fail('It took too long'), (minutes + 1) * 60_000).unref();
process.stdout.write(`${minutes} minutes, ${QUESTIONS_PER_SECOND} questions a second, seed ${seed}\n`);
main(minutes, seed).then((status) => process.exit(status), fail);
