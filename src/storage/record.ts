import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type { ServiceFingerprints } from '../domain/fingerprint.js';
import type { GuardRecord, HeldRow } from '../domain/guard-record.js';
import { JsonReader } from '../domain/json-reader.js';
import { type Fetched, type Origin, sentAtOf } from '../domain/listing.js';
import { forEachChunk, yieldThen } from '../scheduling/chunks.js';
import type { StoredKind } from '../upstream/listing-kinds.js';

/** A text is no record, or one that may not be served. The message completes "… is refused: ". */
export class InvalidRecord extends Error {
  override readonly name = 'InvalidRecord';
}

/** The number of the format. It changes when older gateways can no longer read what newer ones write. */
export const RECORD_FORMAT = 1;
/** How far the clocks of machines that share records may be apart. */
const MAX_EARLY_MS = 60_000;

/** Room in a record for what is remembered of earlier listings and of guarded values, in bytes. */
const MAX_MEMORY_BYTES = 16_777_216;

const integer = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const versionPart = v.pipe(integer, v.maxValue(1_000_000_000));
/** Without a history that can be read, the rows are still good: clients then get the whole listing as a reset. */
const history = v.fallback(
  v.optional(
    v.object({
      changes: v.object({
        cursor: v.string(),
        steps: v.array(v.object({ from: v.string(), keys: v.array(v.string()) })),
      }),
      tokenList: v.optional(
        v.object({
          version: v.object({ major: versionPart, minor: versionPart, patch: versionPart }),
          at: v.pipe(integer, v.maxValue(8.64e15)),
          chains: v.array(v.tuple([v.string(), v.pipe(v.number(), v.safeInteger()), v.string()])),
        }),
      ),
    }),
  ),
  undefined,
);

const time = v.pipe(integer, v.maxValue(8.64e15));
const price = v.pipe(v.number(), v.minValue(0), v.finite());
/** Its rows are read as those of the listing. */
const guardJson = v.object({
  beganAt: time,
  gone: v.array(v.object({ row: v.unknown(), at: time })),
  held: v.array(v.object({ key: v.string(), rows: v.array(v.unknown()), since: time })),
  arrived: v.array(v.tuple([v.string(), time])),
  accepted: v.array(v.object({ key: v.string(), value: v.string(), by: v.picklist(['time', 'operator']) })),
  prices: v.array(
    v.object({ key: v.string(), before: v.nullable(price), usd: v.nullable(price), since: time }),
  ),
  lossAcceptedAt: time,
  unnumbered: v.array(v.string()),
});

const content = v.object({
  name: v.string(),
  // Which of them may be served is for `ServiceFingerprints` to say.
  source: v.string(),
  service: v.string(),
  takenAt: integer,
  upstreamAgeMs: v.optional(integer),
  rejected: v.object({ count: v.pipe(v.number(), v.safeInteger()), first: v.array(v.string()) }),
  largest: v.optional(v.object({ rows: v.pipe(v.number(), v.safeInteger()), at: v.number() })),
  history,
  guard: v.optional(guardJson),
  rows: v.custom<readonly unknown[]>(Array.isArray),
});

/**
 * The bound on a record's length, in bytes.
 *
 * @param upstreamMaxBytes the limit on an answer: a record has a little more in each row
 */
export function maxRecordBytes(upstreamMaxBytes: number): number {
  return 2 * upstreamMaxBytes + MAX_MEMORY_BYTES;
}

/**
 * The last encoded rows of each kind, so that a snapshot is encoded once for disk and Redis, and no old one is held in
 * memory.
 */
const latest = new Map<string, { readonly rows: unknown; readonly parts: Promise<readonly Buffer[]> }>();

/** Turns the rows of a listing into JSON without the brackets around it, in parts. */
function encodeOnce(name: string, rows: readonly unknown[]): Promise<readonly Buffer[]> {
  const known = latest.get(name);
  if (known?.rows === rows) return known.parts;
  const parts = encodeRows(rows);
  latest.set(name, { rows, parts });
  return parts;
}

async function encodeRows(rows: readonly unknown[]): Promise<readonly Buffer[]> {
  const parts: Buffer[] = [];
  await forEachChunk(rows, (chunk, offset) => {
    parts.push(Buffer.from((offset > 0 ? ',' : '') + JSON.stringify(chunk).slice(1, -1)));
  });
  return parts;
}

/**
 * Encodes a listing for storage: a line with the format and a digest, which shows that it is whole, then JSON. It yields
 * to requests.
 *
 * @returns the record in parts of some kilobytes, to be written one after the other. To copy a record of 100,000 rows
 *   into one buffer would block requests for 50 ms.
 */
