/** The content and the version of the token list, by the rules of Uniswap's token lists. */
import { isNativeOf } from '../domain/addresses.js';
import type { EvmChain, TokenListState, TokenListVersion } from '../domain/history.js';
import type { Chain, Token } from '../domain/listing.js';
import { forEachChunk, yieldThen } from '../scheduling/chunks.js';

/** A token in the form of the schema of Uniswap's token lists, without other members. */
export interface TokenListEntry {
  readonly chainId: number;
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly logoURI?: string;
}

export interface TokenListContent {
  /** Sorted by `chainId`, then by address. */
  readonly entries: readonly TokenListEntry[];
  /** How many tokens are left out: the schema does not allow them, or they are repeated. Native assets do not count. */
  readonly omitted: number;
}

// These limits are from tokenlist.schema.json. Lengths are in code points.
const MAX_ENTRIES = 10_000;
const SYMBOL = /^\S{0,20}$/u;
const NAME = /^[ \S]{0,60}$/u;
/** An address of an EVM chain. The schema also allows those of Solana. */
const ADDRESS = /^0x[0-9a-f]{40}$/i;
/** A subset of the URIs of RFC 3986 that is enough for pictures and that strict readers of the list accept. */
const URI = /^https?:\/\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

/** The EVM chains with listed tokens and a CAIP-2 identifier: without one, the `chainId` can be another chain's. */
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

/** The token list of these chains, whatever the order of `rows`, without native assets. The work yields to requests. */
export async function tokenListContentOf(
  rows: readonly Token[],
  chains: readonly EvmChain[],
): Promise<TokenListContent> {
  const chainsByKey = new Map(
    chains.map(([chainKey, chainId, address]) => [chainKey, { chainId, nativeCurrency: { address } }]),
  );
  // `place` orders the entries of one chainId, which several chains can have.
  const found: { readonly entry: TokenListEntry; readonly place: string }[] = [];
  let omitted = 0;
  await forEachChunk(rows, (chunk) => {
    for (const token of chunk) {
      const chain = chainsByKey.get(token.chainKey);
      if (!chain || isNativeOf(chain, token)) continue;
      const isAllowed = ADDRESS.test(token.address) && SYMBOL.test(token.symbol) && NAME.test(token.name);
      const place = `${token.address.toLowerCase()} ${token.chainKey}`;
      if (chain.chainId >= 1 && isAllowed) found.push({ entry: entryOf(token, chain.chainId), place });
      else omitted++;
    }
  });
  await yieldThen(() =>
    found.sort((a, b) => a.entry.chainId - b.entry.chainId || (a.place < b.place ? -1 : 1)),
  );
  const sorted: TokenListEntry[] = [];
  for (const { entry } of found) {
    const last = sorted.at(-1);
    // Readers of the list do not know chain keys: two chains with one chainId are the same chain for them.
    const isRepeated =
      last?.chainId === entry.chainId && last.address.toLowerCase() === entry.address.toLowerCase();
    if (isRepeated || sorted.length === MAX_ENTRIES) omitted++;
    else sorted.push(entry);
  }
  return { entries: sorted, omitted };
}

/** The entry of a token. Its picture is left out if its address is not a valid URI. */
function entryOf({ address, decimals, symbol, name, logoUrl }: Token, chainId: number): TokenListEntry {
  const entry = { chainId, address, decimals, symbol, name };
  return logoUrl !== null && URI.test(logoUrl) ? { ...entry, logoURI: logoUrl } : entry;
}

export const FIRST_VERSION: TokenListVersion = { major: 1, minor: 0, patch: 0 };

/**
 * Makes the state of the token list for a new token listing. It yields to requests.
 *
 * @param chains the EVM chains with listed tokens
 * @param shared the state that was stored or shared with the rows. It is used unless its version is lower than the one
 *   made here: so the version never decreases, and gateways that share rows agree on the highest version
 * @param isSame true if the rows are known to differ from the older ones only in prices
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
  const next = isSameList
    ? known.version
    : nextVersion(
        known.version,
        await entriesByKey(before.rows, known.chains),
        await entriesByKey(rows, chains),
      );
  const own = next === known.version ? known : { version: next, at: takenAt };
  const { version, at } = shared && compareVersions(shared.version, own.version) >= 0 ? shared : own;
  // An unchanged state stays the same object, because the object is the cache key for the bytes of the list.
  const isKnown = isSameList && at === known.at && compareVersions(version, known.version) === 0;
  return isKnown ? known : { version, at, chains };
}

/** The version after a change, by the rules of Uniswap's token lists. The order of tokens is ignored. */
function nextVersion(
  version: TokenListVersion,
  known: ReadonlyMap<string, string>,
  present: ReadonlyMap<string, string>,
): TokenListVersion {
  const { major, minor, patch } = version;
  if ([...known.keys()].some((key) => !present.has(key))) return { major: major + 1, minor: 0, patch: 0 };
  if (present.size > known.size) return { major, minor: minor + 1, patch: 0 };
  const isChanged = [...present].some(([key, entry]) => known.get(key) !== entry);
  return isChanged ? { major, minor, patch: patch + 1 } : version;
}

/** The JSON of each entry, by chainId and address. As in the package of the schema, letter case makes another key. */
async function entriesByKey(
  rows: readonly Token[],
  chains: readonly EvmChain[],
): Promise<ReadonlyMap<string, string>> {
  const { entries } = await tokenListContentOf(rows, chains);
  return yieldThen(
    () => new Map(entries.map((entry) => [`${entry.chainId}_${entry.address}`, JSON.stringify(entry)])),
  );
}

function compareVersions(one: TokenListVersion, other: TokenListVersion): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}
