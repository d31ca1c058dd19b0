/** The query for the status of the listings. */
import type { ListingState } from '../../snapshots/freshness.js';
import type { ListingStatus } from '../../snapshots/refresher.js';
import { builder } from './builder.js';

const ListingStateType = builder.enumType('ListingState', {
  description: 'Freshness of a listing, judged only by the age of its snapshot.',
  values: {
    FRESH: { description: 'The snapshot is not older than its refresh interval.' },
    STALE: {
      description:
        'The snapshot is older than its refresh interval. Its refresh is running, waiting, failing or held back, or the upstream answers from an outdated cache.',
    },
    EMPTY: { description: 'There is no snapshot yet; fields that need the listing are null with an error.' },
  } satisfies Record<ListingState, object>,
});

type ListingFailure = NonNullable<ListingStatus['lastFailure']>;

const ListingFailureType = builder.objectRef<ListingFailure>('ListingFailure').implement({
  description: 'A refresh that failed, whose result was held back, or that has to wait.',
  fields: (t) => ({
    code: t.exposeString('code', {
      description:
        'Error code, such as UPSTREAM_TIMEOUT. A result that was held back has UPSTREAM_MALFORMED.',
    }),
    message: t.exposeString('message', { description: 'The cause, for a person to read.' }),
    at: t.expose('at', {
      type: 'DateTime',
      description:
        'When the refresh failed or its result was held back; for a refresh that has to wait, when it began.',
    }),
  }),
});

const ListingStatusType = builder.objectRef<ListingStatus>('ListingStatus').implement({
  description: "How old this gateway's copy of one listing is, and what failed last.",
  fields: (t) => ({
    name: t.exposeString('name', { description: 'Name of the listing: "chains" or "tokens".' }),
    source: t.exposeString('source', {
      description:
        'The service that the rows come from: "demo" (the embedded demo data), "v1" or "value-transfer" (the successor of v1).',
    }),
    state: t.expose('state', { type: ListingStateType, description: 'Freshness, judged by age alone.' }),
    takenAt: t.expose('takenAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When the snapshot was fetched, minus the time that it had spent in caches in front of the upstream; null while EMPTY.',
    }),
    ageSeconds: t.int({
      nullable: true,
      description: 'Age of the snapshot in whole seconds; null while EMPTY.',
      resolve: ({ ageMs }) => (ageMs === null ? null : Math.floor(ageMs / 1000)),
    }),
    rows: t.exposeInt('rows', { description: 'Number of rows in the snapshot; 0 while EMPTY.' }),
    rejectedRows: t.exposeInt('rejectedRows', {
      description:
        'Number of fetched rows that this snapshot leaves out as malformed, duplicate or contradictory.',
    }),
    heldBackRows: t.exposeInt('heldBackRows', {
      description:
        'Number of held-back rows: listed rows with facts in `heldBack`, and new rows that wait to be listed. A new row is not counted if `heldBack` of a listed row already has its address.',
    }),
    version: t.exposeString('version', {
      nullable: true,
      description:
        'Digest of the rows, their prices and their order; it changes only with these. Null while EMPTY.',
    }),
    lastFailure: t.expose('lastFailure', {
      type: ListingFailureType,
      nullable: true,
      description:
        'The last refresh that failed, was held back or was postponed, even if a later one succeeded. Null if there was none.',
    }),
  }),
});

builder.queryField('listings', (t) =>
  t.field({
    type: [ListingStatusType],
    description: 'The status of each listing, the chains first: its age, and its last failure.',
    resolve: (_query, _args, { listings, cost, loaders }, info) => {
      const read = () => cost.chargeRows([...listings()], info);
      // Without a first snapshot, wait for the listings that other fields of the operation load.
      const isEmpty = listings().some(({ state }) => state === 'EMPTY');
      return isEmpty ? loaders.settled().then(read) : read();
    },
  }),
);
