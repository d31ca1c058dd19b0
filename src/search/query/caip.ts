import type { Chain } from '../../domain/listing.js';

/** An asset type of CAIP-19, such as `eip155:1/erc20:0xA0b8…`. */
const ASSET_TYPE = /^([-a-z0-9]{3,8}:[-_a-z0-9]{1,32})\/(?:erc20|token):([-.%a-z0-9]{1,128})$/i;
const EVM_CHAIN = /^eip155:\d{1,32}$/i;

/** The CAIP-2 identifier of a chain; null for other chains than those of the EVM. */
export function caip2Of({ chainType, chainId }: Pick<Chain, 'chainType' | 'chainId'>): string | null {
  return chainType === 'evm' ? `eip155:${chainId}` : null;
}

/** Whether a text can be nothing but the CAIP-2 identifier of a chain. */
export function isCaip2(text: string): boolean {
  return EVM_CHAIN.test(text);
}

/** Splits a CAIP-19 identifier of a token into its chain and its address; undefined for other texts. */
export function parseCaip19(text: string): { readonly caip2: string; readonly address: string } | undefined {
  const [, caip2, address] = ASSET_TYPE.exec(text) ?? [];
  return caip2 !== undefined && address !== undefined ? { caip2, address } : undefined;
}
