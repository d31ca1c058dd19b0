/**
 * Identifiers of the Chain Agnostic Standards Alliance: CAIP-2 for chains (`namespace:reference`, such as `eip155:1`),
 * CAIP-19 for tokens. A namespace is used only if it is registered (https://github.com/ChainAgnostic/namespaces) and
 * the reference is in the row or in a table below. Nothing is guessed: a wrong identifier would join the data of
 * different chains or tokens.
 */
import { isNativeOf } from './addresses.js';
import type { Chain, Token } from './listing.js';
import { TEXT_LIMITS } from './text-limits.js';

/** By `chainType`: the namespaces in which the `chainId`, in decimal, is the reference. */
const NUMBERED: ReadonlyMap<string, string> = new Map([
  ['evm', 'eip155'], // eip155/caip2
  ['tron', 'tron'], // tron/caip2: the value of eth_chainId, in decimal
]);

/**
 * The CAIP-2 identifiers of chains whose reference is not in their row, by `chainKey`. They are only for chains whose
 * `chainType` equals the `chainKey`: another chain of the type `aptos`, such as Movement, has another reference.
 */
const MAINNETS: ReadonlyMap<string, string> = new Map([
  ['aptos', 'aptos:1'], // aptos/caip2: the chain id of the node API
  ['solana', 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp'], // solana/caip2: the genesis hash
  ['ton', 'tvm:-239'], // tvm/caip2: the global_id; there is no namespace "ton"
  ['sui', 'sui:mainnet'], // sui/caip2
  ['starknet', 'starknet:SN_MAIN'], // starknet/caip2
  ['iotamove', 'iota:mainnet'], // iota/caip2
  ['stellar', 'stellar:pubnet'], // stellar/caip2
]);

/**
 * The published profiles of CAIP-19, by `chainType`: the namespace of the asset, and the form of its address. For
 * sui, aptos and tvm no profile is published. Native assets get no identifier: their SLIP-44 number is not in the row.
 */
const ASSETS: ReadonlyMap<string, { readonly namespace: string; readonly address: RegExp }> = new Map([
  ['evm', { namespace: 'erc20', address: /^0x[0-9a-f]{40}$/i }], // eip155/caip19
  ['solana', { namespace: 'token', address: /^[1-9A-HJ-NP-Za-km-z]{32,44}$/ }], // solana/caip19: the mint
]);

/**
 * The CAIP-2 identifier that follows from the row of a chain, such as `eip155:1`; null if there is none. Several chains
 * can claim the same identifier, so serve `Chain.caip2` and not this identifier.
 */
export function caip2Of(chain: Pick<Chain, 'chainKey' | 'chainType' | 'chainId'>): string | null {
  const { chainKey, chainType, chainId } = chain;
  const namespace = NUMBERED.get(chainType);
  if (namespace !== undefined) return chainId > 0 ? `${namespace}:${chainId}` : null;
  return chainKey === chainType ? (MAINNETS.get(chainKey) ?? null) : null;
}

/**
 * The CAIP-19 identifier of a token, such as `eip155:1/erc20:0xA0b8…`, with its address as the upstream writes it. Null for
 * a native asset, for a chain that is not listed or has no `caip2`, and if no published profile fits.
 */
export function caip19Of(chain: Chain | null | undefined, token: Pick<Token, 'address'>): string | null {
  if (!chain) return null;
  const profile = ASSETS.get(chain.chainType);
  if (!profile?.address.test(token.address) || isNativeOf(chain, token)) return null;
  const { caip2 } = chain;
  return caip2 === null ? null : `${caip2}/${profile.namespace}:${token.address}`;
}

/** Reads a result of {@link caip2Of}. Its namespace can have any letter case. Undefined for other texts. */
export function parseCaip2(text: string): string | undefined {
  const colon = text.indexOf(':');
  const namespace = text.slice(0, Math.max(colon, 0)).toLowerCase();
  const caip2 = `${namespace}:${text.slice(colon + 1)}`;
  const isNumbered = NUMBERED_NAMESPACES.has(namespace) && /^[^:]+:[1-9]\d*$/.test(caip2);
  return isNumbered || MAINNET_CAIP2S.has(caip2) ? caip2 : undefined;
}

const NUMBERED_NAMESPACES = new Set(NUMBERED.values());
const MAINNET_CAIP2S = new Set(MAINNETS.values());

export type Caip19Parts = NonNullable<ReturnType<typeof parseCaip19>>;

/** Splits a CAIP-19 identifier without checking its parts; undefined for a text of another form. */
export function parseCaip19(caip19: string) {
  if (caip19.length > TEXT_LIMITS.caip19) return undefined;
  const slash = caip19.indexOf('/');
  const colon = caip19.indexOf(':', slash);
  if (slash < 0 || colon < 0) return undefined;
  return {
    caip2: caip19.slice(0, slash),
    /** The namespace of the asset, such as `erc20`. */
    assetNamespace: caip19.slice(slash + 1, colon),
    address: caip19.slice(colon + 1),
  };
}

/** True if these parts form a valid identifier of this token. The caller has found the token by these parts. */
export function isIdentifiedBy(
  { caip2, assetNamespace, address }: Caip19Parts,
  chain: Chain,
  token: Pick<Token, 'address'>,
): boolean {
  if (!ASSETS.get(chain.chainType)?.address.test(address)) return false;
  return caip19Of(chain, token)?.startsWith(`${caip2}/${assetNamespace}:`) === true;
}
