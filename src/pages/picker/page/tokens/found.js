import { markedText } from '../parts/marks.js';
import { countText } from '../parts/text.js';

/** @typedef {import('../queries.js').Token} Token */
/** @typedef {import('../queries.js').TokensVariables} Search */
/** @typedef {{ search: Search, tokens: Token[], totalCount: number, didYouMean: string[], cursor?: string | undefined }} Found */

/** What is found before the first page. */
export const NONE = { tokens: [], totalCount: 0, didYouMean: [] };

/**
 * Says how much was found.
 *
 * @param {Found} found
 */
export function textOf({ totalCount, search: { query } }) {
  const count = totalCount === 0 ? 'No tokens' : countText(totalCount, 'token');
  return `${count} found${query ? ` for “${markedText(query)}”` : ''}`;
}

/**
 * Drops repeats: if the listing is refreshed between two pages, a row that moved can come twice.
 *
 * @param {Token[]} tokens
 */
export function withoutRepeats(tokens) {
  return [...new Map(tokens.map((token) => [token.id, token])).values()];
}
