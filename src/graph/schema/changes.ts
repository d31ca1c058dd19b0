import type { Chain, Token } from '../../domain/listing.js';
import type { ListingChanges } from '../../snapshots/history/change-log.js';
import type { CostMeter } from '../cost.js';
import { type MaybePromise, whenReady } from '../maybe-promise.js';
import { builder } from './builder.js';
import { ChainType } from './chain.js';
import { idOfChainKey, idOfTokenKey } from './ids.js';
import { TokenType } from './token.js';

const CURSOR =
  'Opaque mark of the present state. Keep it, and pass it as `since` next time. It changes only if rows do: not with prices, nor with the order of the rows.';
const IS_RESET =
  'True if `since` is null, unknown or too old. Replace everything that you keep by `changed`, which then has all rows.';

const ChainChangesType = builder.objectRef<ListingChanges<Chain>>('ChainChanges').implement({
  description: 'How the chain listing differs from an earlier state.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: CURSOR }),
    isReset: t.exposeBoolean('isReset', { description: IS_RESET }),
    changed: t.field({
      type: [ChainType],
      description:
        'The chains that were added or changed, as they are now. A chain that changed and changed back may be among them.',
      resolve: ({ changed }, _args, { cost }, info) => cost.admitRows(changed, info),
    }),
    removedIds: t.idList({
      description:
        'The `id` of each chain that was removed; ids that you do not know may be among them. Empty if `isReset`.',
      resolve: ({ removed }, _args, { cost }) => idsOf(removed, idOfChainKey, cost),
    }),
  }),
});

const TokenChangesType = builder.objectRef<ListingChanges<Token>>('TokenChanges').implement({
  description: 'How the token listing differs from an earlier state, apart from prices.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: CURSOR }),
    isReset: t.exposeBoolean('isReset', { description: IS_RESET }),
    changed: t.field({
      type: [TokenType],
      description:
        'The tokens that were added or changed in anything but their price, as they are now. A token that changed and changed back may be among them. It counts as a list of so many rows: a reset needs room for the whole listing in MAX_ROWS.',
      resolve: ({ changed }, _args, { cost }, info) => cost.admitRows(changed, info),
    }),
    removedIds: t.idList({
      description:
        'The `id` of each token that was removed; ids that you do not know may be among them. Empty if `isReset`.',
      resolve: ({ removed }, _args, { cost }) => idsOf(removed, idOfTokenKey, cost),
    }),
  }),
});

const SINCE =
  '`cursor` of an earlier answer, from this gateway or from another one that shares its Redis. Null asks for everything.';
const REMEMBERED =
  'To apply it, store each of `changed` by its `id`, and delete `removedIds`. The last 200 changes of the listing are remembered, as far as they fit into 256 KiB of keys (about 4,000 rows); an older cursor gives everything, with `isReset`.';

builder.queryFields((t) => ({
  chainChanges: t.field({
    type: ChainChangesType,
    nullable: true,
    description: `The chains that were added, changed or removed since an earlier answer. ${REMEMBERED} Null with an error until there is a snapshot of the chain listing.`,
    args: { since: t.arg.string({ description: SINCE }) },
    resolve: (_query, { since }, { loaders, cost }) =>
      counted(loaders.chainChanges(since ?? undefined), cost),
  }),
  tokenChanges: t.field({
    type: TokenChangesType,
    nullable: true,
    description: `The tokens that were added, changed or removed since an earlier answer, for those who keep a copy of the listing. Prices do not count: ask for them where they are shown. ${REMEMBERED} Null with an error until there is a snapshot of the token listing.`,
    args: { since: t.arg.string({ description: SINCE }) },
    resolve: (_query, { since }, { loaders, cost }) =>
      counted(loaders.tokenChanges(since ?? undefined), cost),
  }),
}));

/** Counts a unit for each row that was looked up; a reset looks none up. */
function counted<Row>(
  found: MaybePromise<ListingChanges<Row>>,
  cost: CostMeter,
): MaybePromise<ListingChanges<Row>> {
  return whenReady(found, (changes) => {
    if (!changes.isReset) cost.spend(changes.changed.length + changes.removed.length);
    return changes;
  });
}

/** Counts a unit for each id, which is made at each request. */
function idsOf(keys: readonly string[], idOf: (key: string) => string, cost: CostMeter): readonly string[] {
  cost.spend(keys.length);
  return keys.map(idOf);
}
