import type { Snapshots } from '../snapshots/snapshots.js';

/** Why this process should get no traffic now; undefined if it should. */
export function notReadyReason(snapshots: Snapshots, stopping: boolean): string | undefined {
  if (stopping) return 'The gateway is stopping.';
  const missing = snapshots.status(Date.now()).filter(({ state }) => state === 'EMPTY');
  if (missing.length === 0) return undefined;
  return missing
    .map(({ name, lastFailure }) =>
      lastFailure
        ? `There is no snapshot of the ${name} listing yet: ${lastFailure.code}: ${lastFailure.message}`
        : `The first snapshot of the ${name} listing is being fetched.`,
    )
    .join(' ');
}
