import { Counter, Gauge, type Registry } from 'prom-client';

/** What is known of the routes of all bridgeable tokens now. */
export interface SweepFacts {
  /** Tokens with an answer. */
  readonly known: number;
  /** Bridgeable tokens that the present sweep has still to ask. */
  readonly left: number;
  readonly pairs: number;
  /** The age of the oldest answer, in milliseconds; undefined without one. */
  readonly ageMs: number | undefined;
}

/** The metrics of the sweep of routes. */
export interface SweepMetrics {
  /** Sets the function that returns the facts; it is called at each scrape. */
  watch(facts: () => SweepFacts): void;
  /** One token was asked: `ok`, or the code of the error. */
  asked(outcome: string): void;
}

/** Makes the metrics, which are registered when there is something to say. */
export function createSweepMetrics(registry: Registry): SweepMetrics {
  const registers = [registry];
  let requests: Counter<'outcome'> | undefined;
  return {
    watch(facts) {
      requests = new Counter({
        name: 'gateway_sweep_requests_total',
        help: 'Requests of the sweep of routes that this gateway sent, by outcome: ok, or the code of the error.',
        labelNames: ['outcome'],
        registers,
      });
      const gauge = (name: string, help: string, read: (facts: SweepFacts) => number | undefined) =>
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
      gauge('gateway_sweep_tokens_known', 'Tokens whose routes are known.', ({ known }) => known);
      gauge(
        'gateway_sweep_tokens_left',
        'Bridgeable tokens that the present sweep has not asked yet; 0 between two sweeps.',
        ({ left }) => left,
      );
      gauge('gateway_sweep_pairs', 'Pairs of a token and a destination that are held.', ({ pairs }) => pairs);
      gauge(
        'gateway_sweep_age_seconds',
        'Age of the oldest answer that is held. Absent without one.',
        ({ ageMs }) => ageMs && ageMs / 1000,
      );
    },
    asked: (outcome) => requests?.inc({ outcome }),
  };
}
