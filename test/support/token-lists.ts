/** Token lists, checked and versioned by the packages of their format. */
import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { TestGateway } from './test-gateway.js';

export interface TokenList {
  readonly name: string;
  readonly timestamp: string;
  readonly version: Version;
  readonly tokens: readonly TokenInfo[];
}

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
}

interface TokenInfo {
  readonly chainId: number;
  readonly address: string;
  readonly decimals: number;
  readonly symbol: string;
  readonly name: string;
  readonly logoURI?: string;
}

const PACKAGE = '@uniswap/token-lists';

const ajv = new Ajv({ allErrors: true, strict: false });
// Its CommonJS module has no named export.
(addFormats as unknown as (ajv: Ajv) => void)(ajv);
const isTokenList = ajv.compile<TokenList>(
  createRequire(import.meta.url)(`${PACKAGE}/src/tokenlist.schema.json`) as object,
);

export async function nextVersionByPackage(
  before: TokenList,
  tokens: readonly TokenInfo[],
): Promise<Version> {
  const { minVersionBump } = await load<{
    minVersionBump(base: readonly TokenInfo[], update: readonly TokenInfo[]): number;
  }>('minVersionBump');
  const { nextVersion } = await load<{ nextVersion(base: Version, bump: number): Version }>('nextVersion');
  return nextVersion(before.version, minVersionBump(before.tokens, tokens));
}

/** Imports a package of TypeScript sources, which our compiler settings must not check. */
async function load<Module>(name: string): Promise<Module> {
  return (await import(/* @vite-ignore */ `${PACKAGE}/src/${name}.ts`)) as Module;
}

/** The list that the gateway serves. The function checks it by the schema. */
export async function listOf(
  { fetch }: Pick<TestGateway, 'fetch'>,
  path = '/tokenlist.json',
): Promise<TokenList> {
  const response = await fetch(path);
  expect(response.status).toBe(200);
  const list = (await response.json()) as TokenList;
  isTokenList(list);
  expect(isTokenList.errors).toBeNull();
  return list;
}
