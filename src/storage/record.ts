import { createHash, timingSafeEqual } from 'node:crypto';
import * as v from 'valibot';
import type { ServiceFingerprints } from '../domain/fingerprint.js';
import type { Fetched, Origin } from '../domain/listing.js';
import type { ListingKind } from '../upstream/listing-kinds.js';

/** A text that is not a record which may be served; the message completes "… is refused: ". */
export class InvalidRecord extends Error {
  override readonly name = 'InvalidRecord';
  /** True where another moment may find it sound: its clock and ours differ. */
  readonly isEarly: boolean;

  constructor(reason: string, isEarly = false) {
    super(reason);
    this.isEarly = isEarly;
  }
}

/** The form of records; one that this gateway cannot read has another number. */
export const RECORD_FORMAT = 1;
/** Clocks of machines that share records may differ by this. */
export const MAX_EARLY_MS = 60_000;

const content = v.object({
  name: v.string(),
  // Which of them may be served is for `ServiceFingerprints` to say.
  source: v.string(),
  service: v.string(),
  takenAt: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  rejected: v.object({ count: v.pipe(v.number(), v.safeInteger()), first: v.array(v.string()) }),
  largest: v.optional(v.object({ rows: v.pipe(v.number(), v.safeInteger()), at: v.number() })),
  rows: v.unknown(),
});

/** What shows that a record is whole. */
export interface RecordDigest {
  /** The digest of this JSON, without white space. */
  of(json: string): string;
  /** Why a record with another digest is refused. */
  readonly misfit: string;
}

/** A digest that everybody can make: it shows damage, and no intent. */
export const SHA256: RecordDigest = {
  of: digestOf,
  misfit: 'its digest does not fit: it is half written or altered',
};

/**
 * The bound on a record's length, in bytes.
 *
 * @param upstreamMaxBytes the limit on an answer: a record has a little more in each row
 */
export function maxRecordBytes(upstreamMaxBytes: number): number {
  return 2 * upstreamMaxBytes + 4096;
}

/** Writes an answer down for outside the process: a line that says what follows, with its digest, and JSON. */
export function encodeRecord<Row>(
  { name }: ListingKind<Row>,
  taken: Fetched<Row>,
  services: ServiceFingerprints,
  digest: RecordDigest = SHA256,
): string {
  const { source, takenAt, rejected, largest, rows } = taken;
  const json = JSON.stringify({ name, source, service: services[source], takenAt, rejected, largest, rows });
  return `${HEAD}${digest.of(json)}\n${json}`;
}

/**
 * Reads what `encodeRecord` wrote.
 *
 * @param now milliseconds since 1970
 * @throws InvalidRecord by rejection, for anything else: half written, altered, of another form, listing or upstream, or
 *   from the future
 */
export async function decodeRecord<Row>(
  kind: ListingKind<Row>,
  text: string,
  services: ServiceFingerprints,
  now: number,
  digest: RecordDigest = SHA256,
): Promise<Fetched<Row>> {
  const end = text.indexOf('\n');
  const json = text.slice(end + 1);
  if (!text.startsWith(HEAD))
    throw new InvalidRecord('it is not a record of this gateway, or of another format');
  if (end < 0 || !isEqualText(text.slice(HEAD.length, end), digest.of(json)))
    throw new InvalidRecord(digest.misfit);
  const { name, source, service, takenAt, rejected, largest, rows } = readContent(json);
  if (name !== kind.name)
    throw new InvalidRecord(`expected the ${kind.name} listing, got ${name.slice(0, 50)}`);
  if (service !== services[source]) throw new InvalidRecord('it is of another upstream');
  if (takenAt > now + MAX_EARLY_MS) {
    throw new InvalidRecord(`it is dated ${Math.round((takenAt - now) / 1000)} s in the future`, true);
  }
  const read = await readRows(kind, rows, { source, takenAt });
  // Those that an upstream sends are left out one by one; of ours, one says that none can be trusted.
  if (read.rejected.count > 0) {
    throw new InvalidRecord(`${read.rejected.count} of its rows do not have the form of a row`);
  }
  return { ...read, rejected, largest, unreadable: undefined };
}

async function readRows<Row>(kind: ListingKind<Row>, rows: unknown, origin: Origin): Promise<Fetched<Row>> {
  try {
    return await kind.parse(rows, origin);
  } catch (error) {
    throw new InvalidRecord(error instanceof Error ? error.message : String(error));
  }
}

function readContent(json: string): v.InferOutput<typeof content> {
  let read: unknown;
  try {
    read = JSON.parse(json);
  } catch {
    throw new InvalidRecord('it is not JSON');
  }
  const { success, output } = v.safeParse(content, read);
  if (!success) throw new InvalidRecord('it does not have the form of a record');
  return output;
}

const HEAD = `chains-and-tokens-gateway ${RECORD_FORMAT} `;

/** Compares in a time that does not tell where two texts of the same length differ. */
export function isEqualText(one: string, other: string): boolean {
  const [bytes, otherBytes] = [Buffer.from(one), Buffer.from(other)];
  return bytes.length === otherBytes.length && timingSafeEqual(bytes, otherBytes);
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
