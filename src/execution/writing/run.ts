import { JsonWriter } from './json-writer.js';
import type { Recorder } from './list-json.js';

/** One execution of a plan. Resolvers must not reach it. */
export class Run extends JsonWriter {
  /** Set where a resolver has read a part of `info` that is not there; it may have caught the error. */
  isAbandoned = false;
  /** The plan of a list whose JSON is kept as a whole, so that no texts of its rows are kept. */
  keptWhole: object | undefined;
  /** Arguments that depend on variables, coerced once, by the number of their field. */
  readonly args: Readonly<Record<string, unknown>>[] = [];

  /** Undefined for a context that does not tell what is read. */
  readonly recorder: Recorder | undefined;

  /** @param keepsRows whether the JSON of rows is to be kept, since this plan comes again */
  constructor(
    readonly context: unknown,
    readonly variables: Readonly<Record<string, unknown>>,
    readonly keepsRows: boolean,
  ) {
    super();
    this.recorder = (context as { readonly recorder?: Recorder } | undefined)?.recorder;
  }
}

let current: Run | undefined;

/** The run that resolvers are called by now. */
export function currentRun(): Run | undefined {
  return current;
}

/** Makes a run the current one. @returns the one before, to be set again afterwards */
export function setCurrentRun(run: Run | undefined): Run | undefined {
  const before = current;
  current = run;
  return before;
}
