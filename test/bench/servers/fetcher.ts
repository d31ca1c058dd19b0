/** A client that fetches large answers without pause, from when it is told what until it is told to stop. */
import { askOn } from '../connection.js';
import { requestsOf } from '../load.js';

/** What it fetches. */
export interface Fetching {
  readonly url: string;
  readonly connections: number;
  /** Posted in turn. */
  readonly bodies: readonly string[];
}

let fetched = 0;
let isStopped = false;
let under: Promise<unknown> = Promise.resolve();

function fetchOn(fetching: Fetching): Promise<void> {
  const next = requestsOf(fetching.url, fetching);
  return askOn(
    fetching.url,
    () => (isStopped ? undefined : next()),
    (status) => {
      if (status !== 200) throw new Error(`Expected status 200, got ${status}`);
      fetched++;
    },
  );
}

process.on('message', async (what: Fetching | 'stop') => {
  isStopped = what === 'stop';
  if (what === 'stop') {
    await under;
    process.send?.(fetched);
  } else {
    fetched = 0;
    under = Promise.all(Array.from({ length: what.connections }, () => fetchOn(what)));
  }
});
process.once('disconnect', () => process.exit());
// It has no port.
process.send?.(0);
