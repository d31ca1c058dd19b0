/** The form in which listings are stored on disk, and listings and routes in Redis. */
import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type { ServiceFingerprints } from '../domain/digests.js';
import { type Fetched, MAX_CLOCK_DIFFERENCE_MS, type SourceAndAge, sentAtOf } from '../domain/listing.js';
import { type GuardMemory, guardMemoryForm, type HeldRow, historyForm } from '../domain/listing-memory.js';
import { yieldThen } from '../scheduling/steps.js';
import type { StoredKind } from '../upstream/listing-kinds.js';

/** The number of the format of stored listings. It changes when older and newer gateways cannot read each other's form. */
export const RECORD_FORMAT = 1;
const HEAD = `chains-and-tokens-gateway ${RECORD_FORMAT} `;
const MAX_LINE = 200;

const content = v.object({
  name: v.string(),
  // `service` is the fingerprint of the service named `source`. Rows with another fingerprint are not served.
  source: v.string(),
  service: v.string(),
  takenAt: v.number(),
  upstreamAgeMs: v.optional(v.number()),
  rejected: v.object({ count: v.number(), first: v.array(v.string()) }),
  // Older gateways did not store these rows.
  contradictory: v.optional(v.array(v.tuple([v.string(), v.array(v.unknown())])), []),
  largest: v.optional(v.object({ rows: v.number(), at: v.number() })),
  history: v.optional(historyForm),
  guard: v.optional(guardMemoryForm),
  rows: v.custom<readonly unknown[]>(Array.isArray),
});

/** Encodes a listing: a line with the format and a digest, by which a reader detects damage, then JSON. */
export async function encodeListing<Row>(
  kind: StoredKind<Row>,
  fetched: Fetched<Row>,
  services: ServiceFingerprints,
): Promise<Buffer> {
  const { source, takenAt, upstreamAgeMs, rejected, largest, history, rows } = fetched;
  // Older gateways read `accepted`, too.
  const guard = fetched.guard && { ...fetched.guard, accepted: [] };
  const facts = { name: kind.name, source, service: services[source], takenAt, upstreamAgeMs, rejected };
  const known = { contradictory: [...(fetched.contradictory ?? [])], largest, history, guard };
  const json = await yieldThen(() => JSON.stringify({ ...facts, ...known, rows }));
  return yieldThen(() => Buffer.from(`${HEAD}${sha256(json)}\n${json}`));
}

/**
 * @param services the services whose rows may be served; undefined if only the facts of the rows are needed: then a
 *   listing of an older format or from the future is read, too
 * @throws an error by rejection, whose message completes "… is refused: "
 */
export async function decodeListing<Row>(
  kind: StoredKind<Row>,
  stored: Buffer,
  services: ServiceFingerprints | undefined,
  now: number,
): Promise<Fetched<Row>> {
  const [head = ''] = stored.subarray(0, MAX_LINE).toString('latin1').split('\n', 1);
  const [start = '', format] = /^chains-and-tokens-gateway (\d+) /.exec(head) ?? [];
  if (services ? start !== HEAD : !(Number(format) <= RECORD_FORMAT))
    throw new Error('it is not a listing of this gateway, or it is of another format');
  const json = stored.subarray(head.length + 1);
  if (head !== (await yieldThen(() => start + sha256(json))))
    throw new Error('its digest does not fit: it is half written or altered');
  // The digest is right, so this is JSON that a gateway has written.
  const { success, output } = v.safeParse(content, await yieldThen(() => JSON.parse(json.toString())));
  if (!success) throw new Error('it does not have the form of a stored listing');
  const { name, source, service, takenAt, upstreamAgeMs, rejected, largest, history, guard, rows } = output;
  if (name !== kind.name) throw new Error(`expected the ${kind.name} listing, got ${name.slice(0, 50)}`);
  if (services && service !== services[source]) throw new Error('it is of another upstream');
  const earlyMs = sentAtOf(output) - now;
  if (services && earlyMs > MAX_CLOCK_DIFFERENCE_MS)
    throw new Error(`it is dated ${Math.round(earlyMs / 1000)} s in the future`);
  // Without `services`, a time in the future is corrected: a wrong clock does not make the facts wrong.
  const sourceAndAge = { source, takenAt: services ? takenAt : Math.min(takenAt, now), upstreamAgeMs };
  const fetched = { ...sourceAndAge, rows: await parseAll(kind, rows, sourceAndAge), rejected };
  const contradictory = new Map<string, readonly Row[]>();
  for (const [key, present] of output.contradictory)
    contradictory.set(key, await parseEach(kind, present, sourceAndAge));
  const memory = guard && (await parseGuard(kind, guard, sourceAndAge));
  return { ...fetched, contradictory, largest, history, guard: memory };
}

function sha256(text: string | Buffer): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Throws if a row is not valid: then the stored listing must not be used. */
async function parseAll<Row>(kind: StoredKind<Row>, rows: readonly unknown[], sourceAndAge: SourceAndAge) {
  const read = await kind.parse(rows, sourceAndAge);
  if (read.rejected.count === 0) return read.rows;
  throw new Error(`${read.rejected.count} of its rows do not have the form of a row`);
}

/** Reads rows with one key: one at a time, because together they would be rejected as contradictory. */
async function parseEach<Row>(kind: StoredKind<Row>, rows: readonly unknown[], sourceAndAge: SourceAndAge) {
  const parsed: Row[] = [];
  for (const row of rows) parsed.push(...(await parseAll(kind, [row], sourceAndAge)));
  return parsed;
}

async function parseGuard<Row>(
  kind: StoredKind<Row>,
  { gone, former, held, ...guard }: v.InferOutput<typeof guardMemoryForm>,
  sourceAndAge: SourceAndAge,
): Promise<GuardMemory<Row>> {
  async function parseLost(lost: typeof gone) {
    const sent = lost.map(({ row }) => row);
    const timeOf = (index: number) => Math.min(lost[index]?.at ?? 0, sourceAndAge.takenAt);
    const rows = await parseAll(kind, sent, sourceAndAge);
    return rows.map((row, index) => ({ row, at: timeOf(index) }));
  }
  const heldRows: HeldRow<Row>[] = [];
  for (const each of held) heldRows.push({ ...each, rows: await parseEach(kind, each.rows, sourceAndAge) });
  return { ...guard, gone: await parseLost(gone), former: await parseLost(former), held: heldRows };
}
