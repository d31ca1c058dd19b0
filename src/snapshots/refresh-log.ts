import type { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { HoldBackReason } from './changes/change-check.js';
import type { Differences } from './changes/comparison.js';
import type { Snapshot } from './snapshot.js';

/** How a snapshot came: from the upstream, from another gateway, or from the disk. */
export type Came = 'taken' | 'shared' | 'restored';

/** So many of the rows that differ are told; the rest are only counted. */
const SHOWN_ROWS = 50;

/** Tells that a snapshot has taken the place of the one before it, if there was one. */
export function logAccepted<Row>(
  log: Logger,
  kind: ListingKind<Row>,
  before: Snapshot<Row> | undefined,
  { version, source, rows, rejected, ageAt }: Snapshot<Row>,
  came: Came,
  { appeared, vanished, changes }: Differences,
): void {
  const facts = {
    listing: kind.name,
    version,
    source,
    came,
    ageSeconds: Math.floor(ageAt(Date.now()) / 1000),
    rows: rows.length,
    rejectedRows: rejected.count,
  };
  const news = came === 'restored' ? 'Took up the kept' : 'Took a new';
  const level = version === before?.version ? 'debug' : 'info';
  log[level](facts, `${news} snapshot of the ${kind.name} listing`);
  if (rejected.count > 0 && came === 'taken') {
    log.warn({ ...facts, rejected: rejected.first }, `Left out bad rows of the ${kind.name} listing`);
  }
  if (!before || before.source === source) return;
  const shown = (all: readonly string[]) => ({ count: all.length, first: all.slice(0, SHOWN_ROWS) });
  log.warn(
    {
      listing: kind.name,
      from: before.source,
      to: source,
      appeared: shown(appeared),
      vanished: shown(vanished),
      ...Object.fromEntries(
        kind.compared.map(({ fact, logName }) => [
          logName,
          shown(changes.filter((change) => change.fact === fact).map(({ text }) => text)),
        ]),
      ),
    },
    `The ${kind.name} listing now comes from another service; this is how the two differ`,
  );
}

/** Tells that a refresh has failed, or brought what is held back, and what can be done about it. */
export function logRejected<Row>(
  log: Logger,
  { name }: ListingKind<Row>,
  served: Snapshot<Row> | undefined,
  { code, detail, message, cause }: UpstreamError,
  retryInMs: number,
  heldBackFor: readonly HoldBackReason[] = [],
): void {
  const advice =
    code === 'UPSTREAM_GONE' && served?.source !== 'value-transfer'
      ? ' To have its successor take over, set UPSTREAM_PROFILE=auto and UPSTREAM_SUCCESSOR_URL.'
      : '';
  const state = served ? 'the last good snapshot is served' : 'there is none to serve yet';
  log.warn(
    {
      listing: name,
      code,
      ...(heldBackFor.length > 0 ? { heldBackFor } : {}),
      detail,
      retryInMs,
      ...(cause ? { err: cause } : {}),
    },
    `The ${name} listing could not be refreshed: ${state}. ${message}${advice}`,
  );
}
