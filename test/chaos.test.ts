/** A gateway survives every known fault of its upstream: clients get right answers, and the upstream few requests. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, type ExpectStatic, it, vi } from 'vitest';
import { demoChains as chains, demoTokens as tokens } from './fixtures/demo.js';
import { type AtEnd, share } from './support/ends.js';
import { type FakeUpstream, mostInASecond, startFakeUpstream } from './support/fake-upstream.js';
import { FAULTS, type Fault, mend, ODDITIES } from './support/faults.js';
import { ask, type GatewayProcess, startGatewayProcess } from './support/gateway-process.js';
import { type Load, questionsAbout, startLoad } from './support/load.js';
import { fixedLimits, megabytesOf } from './support/processes.js';

/** The status of one listing. Times are milliseconds since 1970. */
interface Standing {
  readonly state: string;
  readonly takenAt: number;
  /** The code of the last failure since the requested time; undefined if there is none. */
  readonly failure: string | undefined;
}

interface World {
  readonly upstream: FakeUpstream;
  readonly gateway: GatewayProcess;
  readonly load: Load;
  /** The growth of resident memory since the gateway was warm, at its peak. NaN if the system does not report it. */
  readonly grownMegabytes: () => number;
}

const GOOD = { chains, tokens };
/** Clients send each gateway at most this many queries a second: several gateways run at once on one machine. */
const QUESTIONS_PER_SECOND = 10;
const ANSWERED = 10;
const CEILING = 3;
/** Without faults the two listings cost 2.5 requests a second, which is below the rate limit. */
const FRESH_MS = 800;
const SETTINGS = {
  CHAINS_FRESH_MS: String(FRESH_MS),
  TOKENS_FRESH_MS: String(FRESH_MS),
  UPSTREAM_TIMEOUT_MS: '700',
  UPSTREAM_REQUESTS_PER_SECOND: String(CEILING),
  // With the limit of production, a fault of this length would be accepted as a true change.
  ...fixedLimits({ upstreamRetries: 1, holdBackTimes: 1000 }),
  LOG_LEVEL: 'info',
};
/** Settings for faults other than stalls: a delay on a busy machine must not be taken for a stall. */
const PATIENT = { UPSTREAM_TIMEOUT_MS: '20000' };
const WITH_STALLS = ['connection', 'framing'];

const FAULT_MS = 1_500;
/**
 * The listings must be new within this time after a fault. An open breaker lets a request through after two
 * seconds, and each listing pauses for a second; the rest is for a busy machine.
 */
const NEW_WITHIN_MS = 120_000;
/** Faults send 200 MB: a gateway that stops at its limit of 8 MB grows by far less than this, another by more. */
const GROWN_AT_MOST_MB = 150;

/** Requests are counted over a second less this time: on a busy machine, delayed ones arrive with later ones. */
const BUNCHED_MS = 600;

const OUTAGES = Object.values(FAULTS)
  .flat()
  .filter(({ name }) => ['a stall before the head', '503'].includes(name));
const OUTAGE_S = 10;
/**
 * The most requests in an outage of ten seconds. Five failed ones open the breaker, and then one is sent every two
 * seconds: ten. Three more can be in progress when the breaker opens. The rate limit alone would allow 30.
 */
const ASKED_IN_OUTAGE = 13;

// With seven tests at a time, all end within a minute, and two cores are enough.
vi.setConfig({ maxConcurrency: 7 });

async function startWorld(atEnd: AtEnd, settings: Record<string, string> = {}): Promise<World> {
  const upstream = await startFakeUpstream(GOOD, atEnd);
  const gateway = await startGatewayProcess({ ...SETTINGS, ...settings, UPSTREAM_URL: upstream.url }, atEnd);
  while ((await fetch(`${gateway.address}/ready`)).status !== 200) await sleep(20);
  const load = startLoad(gateway.address, questionsAbout(GOOD), { perSecond: QUESTIONS_PER_SECOND });
  atEnd(load.stop);
  while (load.answered < ANSWERED) await sleep(20);
  const warm = megabytesOf(gateway.child.pid).now;
  let most = warm;
  const watch = setInterval(() => {
    most = Math.max(most, megabytesOf(gateway.child.pid).now);
  }, 50);
  atEnd(async () => clearInterval(watch));
  return { upstream, gateway, load, grownMegabytes: () => most - warm };
}

async function standings({ gateway }: World, since: number): Promise<readonly Standing[]> {
  const { data } = await ask<{
    listings: { state: string; takenAt: string; lastFailure: { code: string; at: string } | null }[];
  }>(gateway.address, '{ listings { state takenAt lastFailure { code at } } }');
  return data.listings.map(({ state, takenAt, lastFailure }) => ({
    state,
    takenAt: Date.parse(takenAt),
    failure: lastFailure && Date.parse(lastFailure.at) >= since ? lastFailure.code : undefined,
  }));
}

