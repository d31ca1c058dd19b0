import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { fuzz } from './fuzz/fuzz.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));
const SEED = Number(process.env.FUZZ_SEED ?? 1);

it('the built gateway withstands 2,000 requests of a grammar-aware fuzzer', {
  timeout: 300_000,
}, async () => {
  const { failures, statuses, peakMb } = await fuzz({
    main: MAIN,
    seed: SEED,
    requests: 2_000,
    tokenCount: 2_000,
    maxPeakMb: 300,
    maxCpuMs: 500,
  });
  expect(failures, `seed ${SEED}: test/hostile/fuzz/README.md says how to repeat it`).toEqual([]);
  expect(peakMb).toBeGreaterThan(0);
  // Some requests must be executed, and many refused: otherwise the fuzzer tests too little.
  expect(statuses.get(200)).toBeGreaterThan(500);
  expect(statuses.get(400)).toBeGreaterThan(200);
});
