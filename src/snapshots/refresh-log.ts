import type { UpstreamError } from '../domain/upstream-error.js';
import type { Logger } from '../logger.js';
import type { ListingKind } from '../upstream/listing-kinds.js';
import type { HoldBackReason } from './changes/change-check.js';
import type { Differences } from './changes/comparison.js';
import type { Snapshot } from './snapshot.js';

/** Where a snapshot is from: the upstream, another gateway, or the disk. */
export type Came = 'taken' | 'shared' | 'restored';

/** The most differing rows that a line of the log names; the others are only counted. */
const SHOWN_ROWS = 50;

/** Logs a new snapshot, and its differences if it is from another service than the one before. */
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
  const news = came === 'restored' ? 'Restored the' : 'Took a new';
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

/** Logs a refresh that failed or is held back, and what the operator can do about it. */
export function logRejected<Row>(
  log: Logger,
  { name }: ListingKind<Row>,
  served: Snapshot<Row> | undefined,
  { code, detail, message, cause }: UpstreamError,
  retryInMs: number,
  heldBackFor: readonly HoldBackReason[],
): void {
  const isUnreachable = code === 'UPSTREAM_UNREACHABLE' || code === 'UPSTREAM_TIMEOUT';
  const state = served ? 'the last good snapshot is served' : 'there is none to serve yet';
  log.warn(
    {
      listing: name,
      code,
      ...(heldBackFor.length > 0 ? { heldBackFor } : {}),
      detail,
      retryInMs,
      // The stack of a failed connection tells an operator nothing that the detail does not.
      ...(cause && (!isUnreachable || log.isLevelEnabled('debug')) ? { err: cause } : {}),
    },
    `The ${name} listing could not be refreshed: ${state}. ${message}${adviceFor(code, served?.source)}`,
  );
}

function adviceFor(code: UpstreamError['code'], source: string | undefined): string {
  if (code === 'UPSTREAM_GONE' && source !== 'value-transfer') {
    return ' To have its successor take over, set UPSTREAM_PROFILE=auto and UPSTREAM_SUCCESSOR_URL.';
  }
  if (code === 'UPSTREAM_UNREACHABLE') {
    return ' Check the address (UPSTREAM_URL), and whether this machine can connect to it: name, port, firewall, certificate.';
  }
  return '';
}
