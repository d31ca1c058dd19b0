/** The built gateway withstands generated hostile requests of all kinds, within limits on CPU time and memory. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { rawBytes } from './fuzz/raw.js';
import { plainRequest } from './fuzz/requests.js';
import { openSession, type Session } from './fuzz/session.js';
import { type Exchange, reported, weighted } from './fuzz/values.js';

const { FUZZ_SEED = '1', FUZZ_REQUESTS = '600', FUZZ_TOKENS = '2000', FUZZ_PATH } = process.env;
const seed = FUZZ_SEED === 'new' ? Date.now() % 1_000_000 : Number(FUZZ_SEED);
const requests = Number(FUZZ_REQUESTS);
/** The highest allowed CPU time of the main thread for one request, in milliseconds. */
const MAX_CPU_MS = 500;
const MAX_PEAK_MB = 300;

const exchange: fc.Arbitrary<Exchange> = fc.oneof(
  weighted(94, plainRequest.map(reported)),
  weighted(6, rawBytes.map(reported)),
);
/** The exchanges that are checked together: usually one, sometimes eight. */
const exchanges = fc.oneof(
  weighted(40, fc.tuple(exchange)),
  weighted(1, fc.array(exchange, { minLength: 8, maxLength: 8 })),
);

/** The same request, changed so that no cache has its response. A request without a document stays unchanged. */
function varied(sent: Exchange, nth: number): Exchange {
  if ('writes' in sent) return sent;
  const target = sent.target.replace('query=', `query=%23${nth}%0A`);
  return { ...sent, target, body: sent.body?.replace(/^\{"query":"/, `{"query":"#${nth}\\n`) ?? '' };
}

const STATES = [
  ['both listings', undefined],
  ['no chain listing', 'chains'],
  ['no token listing', 'tokens'],
] as const;
const ONCE = { timeout: 300_000 + 100 * requests, retry: 0 };

it.each(STATES)('with %s, the gateway withstands hostile requests', ONCE, async (_name, missing) => {
  const statuses = new Map<number, number>();
  let session: Session | undefined;
  let variations = 0;

  async function check(all: readonly Exchange[]): Promise<void> {
    if (!session?.isUsable(MAX_PEAK_MB)) session = await openSession(Number(FUZZ_TOKENS), missing);
    const outcome = await session.send(all);
    const faults = [...outcome.faults];
    for (const status of outcome.statuses) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    const [sent, ...others] = all;
    if (sent && others.length === 0 && outcome.cpuMs > MAX_CPU_MS) {
      // The first time can include the garbage collection of other requests.
      await session.untilIdle();
      const again = await session.send([varied(sent, ++variations)]);
      faults.push(...again.faults);
      if (again.cpuMs > MAX_CPU_MS) faults.push(`One request cost ${Math.round(again.cpuMs)} ms of CPU time`);
    }
    if (session.peakMb() > MAX_PEAK_MB)
      faults.push(`Resident memory reached ${Math.round(session.peakMb())} MB`);
    if (faults.length > 0) throw new Error(faults.join('\n').slice(0, 5_000));
  }

  process.stderr.write(`Fuzzing with FUZZ_SEED=${seed} FUZZ_REQUESTS=${requests}\n`);
  await fc.assert(fc.asyncProperty(exchanges, check), {
    seed,
    numRuns: requests,
    ...(FUZZ_PATH ? { path: FUZZ_PATH } : {}),
  });
  expect(session?.peakMb()).toBeGreaterThan(0);
  // Some requests must be executed, and many refused: otherwise the fuzzer tests too little.
  if (FUZZ_PATH) return;
  expect(statuses.get(200)).toBeGreaterThan(requests / 4);
  expect(statuses.get(400)).toBeGreaterThan(requests / 10);
});
