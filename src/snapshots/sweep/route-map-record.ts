import * as v from 'valibot';
import { tokenKey } from '../../domain/addresses.js';
import { type Fetched, type Origin, type RowsAge, sentAtOf, type Token } from '../../domain/listing.js';
import { MAX_LENGTHS } from '../../domain/text-limits.js';
import {
  malformed,
  UPSTREAM_ERROR_CODES,
  type UpstreamError,
  type UpstreamErrorCode,
} from '../../domain/upstream-error.js';
import { forEachChunk, runInSteps, type Steps } from '../../scheduling/chunks.js';
import { ROUTES, type StoredKind } from '../../upstream/listing-kinds.js';
import type { KeyedToken, RouteMap } from './route-map.js';

/** The last failed request of a sweep. */
export interface SweepFailure {
  readonly code: UpstreamErrorCode;
  readonly message: string;
}

/** What the map is made of outside the process: one row for the sweep, then the destinations, then the sources. */
export type RouteMapRow = StoredSweep | StoredDestination | StoredSource;

interface StoredSweep {
  readonly type: 'sweep';
  /** When the sweep began (milliseconds since 1970); 0 before the first. */
  readonly startedAt: number;
  readonly failure: SweepFailure | null;
}

interface StoredDestination {
  readonly type: 'destination';
  readonly row: Token;
  /** Its place among the destinations that are the same token with other decimals. */
  readonly variant: number;
}

interface StoredSource extends RowsAge {
  readonly type: 'source';
  readonly chainKey: string;
  readonly address: string;
  /** The places of its destinations in the list of destinations. */
  readonly places: Uint32Array;
}

/** A map that was read. */
export interface StoredRouteMap {
  readonly startedAt: number;
  readonly failure: SweepFailure | null;
  readonly destinations: readonly KeyedToken[];
  readonly sources: readonly StoredSource[];
}

/** How far the clocks of gateways that share answers may be apart. */
const CLOCKS_APART_MS = 60_000;

const time = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const sweepRow = v.object({
  type: v.literal('sweep'),
  startedAt: time,
  failure: v.nullable(
    v.object({ code: v.picklist(UPSTREAM_ERROR_CODES), message: v.pipe(v.string(), v.maxLength(1_000)) }),
  ),
});
const destinationRow = v.object({
  type: v.literal('destination'),
  row: v.looseObject({ price: v.nullable(v.looseObject({ asOf: time })) }),
  variant: v.pipe(v.number(), v.safeInteger(), v.minValue(0), v.maxValue(255)),
});
const sourceRow = v.object({
  type: v.literal('source'),
  chainKey: v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_LENGTHS.chainKey)),
  address: v.pipe(v.string(), v.nonEmpty(), v.maxLength(MAX_LENGTHS.address)),
  takenAt: time,
  upstreamAgeMs: v.optional(time),
  // Base64: numbers in JSON would take most of the time of reading it.
  places: v.string(),
});
const anyRow = v.variant('type', [sweepRow, destinationRow, sourceRow]);

/** The map of routes, as far as storage is concerned. */
export const ROUTE_MAP: StoredKind<RouteMapRow> = {
  name: 'route-map',
  parse: parseRouteMap,
};

/** The rows of the map as it is now. They stay as they are when the map changes, and are encoded one by one. */
export function rowsOfRouteMap(
  map: RouteMap,
  { startedAt, failure }: Pick<StoredRouteMap, 'startedAt' | 'failure'>,
): readonly RouteMapRow[] {
  const { rows, places } = map.destinationList();
  return [
    { type: 'sweep', startedAt, failure },
    ...rows.map(([row, variant]): RouteMapRow => ({ type: 'destination', row, variant })),
    ...Array.from(map.all(), (source) => new EncodableSource(source, places)),
  ];
}

class EncodableSource implements StoredSource {
  readonly type = 'source';
  readonly chainKey: string;
  readonly address: string;
  readonly takenAt: number;
  readonly upstreamAgeMs: number | undefined;
  private readonly ids: Uint32Array;

  constructor(
    source: Omit<StoredSource, 'type' | 'places'> & { readonly destinations: Uint32Array },
    private readonly placeOf: Uint32Array,
  ) {
    this.chainKey = source.chainKey;
    this.address = source.address;
    this.takenAt = source.takenAt;
    this.upstreamAgeMs = source.upstreamAgeMs || undefined;
    this.ids = source.destinations;
  }

  get places(): Uint32Array {
    return this.ids.map((id) => this.placeOf[id] ?? 0);
  }

  toJSON(): object {
    const { type, chainKey, address, takenAt, upstreamAgeMs, places } = this;
    const bytes = Buffer.alloc(4 * places.length);
    for (const [index, place] of places.entries()) bytes.writeUInt32LE(place, 4 * index);
    return { type, chainKey, address, takenAt, upstreamAgeMs, places: bytes.toString('base64') };
  }
}

