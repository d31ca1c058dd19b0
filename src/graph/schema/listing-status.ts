import type { ListingState, ListingStatus } from '../../snapshots/freshness.js';
import { countByChain, withCost } from '../cost/cost.js';
import { builder } from './builder.js';

const ListingStateType = builder.enumType('ListingState', {
  description: 'How a listing stands, by the age of its snapshot alone.',
  values: {
    FRESH: { description: 'Its snapshot is no older than the age at which a refresh runs.' },
    STALE: {
      description: 'Its snapshot is older than that: a refresh is under way, fails, or is held back.',
    },
    EMPTY: { description: 'There has been no snapshot yet; questions to it are answered with an error.' },
  } satisfies Record<ListingState, object>,
});

type ListingFailure = NonNullable<ListingStatus['lastFailure']>;

const ListingFailureType = builder.objectRef<ListingFailure>('ListingFailure').implement({
  description: 'A refresh that failed, or brought what is held back.',
  fields: (t) => ({
    code: t.exposeString('code', {
      description:
        'What went wrong, such as UPSTREAM_TIMEOUT; UPSTREAM_MALFORMED also for an answer that is held back.',
    }),
    message: t.exposeString('message', { description: 'The same for a person to read.' }),
    at: t.expose('at', { type: 'DateTime', description: 'When it failed.' }),
  }),
});

const ListingStatusType = builder.objectRef<ListingStatus>('ListingStatus').implement({
  description: "How one of the upstream's two listings stands in this gateway.",
  fields: (t) => ({
    name: t.exposeString('name', { description: '"chains" or "tokens".' }),
    source: t.exposeString('source', {
      description:
        'Which service its rows are from: "demo" (the embedded demo data), "v1" or "value-transfer" (its successor).',
    }),
    state: t.expose('state', { type: ListingStateType, description: 'How it stands, by age alone.' }),
    takenAt: t.expose('takenAt', {
      type: 'DateTime',
      nullable: true,
      description: 'When the snapshot that is served was fetched; null while EMPTY.',
    }),
    ageSeconds: t.int({
      nullable: true,
      description: 'Age of that snapshot in whole seconds; null while EMPTY.',
      resolve: ({ ageMs }) => (ageMs === null ? null : Math.floor(ageMs / 1000)),
    }),
    rows: t.exposeInt('rows', { description: 'How many rows are served; 0 while EMPTY.' }),
    rejectedRows: t.exposeInt('rejectedRows', {
      description: 'How many rows of that snapshot were left out as malformed or duplicate.',
    }),
    version: t.exposeString('version', {
      nullable: true,
      description: 'Digest of the rows in their order: it changes only when they do. Null while EMPTY.',
    }),
    lastFailure: t.expose('lastFailure', {
      type: ListingFailureType,
      nullable: true,
      description:
        'The last refresh that failed or was held back, even if a later one succeeded; null when none has.',
    }),
  }),
});

builder.queryField('listings', (t) =>
  t.field({
    type: [ListingStatusType],
    description: 'How the two listings stand, chains first: how old they are, and what last went wrong.',
    extensions: withCost({ rows: () => countByChain(['', '']) }),
    resolve: (_query, _args, { listings }) => [...listings()],
  }),
);
