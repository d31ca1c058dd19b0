import type { Fetched } from '../../domain/listing.js';
import type { Leadership } from '../../snapshots/peers.js';
import type { RedisLink } from './link.js';
import { FAIL, RENEW, TAKE } from './scripts.js';

export interface LeadOptions {
  readonly run: RedisLink['run'];
  /** Calls the listener after each connection. */
  readonly onConnection: RedisLink['onConnection'];
  /** The id of this gateway. */
  readonly gateway: string;
  /** The keys of the failure, of the pause and of the lease. */
  readonly keysOf: (topic: string) => readonly string[];
  /** The channel and the message that tell the others of the end. */
  readonly endArgs: (topic: string) => readonly string[];
}

/** How long it lasts without being renewed: another gateway leads that long after this one has died. */
const LEAD_MS = 5_000;

/** Makes the function that asks for a lease that its holder renews for as long as it works. */
export function createLead({ run, onConnection, gateway, keysOf, endArgs }: LeadOptions) {
  const renewals = new Set<() => Promise<void>>();
  // A Redis that was started anew has lost the leases.
  onConnection(() => {
    for (const renew of renewals) renew();
  });

  return async function lead<Row>(
    topic: string,
    share: (fetched: Fetched<Row>) => Promise<void>,
  ): Promise<Leadership<Row> | 'theirs' | 'unknown'> {
    const keys = keysOf(topic);
    const leaseKey = keys.slice(-1);
    const askedAt = performance.now();
    const taken = await run(TAKE, leaseKey, [gateway, LEAD_MS]);
    if (taken === undefined) return 'unknown';
    if (taken !== 1) return 'theirs';
    let until = askedAt + LEAD_MS;
    renewals.add(renew);
    const timer = setInterval(renew, LEAD_MS / 3).unref();

    async function renew(): Promise<void> {
      const from = performance.now();
      const renewed = await run(RENEW, leaseKey, [gateway, LEAD_MS]);
      // Without an answer it may still be ours for a while.
      if (renewed === undefined) return;
      if (renewed !== 1) lose();
      else if (renewals.has(renew)) until = from + LEAD_MS;
    }

    function lose(): void {
      until = Number.NEGATIVE_INFINITY;
      renewals.delete(renew);
      clearInterval(timer);
    }

    function isOurs(): boolean {
      if (performance.now() < until) return true;
      lose();
      return false;
    }

    return {
      isOurs,
      share,
      async end() {
        if (!isOurs()) return;
        lose();
        await run(FAIL, keys, [gateway, '', 1, 1, ...endArgs(topic)]);
      },
    };
  };
}
