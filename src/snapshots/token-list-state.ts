/** The content and the version of the token list, by the rules of Uniswap's token lists. */
import { isDeepStrictEqual } from 'node:util';
import { isNativeOf } from '../domain/addresses.js';
import type { Chain, Fetched, Token } from '../domain/listing.js';
import type { EvmChain, ListingHistory, TokenListState, TokenListVersion } from '../domain/listing-memory.js';
import { yieldThen, yieldToRequests } from '../scheduling/steps.js';

// These limits are from tokenlist.schema.json. Lengths are in code points.
const MAX_ENTRIES = 10_000;
const SYMBOL = /^\S{0,20}$/u;
const NAME = /^[ \S]{0,60}$/u;
/** An address of an EVM chain. The schema also allows those of Solana. */
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
/** A subset of the URIs of RFC 3986 that is enough for pictures and that strict readers of the list accept. */
const URI = /^https?:\/\/(?:[\w\-.~:/?@!$&'()*+,;=]|%[0-9a-f]{2})+$/i;

/** The EVM chains with listed tokens and a CAIP-2 identifier: without it, the `chainId` can be another chain's. */
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
 * The token list of these chains, without native assets: its entries, sorted by `chainId` and address, and how many other
 * tokens are left out because they are repeated or the schema does not allow them. It yields to requests.
 */
export async function tokenListContentOf(rows: readonly Token[], chains: readonly EvmChain[]) {
  const chainsByKey = new Map(
    chains.map(([chainKey, chainId, address]) => [chainKey, { chainId, nativeCurrency: { address } }]),
  );
  // `place` orders the entries of one chainId, which several chains can have.
  const found: { readonly entry: TokenListEntry; readonly place: string }[] = [];
  let omitted = 0;
  await yieldToRequests();
  for (const token of rows) {
    const chain = chainsByKey.get(token.chainKey);
    if (!chain || isNativeOf(chain, token)) continue;
    const isAllowed = ADDRESS.test(token.address) && SYMBOL.test(token.symbol) && NAME.test(token.name);
    const place = `${token.address.toLowerCase()} ${token.chainKey}`;
    if (isAllowed) found.push({ entry: entryOf(token, chain.chainId), place });
    else omitted++;
  }
  await yieldThen(() =>
    found.sort((a, b) => a.entry.chainId - b.entry.chainId || (a.place < b.place ? -1 : 1)),
  );
  const entries: TokenListEntry[] = [];
  for (const { entry } of found) {
    const last = entries.at(-1);
    // Readers of the list do not know chain keys: two chains with one chainId are the same chain for them.
    const isRepeated =
      last?.chainId === entry.chainId && last.address.toLowerCase() === entry.address.toLowerCase();
    if (isRepeated || entries.length === MAX_ENTRIES) omitted++;
    else entries.push(entry);
  }
  return { entries, omitted };
}

type TokenListEntry = ReturnType<typeof entryOf>;

/** The entry of a token, in the form of the schema. It has a `logoURI` only if `logoUrl` is a valid URI. */
function entryOf({ address, decimals, symbol, name, logoUrl }: Token, chainId: number) {
  const entry = { chainId, address, decimals, symbol, name };
  return logoUrl !== null && URI.test(logoUrl) ? { ...entry, logoURI: logoUrl } : entry;
}

const FIRST_VERSION: TokenListVersion = { major: 1, minor: 0, patch: 0 };

/**
 * Makes the state of the token list for a new token listing, by the rules of Uniswap's token lists, which ignore the
 * order of tokens. It yields to requests.
 *
 * @param shared the state that was stored or shared with exactly these rows. The higher of its version and of the one
 *   made here is used: so a running gateway never lowers its version, and gateways that share rows agree
 * @param isSame true if the rows are known to differ from the older ones only in prices
 */
export async function nextTokenListState(
  { rows, takenAt, history }: Pick<Fetched<Token>, 'rows' | 'takenAt' | 'history'>,
  chains: readonly EvmChain[],
  shared: TokenListState | undefined,
  before: { readonly rows: readonly Token[]; readonly state: TokenListState } | undefined,
  isSame: boolean,
): Promise<TokenListState> {
  if (!before) {
    // Without `shared`, the stored version is of other rows: some can be missing now, so the major number rises.
    const older = history?.tokenList?.version;
    const version = older ? { major: older.major + 1, minor: 0, patch: 0 } : FIRST_VERSION;
    return shared ?? { version, at: takenAt, chains };
  }
  const known = before.state;
  // Most refreshes change only prices, which the list does not have.
  const isUnchanged = isSame && isDeepStrictEqual(chains, known.chains);
  const next = isUnchanged
    ? known.version
    : versionAfter(
        known.version,
        await entriesByKey(before.rows, known.chains),
        await entriesByKey(rows, chains),
      );
  const own = next === known.version ? known : { version: next, at: takenAt };
  const { version, at } = shared && compareVersions(shared.version, own.version) >= 0 ? shared : own;
  const state = { version, at, chains };
  // An unchanged state stays the same object, because the object is the cache key for the bytes of the list.
  return isUnchanged && isDeepStrictEqual(state, known) ? known : state;
}

/** The version of a list with the entries `present` that follows `version` with the entries `earlier`. */
function versionAfter(
  version: TokenListVersion,
  earlier: ReadonlyMap<string, string>,
  present: ReadonlyMap<string, string>,
): TokenListVersion {
  const { major, minor, patch } = version;
  if ([...earlier.keys()].some((key) => !present.has(key))) return { major: major + 1, minor: 0, patch: 0 };
  if (present.size > earlier.size) return { major, minor: minor + 1, patch: 0 };
  const isChanged = [...present].some(([key, entry]) => earlier.get(key) !== entry);
  return isChanged ? { major, minor, patch: patch + 1 } : version;
}

/** The JSON of each entry, by chainId and address. The letter case of addresses counts, as in the schema's package. */
async function entriesByKey(rows: readonly Token[], chains: readonly EvmChain[]) {
  const { entries } = await tokenListContentOf(rows, chains);
  return yieldThen(
    () => new Map(entries.map((entry) => [`${entry.chainId}_${entry.address}`, JSON.stringify(entry)])),
  );
}

/** The history with a version above the served one: a running gateway gives no version to two lists. */
export function withHigherVersion(history: ListingHistory | undefined, served: TokenListState | undefined) {
  const stored = history?.tokenList;
  if (!history || !served || (stored && compareVersions(stored.version, served.version) > 0)) return history;
  const { patch, ...others } = served.version;
  return { ...history, tokenList: { ...(stored ?? served), version: { ...others, patch: patch + 1 } } };
}

function compareVersions(one: TokenListVersion, other: TokenListVersion): number {
  return one.major - other.major || one.minor - other.minor || one.patch - other.patch;
}