async function expectAlive({ gateway, grownMegabytes }: World, expect: ExpectStatic): Promise<void> {
  const { exitCode, signalCode, pid = 0 } = gateway.child;
  expect([exitCode, signalCode, process.kill(pid, 0)]).toEqual([null, null, true]);
  for (const path of ['/live', '/ready']) {
    expect((await fetch(gateway.address + path)).status, path).toBe(200);
  }
  const grown = grownMegabytes();
  if (!Number.isNaN(grown)) expect(grown).toBeLessThan(GROWN_AT_MOST_MB);
}

/** Waits until both listings were fetched by requests after this time. A busy machine may let them become stale. */
async function expectNewSnapshots(world: World, since: number, expect: ExpectStatic): Promise<void> {
  const areNew = async () => (await standings(world, since)).every(({ takenAt }) => takenAt >= since);
  await expect.poll(areNew, { timeout: NEW_WITHIN_MS }).toBe(true);
}

/** Lets the upstream fail until the gateway reports the fault, and at least for `lastsMs`. Clients must not notice. */
async function outlive(world: World, fault: Fault, lastsMs: number, expect: ExpectStatic): Promise<void> {
  const { upstream, load } = world;
  const began = Date.now();
  const beganAt = performance.now();
  const [seenBefore, answeredBefore] = [upstream.count(), load.answered];
  await fault.begin(upstream, GOOD);
  const told = { state: 'STALE', failure: fault.code };
  await expect.poll(() => standings(world, began)).toMatchObject([told, told]);
  await sleep(Math.max(0, began + lastsMs - Date.now()));
  // Without queries during the fault, the checks could pass without testing anything.
  await expect.poll(() => load.answered - answeredBefore).toBeGreaterThan(ANSWERED);
  await expectAlive(world, expect);

  const requests = upstream.seen.slice(seenBefore);
  // If this process was blocked, the first requests can have arrived before `beganAt`: count that time, too.
  const seconds = (performance.now() - Math.min(beganAt, requests[0]?.notBefore ?? beganAt)) / 1000;
  // While the upstream refuses connections, it sees no requests.
  if (fault.name !== 'a refused connection') expect(requests.length).toBeGreaterThan(0);
  // Requests that were sent in the second before the fault can arrive during the fault.
  expect(requests.length).toBeLessThanOrEqual(CEILING * (Math.ceil(seconds) + 1));
  expect(mostInASecond(requests, BUNCHED_MS)).toBeLessThanOrEqual(CEILING);
  expect(upstream.count('/trap')).toBe(0);
}

async function recover(world: World, expect: ExpectStatic): Promise<void> {
  const mended = Date.now();
  await mend(world.upstream, GOOD);
  await expectNewSnapshots(world, mended, expect);
  await expectAlive(world, expect);
}

function expectNoFailures({ load }: World, expect: ExpectStatic, since = 0): void {
  expect(load.failures.slice(since, since + 3)).toEqual([]);
}

// `describe.concurrent.for` would run kinds one by one.
describe.concurrent.each(Object.keys(FAULTS))('the faults of the kind %s', (kind) => {
  const world = share((atEnd) => startWorld(atEnd, WITH_STALLS.includes(kind) ? {} : PATIENT));

  it.sequential.for(FAULTS[kind] ?? [])(
    'a gateway survives this fault: $name',
    async (fault, { expect, onTestFailed }) => {
      // The next fault must begin with a good state, even if this test fails.
      onTestFailed(() => recover(world, expect));
      const failuresBefore = world.load.failures.length;
      await outlive(world, fault, FAULT_MS, expect);
      await recover(world, expect);
      expectNoFailures(world, expect, failuresBefore);
    },
  );
});

describe.concurrent('responses that only look wrong', () => {
  const world = share((atEnd) => startWorld(atEnd, PATIENT));

  it.sequential.for(ODDITIES)('a gateway accepts the rows of $name', async ({ begin }, { expect }) => {
    const began = Date.now();
    await begin(world.upstream, GOOD);
    await expectNewSnapshots(world, began, expect);
    expect(await standings(world, began)).toMatchObject([{ failure: undefined }, { failure: undefined }]);
    await sleep(200);
    await expectAlive(world, expect);
    expectNoFailures(world, expect);
  });
});

describe.concurrent('a gateway sends few requests', () => {
  it.for(OUTAGES)(
    'a gateway sends few requests through a long outage: $name',
    async (fault, { expect, onTestFinished }) => {
      const world = await startWorld(onTestFinished);
      const asked = world.upstream.count();
      const began = Date.now();
      await outlive(world, fault, 1000 * OUTAGE_S, expect);
      const seconds = Math.ceil((Date.now() - began) / 1000);
      expect(world.upstream.count() - asked).toBeLessThanOrEqual(ASKED_IN_OUTAGE + (seconds - OUTAGE_S) / 2);
      await recover(world, expect);
      expectNoFailures(world, expect);
    },
  );
});
