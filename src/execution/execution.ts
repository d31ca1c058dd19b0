/**
 * One execution of a query by a plan, and its response so far. If a resolver waits or fails, or if a case is not in the
 * plan, the execution throws. The gateway then waits and executes the operation again, or lets graphql-js execute it from
 * the beginning. Only graphql-js reports errors.
 */
import { type OperationLimitError, responseTooLong } from '../domain/errors.js';
import { MIN_RESPONSE_LIMIT } from '../domain/text-limits.js';

/** Thrown by {@link fallBack}. Not an Error: to make a stack takes long, and attackers could cause many fallbacks. */
const FALL_BACK: unknown = Object.freeze({ message: 'The operation is left to graphql-js.' });

/** Leaves the operation to graphql-js. Ignores rejections in the value: unhandled ones would end the process. */
export function fallBack(value?: unknown): never {
  ignoreRejections(value);
  throw FALL_BACK;
}

function ignoreRejections(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
  else if (Array.isArray(value)) value.forEach(ignoreRejections);
}

/** Falls back unless the value is an object that is neither a promise nor an error. */
export function assertSynchronous(value: unknown): void {
  const isPlain = typeof value === 'object' && !(value instanceof Error);
  if (!isPlain || typeof (value as { then?: unknown }).then === 'function') fallBack(value);
}

/** The part of an operation's context that knows what its resolvers read. */
export interface Tracker {
  /** Calls `write`. @returns the reads of `write`; undefined if other operations cannot use the JSON that it wrote */
  track(write: () => void): object | undefined;
  /** Adds the reads of kept JSON. @returns false if this operation would read other data; nothing is added then */
  repeat(reads: object): boolean;
}

/** The part of an operation's context that an execution uses. */
export interface ExecutionContext {
  /** If undefined, JSON is not kept. */
  readonly tracker?: Tracker;
  /** Limit on the bytes of the response. Called only for a response of more than {@link MIN_RESPONSE_LIMIT} bytes. */
  readonly maxResponseBytes?: () => number;
  /** `refusal` is set if the response is too long: graphql-js then need not execute the operation. */
  readonly cost?: { refusal: OperationLimitError | undefined };
}

/** Appends the JSON of a value to the response. */
export type Write = (value: unknown, execution: Execution) => void;

/** Kept JSON of at least this many bytes is stored as a Buffer: sending one more part costs less than copying a text. */
const MIN_PART = 8_192;
/** After an item of a list, a text longer than this (in UTF-16 units) is converted to bytes. */
const MAX_TEXT = 32_768;

/** The response so far is finished parts in UTF-8, and then the text. */
export class Execution {
  /** JSON that is not yet converted to bytes; plans append to it. */
  text = '';
  private readonly parts: Buffer[] = [];
  private bytes = 0;
  /** True once the JSON depends on variables: then it is not kept. */
  usesVariables = false;
  readonly tracker: Tracker | undefined;

  /** @param keepsJson whether to keep JSON, because the operation is likely to be repeated */
  constructor(
    readonly context: ExecutionContext,
    readonly variables: Readonly<Record<string, unknown>>,
    keepsJson: boolean,
  ) {
    this.tracker = keepsJson ? context.tracker : undefined;
  }

  append(json: string | Buffer): void {
    if (typeof json === 'string') this.text += json;
    else {
      this.flush();
      this.push(json);
    }
  }

  flushIfLong(): void {
    if (this.text.length > MAX_TEXT) this.flush();
  }

  /** The response in parts. The parts must not be changed, because kept JSON is among them. */
  finish(): readonly Buffer[] {
    this.flush();
    return this.parts;
  }

  /** Writes one value in an execution of its own, so that its JSON can be kept, unless there are no `reads`. */
  track(tracker: Tracker, write: Write, value: unknown) {
    const own = new Execution(this.context, this.variables, false);
    const read = tracker.track(() => write(value, own));
    const [first, ...others] = own.finish();
    const json = first && others.length === 0 ? first : Buffer.concat(own.parts);
    const reads = own.usesVariables ? undefined : read;
    // toString() gives flat text: V8 stores concatenated text as a tree of its parts.
    return { json: json.length < MIN_PART ? json.toString() : json, bytes: json.length, reads };
  }

  private flush(): void {
    if (this.text !== '') this.push(Buffer.from(this.text));
    this.text = '';
  }

  private push(part: Buffer): void {
    this.parts.push(part);
    this.bytes += part.length;
    if (this.bytes <= MIN_RESPONSE_LIMIT) return;
    const { cost, maxResponseBytes } = this.context;
    const maxBytes = maxResponseBytes?.() ?? MIN_RESPONSE_LIMIT;
    if (this.bytes <= maxBytes) return;
    if (cost) cost.refusal ??= responseTooLong(maxBytes);
    fallBack();
  }
}
