import { randomInt } from 'node:crypto';
import { MAX_ROWS } from './listing.js';
import { malformed } from './upstream-error.js';

/** The limit of different member names; rows have about twenty. Parsing a million takes seconds. */
const MAX_NAMES = 1_000;
/** The limit of objects and arrays; a row has two. */
const MAX_CONTAINERS = 5 * MAX_ROWS;
/** The limit of commas; a row of a listing has about ten, one of the stored map of routes 13. */
const MAX_VALUES = 14 * MAX_ROWS;

/** Rows are parsed when there are so many bytes of them, which takes less than a millisecond. */
const BATCH_BYTES = 65_536;

/** FNV-1a with a random seed. */
const PRIME = 0x01000193;
const SEED = randomInt(2 ** 32) | 0;

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/**
 * Parses one JSON text while it arrives, to what JSON.parse makes of the whole. Parsing a listing of 100,000 rows at
 * once would block requests for a quarter of a second.
 *
 * The lists that are members of the outermost object, such as `{"tokens":[…]}`, are parsed apart, a batch of rows at a
 * time. The text around them is parsed at the end, with the number of the list in place of its rows.
 *
 * Objects, values and names are counted, since 32 MB of `{},` or `[[[[` would be gigabytes when parsed.
 */
export class JsonReader {
  private isInString = false;
  private isEscaped = false;
  private containers = 0;
  private values = 0;
  /** The hash of the last string. Names with equal hashes count once; the random seed prevents forged collisions. */
  private hash = SEED;
  private readonly names = new Set<number>();
  /** How many objects and arrays are open. */
  private depth = 0;
  private isObject = false;
  private isInRows = false;
  private readonly lists: unknown[][] = [];
  /** The text around the lists. */
  private readonly around: Uint8Array[] = [];
  /** The rows that are not parsed yet. */
  private batch: Uint8Array[] = [];
  private batchBytes = 0;
  /** It would take a mark at the beginning of a batch for that of a text. */
  private readonly batchDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

  constructor(private readonly maxBatchBytes = BATCH_BYTES) {}

  /**
   * Reads the next bytes, which must not change afterwards.
   *
   * @throws UpstreamError UPSTREAM_MALFORMED if there are more parts than in any listing
   * @throws SyntaxError or TypeError if rows are not JSON in UTF-8
   */
  add(bytes: Uint8Array): void {
    /** Where the bytes begin that were not passed on yet. */
    let start = 0;
    // Faster than for...of.
    for (let at = 0; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0;
      if (this.isInString) {
        if (byte === QUOTE && !this.isEscaped) this.isInString = false;
        else {
          this.isEscaped = byte === BACKSLASH && !this.isEscaped;
          this.hash = Math.imul(this.hash ^ byte, PRIME);
        }
      } else if (byte === QUOTE) {
        this.isInString = true;
        this.isEscaped = false;
        this.hash = SEED;
      } else if (byte === COMMA) {
        if (++this.values > MAX_VALUES) throw tooMany(`${MAX_VALUES} values`);
        if (this.isInRows && this.depth === 2 && this.batchBytes + at - start >= this.maxBatchBytes) {
          this.addRows(bytes.subarray(start, at));
          this.parseBatch(false);
          start = at + 1;
        }
      } else if (byte === COLON) {
        if (this.names.add(this.hash).size > MAX_NAMES) throw tooMany(`${MAX_NAMES} names of members`);
      } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
        if (++this.containers > MAX_CONTAINERS) throw tooMany(`${MAX_CONTAINERS} objects and arrays`);
        this.depth++;
        if (this.depth === 1) this.isObject = byte === OPEN_BRACE;
        else if (this.depth === 2 && this.isObject && byte === OPEN_BRACKET) {
          this.around.push(bytes.subarray(start, at + 1), Buffer.from(String(this.lists.length)));
          this.lists.push([]);
          this.isInRows = true;
          start = at + 1;
        }
      } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
        this.depth--;
        if (this.isInRows && this.depth === 1) {
          this.addRows(bytes.subarray(start, at));
          this.parseBatch(true);
          this.isInRows = false;
          start = at;
        }
      }
    }
    const rest = bytes.subarray(start);
    if (this.isInRows) this.addRows(rest);
    else this.around.push(rest);
  }

  /**
   * Ends the text.
   *
   * @returns what JSON.parse would return for the whole
   * @throws SyntaxError or TypeError if the text is not JSON in UTF-8
   */
  end(): unknown {
    if (this.isInRows) throw new SyntaxError('Unexpected end of JSON input');
    const json: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(this.around)),
    );
    if (this.lists.length > 0) {
      // Each of its lists has one item, which is a number from here.
      for (const list of Object.values(json as object)) if (Array.isArray(list)) this.fill(list);
    }
    return json;
  }

  private fill(list: unknown[]): void {
    const rows = this.lists[Number(list[0])] ?? [];
    list.length = 0;
    for (const row of rows) list.push(row);
  }

  private addRows(bytes: Uint8Array): void {
    this.batch.push(bytes);
    this.batchBytes += bytes.length;
  }

  /** @param isLast whether the list ends here and not at a comma */
  private parseBatch(isLast: boolean): void {
    const rows = this.lists.at(-1) ?? [];
    const text = this.batchDecoder.decode(Buffer.concat(this.batch));
    this.batch = [];
    this.batchBytes = 0;
    const found = JSON.parse(`[${text}]`) as unknown[];
    if (found.length === 0 && !(isLast && rows.length === 0))
      throw new SyntaxError('Expected a value before or after a comma');
    for (const row of found) rows.push(row);
  }
}

function tooMany(most: string) {
  return malformed(`expected at most ${most}, got more`);
}
