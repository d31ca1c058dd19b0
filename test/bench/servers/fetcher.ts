/** A client that fetches large answers without pause, from when it is told what until it is told to stop. */
import { askOn } from '../connection.js';
import { type Load, requestsOf } from '../load.js';
import { byKey } from '../new-variables.js';

/** What it fetches. */
export interface Fetching {
  readonly url: string;
  readonly connections: number;
  /** Posted in turn. */
  readonly bodies?: readonly string[];
  /** In the place of those: the number of a series of {@link byKey}. */
  readonly series?: number;
}

let fetched = 0;
let isStopped = false;
let under: Promise<unknown> = Promise.resolve();

function fetchOn(fetching: Fetching, load: Load): Promise<void> {
  const next = requestsOf(fetching.url, load);
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
    const { connections, bodies = [], series } = what;
    const load: Load = {
      connections,
      ...(series === undefined ? { bodies } : { next: byKey.series(series) }),
    };
    under = Promise.all(Array.from({ length: connections }, () => fetchOn(what, load)));
  }
});
process.once('disconnect', () => process.exit());
// It has no port.
process.send?.(0);
