/** The metrics of the sweep of routes. */
import { Counter, Gauge, type Registry } from 'prom-client';

/** What is known of the routes of all bridgeable tokens now. */
export interface SweepFacts {
  /** Tokens with an answer. */
  readonly known: number;
  /** Bridgeable tokens without one. */
  readonly left: number;
  readonly pairs: number;
  /** The age of the oldest answer, in milliseconds; undefined without one. */
  readonly ageMs: number | undefined;
}

export type SweepMetrics = ReturnType<typeof createSweepMetrics>;

/** Name and help of each gauge, and its value. */
const GAUGES: readonly (readonly [string, string, (facts: SweepFacts) => number | undefined])[] = [
  ['gateway_sweep_tokens_known', 'Tokens whose routes are known.', ({ known }) => known],
  ['gateway_sweep_tokens_left', 'Bridgeable tokens whose routes are not known yet.', ({ left }) => left],
  ['gateway_sweep_pairs', 'Pairs of a token and a destination that are held.', ({ pairs }) => pairs],
  [
    'gateway_sweep_age_seconds',
    'Age of the oldest answer that is held. Absent without one.',
    ({ ageMs }) => ageMs && ageMs / 1000,
  ],
];

/** Makes the metrics, which are registered when there is something to say. */
export function createSweepMetrics(registry: Registry) {
  const registers = [registry];
  let requests: Counter<'outcome'> | undefined;
  return {
    /** Sets the function that returns the facts; it is called at each scrape. */
    watch(facts: () => SweepFacts): void {
      requests = new Counter({
        name: 'gateway_sweep_requests_total',
        help: 'Requests of the sweep of routes that this gateway sent, by outcome: ok, or the code of the error.',
        labelNames: ['outcome'],
        registers,
      });
      for (const [name, help, read] of GAUGES) {
        new Gauge({
          name,
          help,
          registers,
          collect() {
            const value = read(facts());
            if (value === undefined) this.remove();
            else this.set(value);
          },
        });
      }
    },
    /** One token was asked for: `ok`, or the code of the error. */
    asked: (outcome: string) => requests?.inc({ outcome }),
  };
}
