import { tokenKey } from '../../domain/addresses.js';
import { type RowsAge, sentAtOf, type Token } from '../../domain/listing.js';
import { IdList } from './id-list.js';

/** A token that routes start from. */
export interface SourceToken {
  readonly chainKey: string;
  /** As the upstream writes it. */
  readonly address: string;
}

/** The last answer for one source token. */
export interface KnownSource extends SourceToken, RowsAge {
  readonly key: string;
  /** The ids of its destinations, in the order of the answer. Never changed, only replaced. */
  readonly destinations: Uint32Array;
}

/** A row of an answer with the key of its token. */
export type KeyedToken = readonly [key: string, row: Token];

/** Bounds on the memory of the map. */
export interface RouteMapLimits {
  readonly pairs: number;
  readonly destinations: number;
}

/** 16 MB for both directions of the pairs, and 35 MB at most for the destinations, of which a service has a fifth. */
export const ROUTE_MAP_LIMITS: RouteMapLimits = { pairs: 2_000_000, destinations: 50_000 };

interface Source extends KnownSource {
  readonly id: number;
  takenAt: number;
  upstreamAgeMs: number;
  destinations: Uint32Array;
}

interface Destination {
  readonly id: number;
  readonly key: string;
  /** As the newest answer has it. */
  row: Token;
  /** The ids of the source tokens whose answers have it. */
  readonly sources: IdList;
}

/**
 * The routes from many tokens, each as the upstream's last answer has them, and the same pairs turned round. A pair
 * takes four bytes in each direction: tokens are numbered, and each row is held once.
 *
 * Rows that differ in decimals are different destinations, although they are of one token.
 */
export class RouteMap {
  private readonly sources = new Map<string, Source>();
  private readonly sourcesById: (Source | undefined)[] = [];
  private readonly freeSources: number[] = [];
  private readonly destinations = new Map<string, Destination[]>();
  private readonly destinationsById: (Destination | undefined)[] = [];
  private readonly freeDestinations: number[] = [];
  private pairCount = 0;
  private changeCount = 0;
  private answerCount = 0;
  private oldest: { readonly answers: number; readonly takenAt: number | undefined } | undefined;

  constructor(private readonly limits: RouteMapLimits = ROUTE_MAP_LIMITS) {}

  /** How many source tokens have an answer. */
  get size(): number {
    return this.sources.size;
  }

  get pairs(): number {
    return this.pairCount;
  }

  /** Changes whenever a source token or a pair comes or goes. */
  get version(): number {
    return this.changeCount;
  }

  /** Changes with each answer, even if the routes are as before. */
  get answers(): number {
    return this.answerCount;
  }

  /** When the oldest of all answers was taken (milliseconds since 1970); undefined if there is none. */
  get oldestAt(): number | undefined {
    if (this.oldest?.answers !== this.answerCount) {
      let takenAt: number | undefined;
      for (const source of this.sources.values()) {
        if (takenAt === undefined || source.takenAt < takenAt) takenAt = source.takenAt;
      }
      this.oldest = { answers: this.answerCount, takenAt };
    }
    return this.oldest.takenAt;
  }

  /** The last answer for the source token with this key. */
  get(key: string): KnownSource | undefined {
    return this.sources.get(key);
  }

  all(): IterableIterator<KnownSource> {
    return this.sources.values();
  }

  /** The rows of an answer of this map. */
  rowsOf({ destinations }: KnownSource): readonly Token[] {
    return Array.from(destinations, (id) => this.destination(id).row);
  }

  /**
   * The source tokens whose answers have a destination with this key, in no order.
   *
   * @param decimals only rows with these decimals; all unless given
   */
  sourcesOf(key: string, decimals?: number): readonly KnownSource[] {
    const found: KnownSource[] = [];
    for (const { row, sources } of this.destinations.get(key) ?? []) {
      if (decimals !== undefined && row.decimals !== decimals) continue;
      for (const id of sources.values()) {
        const source = this.sourcesById[id];
        if (source) found.push(source);
      }
    }
    return found;
  }

  /** At least as many as `sourcesOf` finds. */
  countSources(key: string): number {
    return (this.destinations.get(key) ?? []).reduce((count, { sources }) => count + sources.length, 0);
  }

