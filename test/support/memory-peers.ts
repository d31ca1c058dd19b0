import type { LeaseResult, Peers } from '../../src/snapshots/stores.js';
import { NO_PEERS } from '../../src/snapshots/stores.js';
import { decodeListing, encodeListing } from '../../src/storage/stored-listing.js';

/** Lets gateways in one process share without Redis. One at a time sends requests to the upstream. */
export function createMemoryPeers(): { join(): Peers } {
  const records = new Map<string, { readonly takenAt: number; readonly bytes: Buffer }>();
  const listeners = new Map<string, Set<() => void>>();

  return {
    join(): Peers {
      const newest: Peers['newest'] = async (topic, kind, newerThan) => {
        const record = records.get(topic);
        if (!record || record.takenAt <= newerThan) return undefined;
        return decodeListing(kind, record.bytes, undefined, record.takenAt);
      };
      return {
        ...NO_PEERS,
        newest,
        async lease<Row>(
          ...[topic, kind, newerThan]: Parameters<typeof newest<Row>>
        ): Promise<LeaseResult<Row>> {
          const fetched = await newest(topic, kind, newerThan);
          if (fetched) return { is: 'fetched', fetched };
          const ours = await NO_PEERS.lease(topic, kind, newerThan);
          if (ours.is !== 'ours') return ours;
          return {
            ...ours,
            async succeed(fetched) {
              const bytes = await encodeListing(kind, fetched, { [fetched.source]: 'service' });
              records.set(topic, { takenAt: fetched.takenAt, bytes });
              for (const listen of listeners.get(topic) ?? []) listen();
            },
          };
        },
        subscribe(topic, listen) {
          listeners.set(topic, (listeners.get(topic) ?? new Set()).add(listen));
        },
      };
    },
  };
}