/** Reads rows of a record. One that does not fit makes all of them invalid. */
async function parseRouteMap(unknownRows: readonly unknown[], origin: Origin): Promise<Fetched<RouteMapRow>> {
  const rows: RouteMapRow[] = [];
  const destinations: (StoredDestination & { readonly asOf: number })[] = [];
  const latest = origin.takenAt + CLOCKS_APART_MS;
  await forEachChunk(unknownRows, (chunk) => {
    for (const unknownRow of chunk) {
      const { success, output } = v.safeParse(anyRow, unknownRow, { abortEarly: true });
      if (!success) throw unreadable();
      if (output.type === 'sweep') {
        if (output.startedAt > latest) throw unreadable();
        rows.push(output);
      } else if (output.type === 'source') {
        if (sentAtOf(output) > latest) throw unreadable();
        rows.push({ ...output, places: placesIn(output.places) });
      } else {
        const { row, variant } = output;
        const asOf = row.price?.asOf ?? 0;
        if (asOf > latest) throw unreadable();
        // It is checked below, with the checks of an answer.
        destinations.push({ type: 'destination', row: row as unknown as Token, variant, asOf });
      }
    }
  });
  const [sweep, ...sources] = rows;
  if (sweep?.type !== 'sweep' || sources.some(({ type }) => type !== 'source')) throw unreadable();
  const read = await readDestinations(destinations, origin);
  await runInSteps(checkSources(sources as readonly StoredSource[], read.length));
  return { ...origin, rows: [sweep, ...read, ...sources], rejected: { count: 0, first: [] } };
}

/** Reads the rows of tokens with all the checks of an answer, those of one variant at a time: their keys differ. */
async function readDestinations(
  stored: readonly (StoredDestination & { readonly asOf: number })[],
  origin: Origin,
): Promise<readonly StoredDestination[]> {
  const read: StoredDestination[] = [];
  const byVariant = new Map<number, number[]>();
  for (const [index, { variant }] of stored.entries()) {
    const ofVariant = byVariant.get(variant);
    if (ofVariant) ofVariant.push(index);
    else byVariant.set(variant, [index]);
  }
  for (const [variant, indexes] of byVariant) {
    const { rows, rejected } = await ROUTES.parse(
      indexes.map((index) => stored[index]?.row),
      origin,
    );
    if (rejected.count > 0) throw unreadable();
    for (const [nth, row] of rows.entries()) {
      const index = indexes[nth] ?? 0;
      const price = row.price && Object.freeze({ usd: row.price.usd, asOf: stored[index]?.asOf ?? 0 });
      // A literal with every member: by spreading, V8 would give each token a hidden class of its own.
      const { isBridgeable, chainKey, address, decimals, symbol, name, logoUrl, heldBack } = row;
      read[index] = {
        type: 'destination',
        row: Object.freeze({
          isBridgeable,
          chainKey,
          address,
          decimals,
          symbol,
          name,
          logoUrl,
          price,
          heldBack,
        }),
        variant,
      };
    }
  }
  return read;
}

/** Checks that each source is there once, and leads to destinations that are there, to each once. */
function* checkSources(sources: readonly StoredSource[], destinationCount: number): Steps<void> {
  const keys = new Set<string>();
  const seenBy = new Uint32Array(destinationCount);
  for (const [index, { chainKey, address, places }] of sources.entries()) {
    keys.add(tokenKey(chainKey, address));
    for (const place of places) {
      if (place >= destinationCount || seenBy[place] === index + 1) throw unreadable();
      seenBy[place] = index + 1;
    }
    yield;
  }
  if (keys.size < sources.length) throw unreadable();
}

/** Puts the rows of a record that was read in order. */
export function storedRouteMap({ rows }: Fetched<RouteMapRow>): StoredRouteMap {
  const [sweep] = rows;
  const destinations: KeyedToken[] = [];
  const sources: StoredSource[] = [];
  for (const row of rows) {
    if (row.type === 'destination') destinations.push([tokenKey(row.row.chainKey, row.row.address), row.row]);
    else if (row.type === 'source') sources.push(row);
  }
  if (sweep?.type !== 'sweep') throw unreadable();
  return { startedAt: sweep.startedAt, failure: sweep.failure, destinations, sources };
}

function placesIn(base64: string): Uint32Array {
  const bytes = Buffer.from(base64, 'base64');
  if (bytes.length % 4 !== 0) throw unreadable();
  return Uint32Array.from({ length: bytes.length / 4 }, (_, index) => bytes.readUInt32LE(4 * index));
}

function unreadable(): UpstreamError {
  return malformed('a row of the map of routes does not have the form of one');
}
