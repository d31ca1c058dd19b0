/** The copies that clients keep: changes of tokens since a cursor, and the token list with its ETag. */
import { tokenRow } from '../fixtures/rows.js';
import { dataOf, type TestGateway } from './test-gateway.js';
import type { TokenList } from './token-lists.js';

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
