/** The copies that clients keep: changes of tokens since a cursor, and token lists, checked by the package of their format. */

import { createRequire } from 'node:module';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import { tokenRow } from '../fixtures/rows.js';
import { dataOf, type TestGateway } from './test-gateway.js';

export interface Changes {
  readonly cursor: string;
  readonly isReset: boolean;
  readonly changed: readonly { readonly address: string }[];
  readonly removedIds: readonly string[];
}

export async function changesSince({ query }: TestGateway, since: string | null): Promise<Changes> {
  const document =
    'query ($since: String) { tokenChanges(since: $since) { cursor isReset changed { address } removedIds } }';
  return (await dataOf(query<{ tokenChanges: Changes }>(document, { since }))).tokenChanges;
}

export async function listOf({ fetch }: TestGateway) {
  const response = await fetch('/tokenlist.json');
  return { etag: response.headers.get('etag'), list: (await response.json()) as TokenList };
}

export const address = (index: number) => `0x${index.toString(16).padStart(40, '0')}`;

export const rows = (...indexes: number[]) => indexes.map((index) => tokenRow('a', address(index)));

export interface TokenList {
  readonly name: string;
  readonly timestamp: string;
  readonly version: Version;
  readonly tokens: readonly TokenInfo[];
}

export type Version = { readonly major: number; readonly minor: number; readonly patch: number };

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

export async function nextVersionByPackage(before: TokenList, tokens: readonly TokenInfo[]) {
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
export async function checkedListOf({ fetch }: Pick<TestGateway, 'fetch'>, path = '/tokenlist.json') {
  const response = await fetch(path);
  expect(response.status).toBe(200);
  const list = (await response.json()) as TokenList;
  isTokenList(list);
  expect(isTokenList.errors).toBeNull();
  return list;
}
