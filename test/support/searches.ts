/** Searches for tokens, with what tests read of the result. */
import { dataOf, type TestGateway } from './test-gateway.js';

export interface Found {
  readonly totalCount: number;
  readonly nodes: readonly Readonly<Record<'chainKey' | 'address' | 'symbol' | 'name', string>>[];
  readonly didYouMean: readonly string[];
}

export const SEARCH = `query ($query: String, $filter: TokenFilter, $orderBy: TokenOrder, $first: Int, $after: String) {
  tokenSearch(query: $query, filter: $filter, orderBy: $orderBy, first: $first, after: $after) {
    totalCount nodes { chainKey address symbol name } didYouMean
  }
}`;

export async function searchIn({ query }: Pick<TestGateway, 'query'>, variables: object): Promise<Found> {
  return (await dataOf(query<{ tokenSearch: Found }>(SEARCH, variables))).tokenSearch;
}