  /**
   * Enters the answer for one source token, unless one is known that was requested later.
   *
   * @param rows with different keys
   * @returns false if the answer does not fit within the limits; then nothing is changed
   */
  set({ chainKey, address }: SourceToken, age: RowsAge, rows: readonly KeyedToken[]): boolean {
    const key = tokenKey(chainKey, address);
    const known = this.sources.get(key);
    if (known && sentAtOf(known) >= sentAtOf(age)) return true;
    const before = known?.destinations ?? NONE;
    if (this.pairCount - before.length + rows.length > this.limits.pairs) return false;
    const unknown = rows.reduce((count, row) => (this.find(row) ? count : count + 1), 0);
    if (this.destinationsById.length - this.freeDestinations.length + unknown > this.limits.destinations) {
      return false;
    }
    this.answerCount++;
    const source = known ?? this.addSource(key, chainKey, address);
    const after = Uint32Array.from(rows, (row) => this.enter(row));
    source.takenAt = age.takenAt;
    source.upstreamAgeMs = age.upstreamAgeMs ?? 0;
    source.destinations = after;
    this.pairCount += after.length - before.length;
    if (known && isSame(before, after)) return true;
    this.changeCount++;
    const wasThere = new Set(before);
    for (const id of after) if (!wasThere.delete(id)) this.destination(id).sources.add(source.id);
    for (const id of wasThere) this.release(id, source.id);
    return true;
  }

  /** Removes a source token and its routes. */
  delete(key: string): void {
    const source = this.sources.get(key);
    if (!source) return;
    this.changeCount++;
    this.answerCount++;
    this.pairCount -= source.destinations.length;
    for (const id of source.destinations) this.release(id, source.id);
    this.sources.delete(key);
    this.sourcesById[source.id] = undefined;
    this.freeSources.push(source.id);
  }

  /**
   * All destinations at this moment, each with its place among those with the same key, and the place of each id in
   * this list.
   */
  destinationList(): {
    readonly rows: (readonly [row: Token, variant: number])[];
    readonly places: Uint32Array;
  } {
    const rows: (readonly [Token, number])[] = [];
    const places = new Uint32Array(this.destinationsById.length);
    for (const variants of this.destinations.values()) {
      for (const [variant, { id, row }] of variants.entries()) {
        places[id] = rows.length;
        rows.push([row, variant]);
      }
    }
    return { rows, places };
  }

  private find([key, { decimals }]: KeyedToken): Destination | undefined {
    return this.destinations.get(key)?.find(({ row }) => row.decimals === decimals);
  }

  /** The id of the destination with this row, which is new or gets this row. */
  private enter(keyed: KeyedToken): number {
    const known = this.find(keyed);
    const [key, row] = keyed;
    if (known) {
      known.row = row;
      return known.id;
    }
    const id = this.freeDestinations.pop() ?? this.destinationsById.length;
    const destination = { id, key, row, sources: new IdList() };
    this.destinationsById[id] = destination;
    const variants = this.destinations.get(key);
    if (variants) variants.push(destination);
    else this.destinations.set(key, [destination]);
    return id;
  }

  private addSource(key: string, chainKey: string, address: string): Source {
    const id = this.freeSources.pop() ?? this.sourcesById.length;
    const source = { id, key, chainKey, address, takenAt: 0, upstreamAgeMs: 0, destinations: NONE };
    this.sources.set(key, source);
    this.sourcesById[id] = source;
    return source;
  }

  /** Ends one pair, and forgets a destination that nothing leads to any more. */
  private release(id: number, sourceId: number): void {
    const { key, sources } = this.destination(id);
    sources.delete(sourceId);
    if (sources.length > 0) return;
    const others = (this.destinations.get(key) ?? []).filter((other) => other.id !== id);
    if (others.length > 0) this.destinations.set(key, others);
    else this.destinations.delete(key);
    this.destinationsById[id] = undefined;
    this.freeDestinations.push(id);
  }

  private destination(id: number): Destination {
    const destination = this.destinationsById[id];
    if (!destination) throw new Error(`Expected a destination with the id ${id}, got none`);
    return destination;
  }
}

const NONE = new Uint32Array(0);

function isSame(one: Uint32Array, other: Uint32Array): boolean {
  return one.length === other.length && one.every((id, index) => id === other[index]);
}
