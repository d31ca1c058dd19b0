/*
 * One execution of a query by a plan, and its response so far. Whatever waits, fails or is unknown to the plan ends it
 * by a throw: graphql-js then executes the operation from the beginning, and is the only one to report errors.
 */
import { MIN_RESPONSE_LIMIT } from '../domain/text-limits.js';

/** What {@link fallBack} throws. It has no stack, so that it costs nothing to attack with. */
export const FALL_BACK: unknown = Object.freeze({ message: 'The operation is left to graphql-js.' });

/**
 * Leaves the operation to graphql-js.
 *
 * @param value may be or contain promises: their rejections are handled, since nobody waits for them any more and an
 *   unhandled one would end the process
 */
export function fallBack(value?: unknown): never {
  ignoreRejections(value);
  throw FALL_BACK;
}

function ignoreRejections(value: unknown): void {
  if (value instanceof Promise) value.catch(() => {});
  else if (Array.isArray(value)) value.forEach(ignoreRejections);
}

/** Falls back for promises, errors, and all that is no object. */
export function assertSynchronous(value: unknown): void {
  const isPlain = typeof value === 'object' && !(value instanceof Error);
  if (!isPlain || typeof (value as { then?: unknown }).then === 'function') fallBack(value);
}

/** The part of an operation's context that knows what its resolvers read. */
export interface Tracker {
  /**
   * Calls `write`.
   *
   * @returns what was read meanwhile; undefined if what was written holds for this operation only
   */
  track(write: () => void): object | undefined;
  /**
   * Notes as read now what was read for JSON that was kept.
   *
   * @returns false if something else would be read now; nothing is noted then
   */
  repeat(reads: object): boolean;
}

/** The part of an operation's context that this uses. */
export interface ExecutionContext {
  /** Without it no JSON is kept. */
  readonly tracker?: Tracker;
  /** Limit on the bytes of the response, at least {@link MIN_RESPONSE_LIMIT}. Asked only beyond that. */
  readonly maxResponseBytes?: () => number;
}

/** Appends the JSON of a value that is not null. */
export type Write = (value: unknown, execution: Execution) => void;

/** JSON that is to be kept, with what was read for it. */
export interface TrackedJson {
  /** Bytes if it is long: to copy them costs more than to send another part. */
  readonly json: string | Buffer;
  readonly bytes: number;
  /** Undefined if it cannot be used again. */
  readonly reads: object | undefined;
}

/** Shorter kept JSON is text. In bytes. */
const MIN_PART = 8_192;
/** Longer text becomes bytes between two items of a list. In UTF-16 units. */
const MAX_TEXT = 32_768;

/** One execution of an operation, and its response so far: finished parts in UTF-8, and then the text. */
export class Execution {
  /** JSON that is not yet in bytes; plans append to it. */
  text = '';
  private parts: Buffer[] = [];
  private bytes = 0;
  /** Set where a resolver has read something that is not there; it may have caught the error. */
  hasFallenBack = false;
  /** Set by all that depends on variables: JSON with it is not kept. */
  usesVariables = false;
  /** Undefined if no JSON is to be kept, and while some is written that will be kept as a whole. */
  tracker: Tracker | undefined;

  /** @param keepsJson whether this operation may come again */
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

  /** The response in parts, which must not be changed: kept JSON is one of them as it is. */
  finish(): readonly Buffer[] {
    this.flush();
    return this.parts;
  }

  /** Writes a value apart from the response, so that its JSON can be kept. */
  track(tracker: Tracker, write: Write, value: unknown): TrackedJson {
    const { text, parts, bytes, usesVariables } = this;
    this.text = '';
    this.parts = [];
    this.usesVariables = false;
    this.tracker = undefined;
    const read = tracker.track(() => write(value, this));
    this.flush();
    const [first, ...others] = this.parts;
    const json = first && others.length === 0 ? first : Buffer.concat(this.parts);
    const reads = this.usesVariables ? undefined : read;
    this.text = text;
    this.parts = parts;
    this.bytes = bytes;
    this.usesVariables ||= usesVariables;
    this.tracker = tracker;
    // As text in one piece: V8 keeps one that was put together as a tree of its parts.
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
    if (this.bytes > (this.context.maxResponseBytes?.() ?? MIN_RESPONSE_LIMIT)) fallBack();
  }
}
