/** The queries for the changes of a listing. */
import type { Chain, Token } from '../../domain/listing.js';
import type { ListingChanges } from '../../snapshots/change-log.js';
import type { ChainSnapshot, TokenSnapshot } from '../../snapshots/snapshot.js';
import type { CostMeter } from '../cost.js';
import { builder } from './builder.js';
import { ChainType } from './chain.js';
import { idOfChainKey, idOfTokenKey } from './ids.js';
import { TokenType } from './token.js';

const CURSOR =
  'Opaque version of the rows. Store it, and pass it as `since` next time. It changes when rows are added, changed or removed, but not when only prices or the order of the rows change.';
const IS_RESET =
  'True if `since` is null, unknown or too old. `changed` then has all rows: replace your whole copy with them.';

const ChainChangesType = builder.objectRef<ListingChanges<Chain>>('ChainChanges').implement({
  description: 'How the chain listing differs from an earlier state.',
  fields: (t) => ({
    cursor: t.exposeString('cursor', { description: CURSOR }),
    isReset: t.exposeBoolean('isReset', { description: IS_RESET }),
    changed: t.field({
      type: [ChainType],
      description:
        'The chains that were added or changed, as they are now. A change of their `tokens` and `tokenCount` does not count. The list can include a chain that changed and changed back.',
      resolve: ({ changed }, _args, { cost }, info) => cost.chargeRows(changed, info),
    }),
    removedIds: t.idList({
      description:
        'The `id` of each removed chain. The list can include ids that you do not know, of chains that were added and removed since. Empty if `isReset`.',
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
        'The tokens that were added or changed, except in price, as they are now; and all tokens of a changed chain, because `isNative` and `caip19` depend on it. The list can include a token that changed and changed back. After a reset, it is the whole listing. Its tokens count towards the 100,000 rows that an operation may return.',
      resolve: ({ changed }, _args, { cost }, info) => cost.chargeRows(changed, info),
    }),
    removedIds: t.idList({
      description:
        'The `id` of each removed token. The list can include ids that you do not know, of tokens that were added and removed since. Empty if `isReset`.',
      resolve: ({ removed }, _args, { cost }) => idsOf(removed, idOfTokenKey, cost),
    }),
  }),
});

const SINCE =
  '`cursor` of an earlier answer, from this gateway or from another gateway that shares its Redis. Null returns all rows.';
const REMEMBERED =
  'To update your copy, store each of `changed` by its `id`, and delete `removedIds`. The gateway remembers the last 200 changes of the listing, or fewer if the keys of the changed rows take more than 256 KiB (about 4,000 rows).';

builder.queryFields((t) => ({
  chainChanges: t.field({
    type: ChainChangesType,
    nullable: true,
    description: `The chains that were added, changed or removed since an earlier answer. ${REMEMBERED} Null with an error until there is a snapshot of the chain listing.`,
    args: { since: t.arg.string({ description: SINCE }) },
    resolve: (_query, { since }, { loaders, cost }) =>
      loaders.read('chains', (chains) => counted(chains.changesSince(since ?? undefined), cost)),
  }),
  tokenChanges: t.field({
    type: TokenChangesType,
    nullable: true,
    description: `The tokens that were added, changed or removed since an earlier answer, for clients that keep a copy of the listing. Changes of prices are not included: query prices where you show them. ${REMEMBERED} Null with an error until there is a snapshot of the token listing.`,
    args: { since: t.arg.string({ description: SINCE }) },
    resolve: (_query, { since }, { loaders, cost }) =>
      loaders.read('tokens', (tokens) =>
        counted(tokenChangesSince(since, tokens, loaders.chainsIfLoaded()), cost),
      ),
  }),
}));

/** The cursor of the token listing and, if it was loaded, that of the chain listing. */
const TOKEN_CURSOR = /^([\w-]{22})\.([\w-]{22})?$/;

/**
 * A token's `isNative` and `caip19` depend on its chain, so the cursor includes the cursor of the chain listing, and the
 * tokens of a changed chain count as changed.
 */
function tokenChangesSince(since: string | null | undefined, tokens: TokenSnapshot, chains?: ChainSnapshot) {
  const [, ofTokens, ofChains = ''] = TOKEN_CURSOR.exec(since ?? '') ?? [];
  const changes = tokens.changesSince(ofTokens);
  // Until the chain listing is loaded, the cursor keeps its part about the chains.
  if (!chains) return { ...changes, cursor: `${changes.cursor}.${ofChains}` };
  const { isReset, changed, removed, ...present } = chains.changesSince(ofChains);
  const cursor = `${changes.cursor}.${present.cursor}`;
  if (changes.isReset || isReset) return { ...changes, cursor, changed: tokens.rows };
  const onChains = [...changed.map(({ chainKey }) => chainKey), ...removed].flatMap(tokens.byChain);
  return { ...changes, cursor, changed: [...new Set([...changes.changed, ...onChains])] };
}

/** Charges a unit for each row that was looked up. A reset needs no look-ups. */
function counted<Row>(changes: ListingChanges<Row>, cost: CostMeter): ListingChanges<Row> {
  if (!changes.isReset) cost.spend(changes.changed.length + changes.removed.length);
  return changes;
}

/** Charges a unit for each id, since ids are made for each request. */
function idsOf(keys: readonly string[], idOf: (key: string) => string, cost: CostMeter): readonly string[] {
  cost.spend(keys.length);
  return keys.map(idOf);
}
