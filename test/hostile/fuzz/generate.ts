import fc from 'fast-check';
import { type Operation, operationsOf } from '../../support/generated-operations.js';
import type { Exchange } from './exchange.js';
import { parametersBy } from './parameters.js';
import { type Random, randomOf } from './random.js';
import { rawExchange } from './raw.js';
import { oddBodyRequest, oddRequest, requestBy } from './requests.js';

/** Fields whose value can differ between two equal operations, so that their answers could not be compared. */
const CHANGING = ['ListingStatus.ageSeconds', 'ListingFailure.at'];
/** Lists of all rows. Few operations select them, because these operations take most of the time. */
const LONG = ['Query.tokens', 'Query.chains', 'Chain.tokens'];
/** This many exchanges share their valid operations, so that some are repeated. */
const BLOCK = 2_000;
const LIGHT = 900;
const HEAVY = 40;
/** One operation in HEAVY_ONE_IN selects lists of all rows. One exchange in BIG_ONE_IN may have the greatest allowed size. */
const HEAVY_ONE_IN = 25;
const BIG_ONE_IN = 25;

/** Creates the exchanges of a run. Each depends only on the seed and its index. */
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