export async function encodeRecord<Row>(
  kind: StoredKind<Row>,
  fetched: Fetched<Row>,
  services: ServiceFingerprints,
): Promise<readonly Buffer[]> {
  const { source, takenAt, upstreamAgeMs, rejected, largest, history, guard, rows } = fetched;
  const facts = JSON.stringify({
    name: kind.name,
    source,
    service: services[source],
    takenAt,
    upstreamAgeMs,
    rejected,
    largest,
    history,
    guard,
  });
  const before = Buffer.from(`${facts.slice(0, -1)},"rows":[`);
  const json = [before, ...(await encodeOnce(kind.name, rows)), Buffer.from(']}')];
  const hash = createHash('sha256');
  for (const part of json) await yieldThen(() => hash.update(part));
  return [Buffer.from(`${HEAD}${hash.digest('hex')}\n`), ...json];
}

/**
 * Reads what `encodeRecord` wrote. It yields to requests.
 *
 * @param services the services whose rows may be served; undefined for a record of which only the facts are wanted
 * @param now milliseconds since 1970
 * @throws InvalidRecord by rejection if it is half written, altered, from the future, or of another format, listing or
 *   upstream
 */
export async function decodeRecord<Row>(
  kind: StoredKind<Row>,
  record: Buffer,
  services: ServiceFingerprints | undefined,
  now: number,
): Promise<Fetched<Row>> {
  if (!record.subarray(0, HEAD.length).equals(Buffer.from(HEAD)))
    throw new InvalidRecord('it is not a record of this gateway, or of another format');
  const end = record.subarray(0, MAX_LINE).indexOf('\n');
  const json = record.subarray(end + 1);
  const hash = createHash('sha256');
  await forEachPiece(json, (piece) => hash.update(piece));
  if (end < 0 || record.toString('latin1', HEAD.length, end) !== hash.digest('hex'))
    throw new InvalidRecord('its digest does not fit: it is half written or altered');
  const { success, output } = v.safeParse(content, await parseJson(json));
  if (!success) throw new InvalidRecord('it does not have the form of a record');
  const { name, source, service, takenAt, upstreamAgeMs, rejected, largest, history, guard, rows } = output;
  if (name !== kind.name)
    throw new InvalidRecord(`expected the ${kind.name} listing, got ${name.slice(0, 50)}`);
  if (services && service !== services[source]) throw new InvalidRecord('it is of another upstream');
  const earlyMs = sentAtOf(output) - now;
  if (earlyMs > MAX_EARLY_MS) {
    throw new InvalidRecord(`it is dated ${Math.round(earlyMs / 1000)} s in the future`);
  }
  const origin = { source, takenAt, upstreamAgeMs };
  const { unreadable: _none, contradictory: _neither, ...fetched } = await parseAll(kind, rows, origin);
  return { ...fetched, rejected, largest, history, guard: guard && (await parseGuard(kind, guard, origin)) };
}

/** Reads rows that the gateway has written. It writes no bad rows: one of them shows that none can be trusted. */
async function parseAll<Row>(
  kind: StoredKind<Row>,
  rows: readonly unknown[],
  origin: Origin,
): Promise<Fetched<Row>> {
  const read = await kind.parse(rows, origin).catch((error: Error) => {
    throw new InvalidRecord(error.message);
  });
  if (read.rejected.count === 0) return read;
  throw new InvalidRecord(`${read.rejected.count} of its rows do not have the form of a row`);
}

async function parseGuard<Row>(
  kind: StoredKind<Row>,
  guard: v.InferOutput<typeof guardJson>,
  origin: Origin,
): Promise<GuardRecord<Row>> {
  const gone = guard.gone.map(({ row }) => row);
  const goneRows = gone.length === 0 ? [] : (await parseAll(kind, gone, origin)).rows;
  const held: HeldRow<Row>[] = [];
  for (const { key, rows, since } of guard.held) {
    const parsed: Row[] = [];
    // One by one: rows that contradict each other have one key.
    for (const row of rows) parsed.push(...(await parseAll(kind, [row], origin)).rows);
    held.push({ key, rows: parsed, since });
  }
  return {
    ...guard,
    gone: goneRows.map((row, index) => ({ row, at: guard.gone[index]?.at ?? 0 })),
    held,
  };
}

const HEAD = `chains-and-tokens-gateway ${RECORD_FORMAT} `;
/** The first line is shorter. */
const MAX_LINE = 200;
/** So many bytes are read in less than a millisecond. */
const PIECE_BYTES = 65_536;

/** Undefined for a text that is no JSON, or has more parts than any record. */
async function parseJson(bytes: Buffer): Promise<unknown> {
  const reader = new JsonReader();
  try {
    await forEachPiece(bytes, (piece) => reader.add(piece));
    return reader.end();
  } catch {
    return undefined;
  }
}

/** Passes the bytes on in pieces, and yields to requests in between. */
async function forEachPiece(bytes: Buffer, each: (piece: Buffer) => void): Promise<void> {
  for (let from = 0; from < bytes.length; from += PIECE_BYTES)
    await yieldThen(() => each(bytes.subarray(from, from + PIECE_BYTES)));
}
