import type { EvmChain, TokenListState, TokenListVersion } from '../../domain/history.js';
import type { Token } from '../../domain/listing.js';
import { forEachChunk } from '../../scheduling/chunks.js';
import { type TokenListEntry, tokenListContentOf } from './token-list.js';

/** How much a list changes, by the rules of Uniswap's token lists. */
type VersionBump = 'major' | 'minor' | 'patch' | 'none';

/** The version of a list that no earlier one is known of. */
export const FIRST_VERSION: TokenListVersion = { major: 1, minor: 0, patch: 0 };

/** What a token list is made of. */
interface ListedTokens {
  readonly rows: readonly Token[];
  readonly state: TokenListState;
}

/**
 * The state of the token list of a new token listing. It yields to requests.
 *
 * @param chains the EVM chains on which tokens are listed
 * @param shared the state that came with the rows. It is taken over unless its version is lower than the rules give
 *   here: a version must not go back, and gateways that share rows come to agree on the highest
 * @param before the older listing
 * @param isSame whether the rows are known to differ from the older ones in nothing but prices
 */
export async function nextTokenListState(
  { rows, takenAt }: { readonly rows: readonly Token[]; readonly takenAt: number },
  chains: readonly EvmChain[],
  shared: TokenListState | undefined,
  before: ListedTokens | undefined,
  isSame: boolean,
): Promise<TokenListState> {
  if (!before) return shared ?? { version: FIRST_VERSION, at: takenAt, chains };
  const known = before.state;
  const isSameList = isSame && JSON.stringify(known.chains) === JSON.stringify(chains);
  const bump = isSameList ? 'none' : await bumpOf(before, { rows, chains });
  const own = bump === 'none' ? known : { version: bumped(known.version, bump), at: takenAt };
  const { version, at } = shared && compareVersions(shared.version, own.version) >= 0 ? shared : own;
  // The same object: the bytes of the list are kept by it.
  const isKnown = isSameList && at === known.at && compareVersions(version, known.version) === 0;
  return isKnown ? known : { version, at, chains };
}

/** The change between two lists. Their order does not count. It yields to requests. */
async function bumpBetween(
  before: readonly TokenListEntry[],
  after: readonly TokenListEntry[],
): Promise<VersionBump> {
  const known = new Map<string, string>();
  await forEachChunk(before, (chunk) => {
    for (const entry of chunk) known.set(keyOf(entry), JSON.stringify(entry));
  });
  let added = 0;
  let changed = 0;
  await forEachChunk(after, (chunk) => {
    for (const entry of chunk) {
      const old = known.get(keyOf(entry));
      if (old === undefined) added++;
      else if (old !== JSON.stringify(entry)) changed++;
    }
  });
  if (known.size > after.length - added) return 'major';
  if (added > 0) return 'minor';
  return changed > 0 ? 'patch' : 'none';
}

/** The version after a change. */
function bumped({ major, minor, patch }: TokenListVersion, bump: VersionBump): TokenListVersion {
  if (bump === 'major') return { major: major + 1, minor: 0, patch: 0 };
  if (bump === 'minor') return { major, minor: minor + 1, patch: 0 };
  return { major, minor, patch: bump === 'patch' ? patch + 1 : patch };
}

async function bumpOf(
  { rows: rowsBefore, state }: ListedTokens,
  { rows, chains }: { readonly rows: readonly Token[]; readonly chains: readonly EvmChain[] },
): Promise<VersionBump> {
  const before = await tokenListContentOf(rowsBefore, state.chains);
  const after = await tokenListContentOf(rows, chains);
  return bumpBetween(before.entries, after.entries);
}

/** An address in other letters is another one, as in the package of the schema. */
function keyOf({ chainId, address }: TokenListEntry): string {
  return `${chainId}_${address}`;
}

function compareVersions(one: TokenListVersion, other: TokenListVersion): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}
