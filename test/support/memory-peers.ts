import type { LeaseResult, Peers } from '../../src/snapshots/peers.js';
import { NO_PEERS } from '../../src/snapshots/peers.js';
import { decodeRecord, encodeRecord } from '../../src/storage/record.js';

/** What gateways in one process share, without Redis and its clock. One at a time asks the upstream. */
export function createMemoryPeers(): { join(): Peers } {
  const records = new Map<string, { readonly takenAt: number; readonly bytes: Buffer }>();
  const listeners = new Map<string, Set<() => void>>();

  return {
    join(): Peers {
      const newest: Peers['newest'] = async (topic, kind, newerThan) => {
        const record = records.get(topic);
        if (!record || record.takenAt <= newerThan) return undefined;
        return decodeRecord(kind, record.bytes, undefined, record.takenAt);
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
              const parts = await encodeRecord(kind, fetched, { [fetched.source]: 'service' });
              records.set(topic, { takenAt: fetched.takenAt, bytes: Buffer.concat(parts) });
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
