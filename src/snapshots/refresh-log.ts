/** The log lines about refreshes and guarded values. */
import { isDeepStrictEqual } from 'node:util';
import { rowName } from '../domain/addresses.js';
import { caip2Of } from '../domain/caip.js';
import { groupBy, keyedRows } from '../domain/keyed-rows.js';
import {
  type Chain,
  type Fetched,
  type GuardedFact,
  type HeldBackFact,
  type ListingRow,
  type Service,
  sentAtOf,
} from '../domain/listing.js';
import type { AcceptedBy } from '../domain/listing-memory.js';
import { ruleToPaste } from '../domain/listing-rules.js';
import type { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger/logger.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { GuardedListing, GuardResult } from './guard.js';
import type { HoldBackReason } from './listing-check.js';
import type { Contradiction } from './row-guard.js';
import type { Snapshot } from './snapshot.js';

/** Where a snapshot is from, as log lines say it. `rules`: the served listing is guarded again. */
const ORIGINS = {
  upstream: 'from the upstream',
  peer: 'from another gateway',
  disk: 'from disk',
  rules: 'with the rules applied again',
} as const;

export type SnapshotOrigin = keyof typeof ORIGINS;

/** For listings with more rows than this, the gateway promises no speed. The services list 600 to 2,200 tokens. */
const PROMISED_ROWS = 5_000;
/** A log line names at most this many rows that appeared, and as many that vanished. */
const SHOWN_ROWS = 50;
/** A log line names at most this many of the chains that claim one identifier. */
const SHOWN_CLAIMANTS = 5;
/** One refresh logs at most this many held-back values, and as many accepted changes. */
const MAX_LINES = 20;

const seconds = (ms: number) => Math.floor(ms / 1000);

/** Logs a new snapshot. If it is from another service than the last one, also logs which rows appeared and vanished. */
export function logNewSnapshot<Row>(
  log: Logger,
  { name, keyOf }: ListingKind<Row>,
  before: Snapshot<Row> | undefined,
  { digest, source, rows, rejected, ageAt, upstreamAgeMs = 0 }: Snapshot<Row>,
  origin: SnapshotOrigin,
  freshMs: number,
): void {
  const facts = {
    listing: name,
    version: digest,
    source,
    origin,
    ageSeconds: seconds(ageAt(Date.now())),
    ...(upstreamAgeMs > 0 ? { upstreamAgeSeconds: seconds(upstreamAgeMs) } : {}),
    rows: rows.length,
    rejectedRows: rejected.count,
  };
  const isNew = digest !== before?.digest;
  const warn = (text: string, more = {}) => log.warn({ ...facts, ...more }, text);
  const from = origin === 'upstream' && source === 'demo' ? 'from the demo data' : ORIGINS[origin];
  log[isNew ? 'info' : 'debug'](facts, `New snapshot of the ${name} listing ${from}`);
  if (rows.length === 0 && isNew)
    warn(`LISTING_RULES hides every row of the ${name} listing, and it is served empty`);
  if (rows.length > PROMISED_ROWS && (before?.rows.length ?? 0) <= PROMISED_ROWS)
    warn(
      `The ${name} listing has more than ${PROMISED_ROWS} rows: it is served, but no speed is promised. To hide rows that nobody needs, use LISTING_RULES`,
    );
  if (rejected.count > 0 && origin === 'upstream' && !isDeepStrictEqual(rejected, before?.rejected))
    warn(`Left out bad rows of the ${name} listing`, { rejected: rejected.first });
  // The refreshes succeed, so no other line says why the listing is stale. Logged once, when it becomes stale.
  const age = seconds(upstreamAgeMs);
  if (upstreamAgeMs > freshMs && (before?.upstreamAgeMs ?? 0) <= freshMs)
    warn(
      `The ${name} listing is ${age} s old when it is fetched: the upstream's answer carries "Age: ${age}". Look at the cache between the upstream and this gateway`,
    );
  if (!before || before.source === source) return;
  const [known, present] = [keyedRows(before.rows, keyOf), keyedRows(rows, keyOf)];
  const missing = (from: ReadonlyMap<string, Row>, others: ReadonlyMap<string, Row>) => {
    const keys = [...from.keys()].filter((key) => !others.has(key));
    return { count: keys.length, first: keys.slice(0, SHOWN_ROWS).map(rowName) };
  };
  const differences = { appeared: missing(present, known), vanished: missing(known, present) };
  log.warn(
    { listing: name, from: before.source, to: source, ...differences },
    `The ${name} listing now comes from another service; this is how the two differ`,
  );
}

/**
 * Logs newly held-back rows, each with the rule to paste into LISTING_RULES, if any, and accepted changes.
 *
 * @param logged the values of this listing that were logged; more are added here. The same listing can be guarded again
 */
export function logHeldBackAndAccepted<Row extends ListingRow>(
  log: Logger,
  kind: ListingKind<Row>,
  { listing, challenged, changes: accepted }: GuardResult<Row>,
  onAccepted: (listing: string, fact: GuardedFact, by: AcceptedBy) => void,
  logged: Set<string>,
): void {
  const { name, keyOf } = kind;
  const now = sentAtOf(listing);
  const held: readonly Contradiction<Row>[] = listing.rows
    .filter(({ heldBack }) => heldBack.some(({ since }) => since === now))
    .map((row) => ({ row, facts: row.heldBack }));
  const all = [...held, ...challenged].flatMap(({ row, facts }) => facts.map((each) => ({ row, each })));
  const textOf = ({ row, each }: (typeof all)[number]) => JSON.stringify([keyOf(row), each]);
  const news = all.filter((one) => !logged.has(textOf(one)));
  for (const one of news) logged.add(textOf(one));
  const sent = new Map(listing.guard.held.map(({ key, rows }) => [key, rows]));
  for (const { row, each } of news.slice(0, MAX_LINES)) {
    const { fact, served, upstream } = each;
    const state = row.heldBack.includes(each)
      ? `${served} is served as ${fact}`
      : `${served} was the last ${fact} of its symbol`;
    const advice =
      listing.rules.verdictOn(keyOf(row), fact, served, upstream) === 'keep'
        ? ' A keep rule of LISTING_RULES decides so.'
        : adviceOn(kind, row, each, sent.get(keyOf(row)) ?? []);
    log.warn(
      { listing: name, chainKey: row.chainKey, address: row.address, fact, served, upstream },
      `Held back in the ${name} listing: ${state}, and the upstream now sends ${upstream}.${advice}`,
    );
  }
  const more = news.length - MAX_LINES;
  if (more > 0) log.warn({ listing: name, more }, `Held back in the ${name} listing: more values`);
  const changes = accepted.flatMap(({ row, facts, by }) => facts.map((each) => ({ row, by, ...each })));
  for (const { fact, by } of changes) onAccepted(name, fact, by);
  for (const { row, fact, served, upstream, by } of changes.slice(0, MAX_LINES)) {
    const why =
      by === 'time' ? 'every listing of the hold-back period had it' : 'a rule of the operator says so';
    log.warn(
      { listing: name, chainKey: row.chainKey, address: row.address, fact, served, upstream, by },
      `Accepted in the ${name} listing: ${upstream} in place of ${served} as ${fact}, because ${why}`,
    );
  }
}

/** The rule for the operator to paste, if any. @param sent the rows that the upstream sends under the key of `row` */
function adviceOn<Row extends ListingRow>(
  { guarded }: ListingKind<Row>,
  row: Row,
  { fact, served, upstream }: HeldBackFact,
  [first, ...others]: readonly Row[],
): string {
  // A rule cannot accept rows that contradict each other.
  if (others.length > 0) return '';
  // If this listing still has the served value, the row is held back because the other listing has another value. Then
  // there is no change to accept.
  const isSentSo = first !== undefined && guarded.find((each) => each.fact === fact)?.of(first) === served;
  const rule = ruleToPaste(isSentSo ? 'keep' : 'accept', row, fact, served, upstream);
  const right = isSentSo ? 'value that is served' : 'upstream';
  return rule === undefined ? '' : ` If the ${right} is right, add this line to LISTING_RULES: ${rule}`;
}

/** Logs that a refresh failed, or that its listing is held back, with advice for the operator. */
export function logRejected(
  log: Logger,
  listing: string,
  snapshot: Snapshot<unknown> | undefined,
  service: Pick<Service, 'source' | 'switchTo'>,
  { code, detail, message, cause }: UpstreamError,
  retryInMs: number,
  heldBackFor: readonly HoldBackReason[] | undefined,
): void {
  const isUnreachable = code === 'UPSTREAM_UNREACHABLE' || code === 'UPSTREAM_TIMEOUT';
  // The stack of a failed connection says no more than `detail`.
  const err = cause && (!isUnreachable || log.isLevelEnabled('debug')) ? { err: cause } : {};
  const why = heldBackFor ? { heldBackFor } : {};
  const state = snapshot ? 'the last good snapshot is served' : 'there is no snapshot to serve yet';
  const advice =
    code === 'UPSTREAM_UNREACHABLE'
      ? ` Check the address (${service.switchTo ? 'UPSTREAM_URL or UPSTREAM_SUCCESSOR_URL' : 'UPSTREAM_URL'}), and whether this machine can connect to it: name, port, firewall, certificate.`
      : code === 'UPSTREAM_GONE' && service.source === 'v1' && !service.switchTo
        ? ' To have its successor take over, set UPSTREAM_PROFILE=auto and UPSTREAM_SUCCESSOR_URL.'
        : '';
  log.warn(
    { listing, code, ...why, detail, retryInMs, ...err },
    `The ${listing} listing could not be refreshed: ${state}. ${message}${advice}`,
  );
}

/** Logs the CAIP-2 identifiers that several chains claim, if a shown chain has none since `before` for this reason. */
export function logChainsWithoutCaip2(
  log: Logger,
  { rows, guard, rules }: GuardedListing<Chain>,
  before: Fetched<Chain> | undefined,
): void {
  const [withoutCaip2, withoutBefore] = [new Set(guard.unnumbered), new Set(before?.guard?.unnumbered)];
  const keysOf = (chains: readonly Chain[]) =>
    chains.slice(0, SHOWN_CLAIMANTS).map(({ chainKey }) => chainKey);
  const isNew = (chain: Chain) =>
    withoutCaip2.has(chain.chainKey) && !withoutBefore.has(chain.chainKey) && !rules.hides(chain);
  const claimed = [...groupBy([...rows, ...guard.gone.map(({ row }) => row)], caip2Of)]
    .filter(([, claimants]) => claimants.some(isNew))
    .map(([caip2, claimants]) => `${caip2}: ${keysOf(claimants).join(', ')}`);
  if (claimed.length === 0) return;
  const [one] = claimed;
  log.warn(
    { listing: 'chains', count: claimed.length, first: claimed.slice(0, SHOWN_ROWS) },
    `Several chains claim one CAIP-2 identifier, such as ${one}. At most one has it; the others have no caip2, and their tokens are not in the token list. If none of them had it before, hide all but one in LISTING_RULES to give it to that one`,
  );
}

/** Logs the rows that the operator's rules name and that are not known, if any. */
export function logUnknownRows(log: Logger, names: readonly string[]): void {
  if (names.length === 0) return;
  const first = names.slice(0, SHOWN_ROWS);
  log.warn(
    { count: names.length, first },
    `LISTING_RULES names chains or tokens that are not listed, such as ${first[0]}. Check their spelling: a rule applies only to the row that it names`,
  );
}
