import type { Findings } from '../report.js';
import type { Target } from '../targets.js';

/** What each part of the bench is given. */
export interface Bench {
  readonly upstream: Target;
  /** Of one run. */
  readonly seconds: number;
}

/** Measures one thing, and ends what it has started. */
export type Part = (bench: Bench) => Promise<Findings>;
