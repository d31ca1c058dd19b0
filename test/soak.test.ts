/** Sends requests to the built gateway for minutes while its upstream fails in known ways, in random order. */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import type { RawChain, RawToken } from './fixtures/demo.js';
import { generatedListings } from './fixtures/rows.js';
import { mostInASecond, startFakeUpstream } from './support/fake-upstream.js';
import { FAULTS, LASTING_FAULTS, mend, ODDITIES } from './support/faults.js';
import { startGatewayProcess } from './support/gateway-process.js';
import { send } from './support/hostile.js';
import { questionsAbout, startLoad } from './support/load.js';
import { fixedLimits, megabytesOf } from './support/processes.js';
import { randomFrom, shuffled } from './support/random.js';

const MINUTES = Number(process.env.SOAK_MINUTES ?? 2);
const SEED = Number(process.env.SOAK_SEED ?? 1);
const QUESTIONS_PER_SECOND = 50;
const ROUTES_EVERY_MS = 1_000;
/** Routes of this many tokens are requested: so few that all are cached before memory is measured. */
const ROUTES_FROM = 15;
/** The last fault lasts this long. The gateway then pauses for a minute: no other fault can follow. */
const LASTING_MS = 10_000;
const REPORT_EVERY_MS = 60_000;
const SETTINGS = {
  CHAINS_FRESH_MS: '2000',
  TOKENS_FRESH_MS: '1000',
  UPSTREAM_TIMEOUT_MS: '1000',
  UPSTREAM_REQUESTS_PER_SECOND: '3',
  // Otherwise a listing that lacks many rows would be accepted after three refreshes.
  ...fixedLimits({ upstreamRetries: 1, holdBackTimes: 1000 }),
};
const GOOD = generatedListings(80, 1000) as { chains: RawChain[]; tokens: RawToken[] };

/** Requests the routes of a token. Returns the fault in the answer, unless the upstream's failure explains it. */
async function faultOfRoutes(address: string, nth: number): Promise<string | undefined> {
  const { chainKey, address: srcToken } = GOOD.tokens[nth % ROUTES_FROM] ?? {};
  const query = `{ tokens(srcChainKey: "${chainKey}", srcToken: "${srcToken}") { chainKey address } }`;
  const { status, body } = await send(address, { body: { query } });
  const isExplained = /^\{"data":\{"tokens":\[/.test(body) || /"code":"UPSTREAM_/.test(body);
  return isExplained ? undefined : `${query} got HTTP ${status} ${body.slice(0, 300)}`;
}

/** The 99th percentile of the delay of the event loop, in milliseconds. */
async function lagMsOf(address: string): Promise<number> {
  const text = await (await fetch(`${address}/metrics`)).text();
  return 1000 * Number(/^nodejs_eventloop_lag_p99_seconds(?:\{[^}]*\})? (\S+)/m.exec(text)?.[1]);
}

it('a gateway answers correctly for minutes while its upstream fails in known ways', {
  timeout: (MINUTES + 2) * 60_000,
  retry: 0,
}, async () => {
  const upstream = await startFakeUpstream(GOOD, onTestFinished);
  const { address, child } = await startGatewayProcess({ ...SETTINGS, UPSTREAM_URL: upstream.url });
  await expect.poll(async () => (await fetch(`${address}/ready`)).status).toBe(200);
  const load = startLoad(address, questionsAbout(GOOD), { perSecond: QUESTIONS_PER_SECOND });
  const began = performance.now();
  const endsAt = began + MINUTES * 60_000;
  const left = () => Math.max(0, endsAt - LASTING_MS - performance.now());
  const routeFaults: string[] = [];
  let routesAsked = 0;

  async function report(): Promise<void> {
    const seconds = (performance.now() - began) / 1000;
    const { now, most } = megabytesOf(child.pid);
    process.stderr.write(`
after ${(seconds / 60).toFixed(1)} minutes
  questions    ${load.answered + load.failures.length} of clients, ${load.failures.length} failed or wrongly answered
  routes       ${routesAsked} questions, ${routeFaults.length} failed or wrongly answered
  upstream     ${upstream.count()} requests, ${(upstream.count() / seconds).toFixed(2)} a second, ${mostInASecond(upstream.seen)} at most
  memory       ${now.toFixed(0)} MB, ${most.toFixed(0)} at most
  event loop   ${(await lagMsOf(address)).toFixed(1)} ms (99th percentile of its delay)
`);
  }
  const timers = [
    setInterval(async () => {
      const fault = await faultOfRoutes(address, routesAsked++).catch(String);
      if (fault) routeFaults.push(fault);
    }, ROUTES_EVERY_MS),
    setInterval(report, REPORT_EVERY_MS),
  ];
  onTestFinished(() => timers.forEach(clearInterval));

  const random = randomFrom(SEED);
  while (left() > 0) {
    for (const { name, begin } of shuffled([...Object.values(FAULTS).flat(), ...ODDITIES], random)) {
      const failuresBefore = load.failures.length;
      await begin(upstream, GOOD);
      await sleep(Math.min(left(), 500 + 3500 * random()));
      await mend(upstream, GOOD);
      await sleep(Math.min(left(), 3000 * random()));
      const failures = load.failures.length - failuresBefore;
      if (failures > 0) process.stderr.write(`${failures} failures in or after: ${name}\n`);
      if (left() === 0) break;
    }
  }
  await LASTING_FAULTS[SEED % LASTING_FAULTS.length]?.begin(upstream, GOOD);
  await sleep(LASTING_MS);
  await load.stop();
  await report();

  expect([...load.failures, ...routeFaults].slice(0, 10)).toEqual([]);
  expect(child.exitCode).toBeNull();
  expect(upstream.count('/trap'), 'redirects that were followed').toBe(0);
  expect(load.answered).toBeGreaterThan(0);
});
