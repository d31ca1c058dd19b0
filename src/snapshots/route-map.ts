/** Stores the known routes from many tokens in little memory. A scan of all routes finds the sources of a token. */
import { type RowsAge, sentAtOf, type Token } from '../domain/listing.js';

/** Bounds on memory: 8 MB for the pairs of source and destination, and about the same for all destinations ever known. */
const LIMITS = { pairs: 2_000_000, destinations: 50_000 };

/** Times are in milliseconds since 1970. */
interface Answer {
  readonly takenAt: number;
  /** When it was requested. */
  readonly sentAt: number;
  /** The numbers of its destinations. */
  readonly destinations: Uint32Array;
}

/**
 * The last answer for each source token, by its key. Destinations are numbered, so that a pair takes four bytes, and a
 * scan of 800,000 pairs a millisecond. Rows of one token with different decimals are different destinations.
 */
export class RouteMap {
  private readonly answers = new Map<string, Answer>();
  private readonly numbers = new Map<string, number>();
  pairs = 0;
  /** How often a source token was added or removed, or its destinations changed. */
  changeCount = 0;
  /** How many answers were entered or removed, even if the routes stayed the same. */
  answerCount = 0;

  constructor(private readonly limits = LIMITS) {}

  /** How many source tokens have an answer. */
  get size(): number {
    return this.answers.size;
  }

  /** `takenAt` of the oldest answer (milliseconds since 1970). */
  get oldestAt(): number | undefined {
    return oldest(this.answers.values());
  }

  get(key: string): Omit<Answer, 'destinations'> | undefined {
    return this.answers.get(key);
  }

  /**
   * Enters the answer for a source token, unless a known one was requested later.
   *
   * @param rows the destinations, by key
   * @returns false if it does not fit within the limits; the map is unchanged then
   */
  set(key: string, age: RowsAge, rows: ReadonlyMap<string, Pick<Token, 'decimals'>>): boolean {
    const known = this.answers.get(key);
    const sentAt = sentAtOf(age);
    // A known answer from the future does not count: after a clock was set back it would keep out all new answers.
    if (known && known.sentAt >= sentAt && known.sentAt <= Date.now()) return true;
    const before = known?.destinations ?? new Uint32Array(0);
    const pairs = this.pairs - before.length + rows.size;
    const names = Array.from(rows, ([destination, { decimals }]) => nameOf(destination, decimals));
    const isNew = (name: string) => !this.numbers.has(name);
    const numbered = this.numbers.size + names.filter(isNew).length;
    if (pairs > this.limits.pairs || numbered > this.limits.destinations) return false;
    for (const name of names.filter(isNew)) this.numbers.set(name, this.numbers.size);
    const destinations = Uint32Array.from(names, (name) => this.numbers.get(name) ?? 0);
    this.answers.set(key, { takenAt: age.takenAt, sentAt, destinations });
    this.pairs = pairs;
    this.answerCount++;
    if (!known || String(before) !== String(destinations)) this.changeCount++;
    return true;
  }

  removeUnless(isKept: (key: string) => boolean): void {
    for (const [key, { destinations }] of this.answers) {
      if (isKept(key)) continue;
      this.answers.delete(key);
      this.pairs -= destinations.length;
      this.changeCount++;
      this.answerCount++;
    }
  }

  /** The keys of the source tokens with a route to this destination: to a row with these decimals, if given. */
  sourcesOf(key: string, decimals: number | undefined): readonly string[] {
    const name = nameOf(key, decimals ?? '');
    const numbers =
      decimals === undefined
        ? [...this.numbers].flatMap(([each, number]) => (each.startsWith(name) ? [number] : []))
        : [this.numbers.get(name) ?? -1];
    const answers = [...this.answers];
    return numbers.flatMap((number) =>
      answers.flatMap(([source, { destinations }]) => (destinations.includes(number) ? [source] : [])),
    );
  }
}

/** The earliest `takenAt` of these answers; undefined without one. */
export function oldest(answers: Iterable<RowsAge | undefined>): number | undefined {
  let earliest: number | undefined;
  for (const answer of answers) {
    if (answer && answer.takenAt < (earliest ?? Number.POSITIVE_INFINITY)) earliest = answer.takenAt;
  }
  return earliest;
}

/** The name of a destination. A key has one space, within it: so only names of this key begin with `key` and a space. */
function nameOf(key: string, decimals: number | ''): string {
  return `${key} ${decimals}`;
}
