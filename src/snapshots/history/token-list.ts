/** The content and the version of the token list, by the rules of Uniswap's token lists. */
import { isNativeOf } from '../../domain/addresses.js';
import type { EvmChain, TokenListState, TokenListVersion } from '../../domain/history.js';
import type { Chain, Token } from '../../domain/listing.js';
import { forEachChunk, runInSteps } from '../../scheduling/chunks.js';
import { sortSteps } from '../../search/order/sort-steps.js';

/** A token as the schema of Uniswap's token lists has it, with no other members. */
export interface TokenListEntry {
  readonly chainId: number;
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly logoURI?: string;
}

export interface TokenListContent {
  /** By `chainId`, then by address. */
  readonly entries: readonly TokenListEntry[];
  /** How many tokens of these chains are not among them because the schema does not allow them. Natives do not count. */
  readonly omitted: number;
}

// From tokenlist.schema.json. Lengths are in code points.
const MAX_ENTRIES = 10_000;
const SYMBOL = /^\S{0,20}$/u;
const NAME = /^[ \S]{0,60}$/u;
/** The schema also allows addresses of Solana, which no EVM chain has. */
const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** A part of the URIs of RFC 3986: more than pictures need, and nothing that a strict reader refuses. */
const URI = /^https?:\/\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

/** The EVM chains on which tokens are listed; without those whose number belongs to another chain. */
export function evmChainsOf(
  chains: readonly Chain[],
  hasTokens: { has(chainKey: string): boolean },
): readonly EvmChain[] {
  return chains
    .filter(
      ({ chainKey, chainType, caip2 }) => chainType === 'evm' && caip2 !== null && hasTokens.has(chainKey),
    )
    .map(({ chainKey, chainId, nativeCurrency }): EvmChain => [chainKey, chainId, nativeCurrency.address]);
}

/**
 * The tokens of these chains, as far as a token list may have them. Equal tokens give an equal list, whatever their
 * order. It yields to requests.
 */
export async function tokenListContentOf(
  rows: readonly Token[],
  chains: readonly EvmChain[],
): Promise<TokenListContent> {
  const chainsByKey = new Map(
    chains.map(([chainKey, chainId, address]) => [chainKey, { chainId, nativeCurrency: { address } }]),
  );
  const entries: TokenListEntry[] = [];
  // What they are sorted by: the address without its letter case, then the chain, since chains can share a chainId.
  const places: string[] = [];
  let omitted = 0;
  await forEachChunk(rows, (chunk) => {
    for (const token of chunk) {
      const chain = chainsByKey.get(token.chainKey);
      if (!chain || isNativeOf(chain, token)) continue;
      const isAllowed = ADDRESS.test(token.address) && SYMBOL.test(token.symbol) && NAME.test(token.name);
      if (chain.chainId >= 1 && isAllowed) {
        entries.push(entryOf(token, chain.chainId));
        places.push(`${token.address.toLowerCase()} ${token.chainKey}`);
      } else omitted++;
    }
  });
  const order = await runInSteps(
    sortSteps(entries.length, (a, b) => {
      const difference = (entries[a]?.chainId ?? 0) - (entries[b]?.chainId ?? 0);
      if (difference !== 0) return difference;
      return (places[a] ?? '') < (places[b] ?? '') ? -1 : 1;
    }),
  );
  const sorted: TokenListEntry[] = [];
  for (const index of order) {
    const entry = entries[index];
    if (!entry) continue;
    const last = sorted.at(-1);
    // To a reader of the list, which does not know chain keys, it is the same token.
    const isRepeated =
      last?.chainId === entry.chainId && last.address.toLowerCase() === entry.address.toLowerCase();
    if (isRepeated || sorted.length === MAX_ENTRIES) omitted++;
    else sorted.push(entry);
  }
  return { entries: sorted, omitted };
}

/** A picture is optional: one whose address is no URI is left out, and the token stays. */
function entryOf({ address, decimals, symbol, name, logoUrl }: Token, chainId: number): TokenListEntry {
  const entry = { chainId, address, decimals, symbol, name };
  return logoUrl !== null && URI.test(logoUrl) ? { ...entry, logoURI: logoUrl } : entry;
}

/** How much a list changes, by the rules of Uniswap's token lists. */
type VersionBump = 'major' | 'minor' | 'patch' | 'none';

/** The version of a list that no earlier one is known of. */
export const FIRST_VERSION: TokenListVersion = { major: 1, minor: 0, patch: 0 };

/** What a token list is made of. */
interface ListedTokens {
  readonly rows: readonly Token[];
  readonly chains: readonly EvmChain[];
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
  before: { readonly rows: readonly Token[]; readonly state: TokenListState } | undefined,
  isSame: boolean,
): Promise<TokenListState> {
  if (!before) return shared ?? { version: FIRST_VERSION, at: takenAt, chains };
  const known = before.state;
  const isSameList = isSame && JSON.stringify(known.chains) === JSON.stringify(chains);
  const bump = isSameList
    ? 'none'
    : await bumpBetween({ rows: before.rows, chains: known.chains }, { rows, chains });
  const own = bump === 'none' ? known : { version: bumped(known.version, bump), at: takenAt };
  const { version, at } = shared && compareVersions(shared.version, own.version) >= 0 ? shared : own;
  // The same object: the bytes of the list are kept by it.
  const isKnown = isSameList && at === known.at && compareVersions(version, known.version) === 0;
  return isKnown ? known : { version, at, chains };
}

/** The change between two lists. Their order does not count. It yields to requests. */
async function bumpBetween(before: ListedTokens, after: ListedTokens): Promise<VersionBump> {
  const known = new Map<string, string>();
  await forEachChunk((await tokenListContentOf(before.rows, before.chains)).entries, (chunk) => {
    for (const entry of chunk) known.set(keyOf(entry), JSON.stringify(entry));
  });
  const { entries } = await tokenListContentOf(after.rows, after.chains);
  let added = 0;
  let changed = 0;
  await forEachChunk(entries, (chunk) => {
    for (const entry of chunk) {
      const old = known.get(keyOf(entry));
      if (old === undefined) added++;
      else if (old !== JSON.stringify(entry)) changed++;
    }
  });
  if (known.size > entries.length - added) return 'major';
  if (added > 0) return 'minor';
  return changed > 0 ? 'patch' : 'none';
}

/** The version after a change. */
function bumped({ major, minor, patch }: TokenListVersion, bump: VersionBump): TokenListVersion {
  if (bump === 'major') return { major: major + 1, minor: 0, patch: 0 };
  if (bump === 'minor') return { major, minor: minor + 1, patch: 0 };
  return { major, minor, patch: bump === 'patch' ? patch + 1 : patch };
}

/** An address in other letters is another one, as in the package of the schema. */
function keyOf({ chainId, address }: TokenListEntry): string {
  return `${chainId}_${address}`;
}

function compareVersions(one: TokenListVersion, other: TokenListVersion): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}
