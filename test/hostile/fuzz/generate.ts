import fc from 'fast-check';
import { type Operation, operationsOf } from '../../support/generated-operations.js';
import type { Exchange } from './exchange.js';
import { parametersBy } from './parameters.js';
import { type Random, randomOf } from './random.js';
import { rawExchange } from './raw.js';
import { oddBodyRequest, oddRequest, requestBy } from './requests.js';

/** Another answer a moment later. */
const CHANGING = ['ListingStatus.ageSeconds', 'ListingFailure.at'];
/** Lists of everything: few operations have them, or all the time would go into these. */
const LONG = ['Query.tokens', 'Query.chains', 'Chain.tokens'];
/** So many exchanges share their valid operations, so that some are asked again. */
const BLOCK = 2_000;
const LIGHT = 900;
const HEAVY = 40;
/** One in so many asks for everything, and one in so many may be as large as the gateway reads at all. */
const HEAVY_ONE_IN = 25;
const BIG_ONE_IN = 25;

/** Makes the exchanges of a run: each depends on the seed and its place alone. */
export function createGenerator(seed: number): (nth: number) => Exchange {
  let block = -1;
  let light: readonly Operation[] = [];
  let heavy: readonly Operation[] = [];

  function nextOf(random: Random): Operation {
    return random.pick(random.oneIn(HEAVY_ONE_IN) ? heavy : light);
  }

  return (nth) => {
    if (Math.floor(nth / BLOCK) !== block) {
      block = Math.floor(nth / BLOCK);
      light = sample(seed, block, LIGHT, [...CHANGING, ...LONG]);
      heavy = sample(seed, block, HEAVY, CHANGING);
    }
    const random = randomOf(seed, nth);
    const hasBig = random.oneIn(BIG_ONE_IN);
    return random.weighted<() => Exchange>([
      [
        80,
        () =>
          requestBy(
            random,
            parametersBy(random, () => nextOf(random), hasBig),
          ),
      ],
      [6, () => oddBodyRequest(random, hasBig)],
      [8, () => oddRequest(random, hasBig)],
      [6, () => rawExchange(random)],
    ])();
  };
}

function sample(seed: number, block: number, numRuns: number, without: readonly string[]) {
  return fc.sample(operationsOf({ without, hasRoutes: true }), { seed: seed * 100_003 + block, numRuns });
}
