import { MIN_RESPONSE_LIMIT } from '../../domain/text-limits.js';
import { JsonWriter } from './json-writer.js';

/** The part of an operation's context that tells what is read beside rows. */
export interface Recorder {
  begin(): unknown;
  /**
   * @param like what was read in another recording
   * @returns what was read since `begin`, or `like` if it is equal; undefined if the JSON holds for this moment only
   */
  end(begun: unknown, like: object | undefined): object | undefined;
  /** Notes what was read then as read now. False if something else would be read. */
  repeat(reads: object): boolean;
}

/** The part of an operation's context that a run uses. Each member may be missing. */
interface RunContext {
  readonly recorder?: Recorder;
  /** Limit on the bytes of the answer, at least {@link MIN_RESPONSE_LIMIT}. Asked only beyond that. */
  readonly maxResponseBytes?: () => number;
}

/** One execution of a plan. Resolvers must not reach it. */
export class Run extends JsonWriter {
  /** Set where a resolver has read a part of `info` that is not there; it may have caught the error. */
  isAbandoned = false;
  /** Arguments that depend on variables, coerced once, by the number of their field. */
  readonly args: Readonly<Record<string, unknown>>[] = [];
  /** Undefined for a context that does not tell what is read, and for a plan that may not come again. */
  private readonly recorder: Recorder | undefined;
  /** What is recording now. */
  recordedBy: object | undefined;
  /** What this run has noted last. */
  private noted: object | undefined;

  /** @param keepsRows whether the JSON of rows is to be kept, since this plan comes again */
  constructor(
    readonly context: unknown,
    readonly variables: Readonly<Record<string, unknown>>,
    readonly keepsRows: boolean,
  ) {
    const { recorder, maxResponseBytes } = (context ?? {}) as RunContext;
    super((bytes) => bytes > MIN_RESPONSE_LIMIT && bytes > (maxResponseBytes?.() ?? MIN_RESPONSE_LIMIT));
    if (keepsRows) this.recorder = recorder;
  }

  /** Whether JSON can be kept with what it reads. Not within a recording, which keeps the whole. */
  get records(): boolean {
    return this.recorder !== undefined && this.recordedBy === undefined;
  }

  /** Notes what was read in a recording as read now. False if something else would be read. */
  repeat(reads: object): boolean {
    if (reads === this.noted) return true;
    if (!this.recorder?.repeat(reads)) return false;
    this.noted = reads;
    return true;
  }

  /**
   * Makes something, and tells what was read for it.
   *
   * @param by what keeps it
   * @param like what was read in another recording, to be returned if it is equal
   * @returns undefined if what was made holds for this moment only
   */
  record(by: object, make: () => void, like: object | undefined): object | undefined {
    const begun = this.recorder?.begin();
    this.recordedBy = by;
    make();
    this.recordedBy = undefined;
    const reads = this.recorder?.end(begun, like);
    return this.isAbandoned ? undefined : reads;
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
