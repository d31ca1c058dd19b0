import { age } from './clock.js';
import { listed, make } from './dom.js';
import { priceText } from './text.js';

/** @typedef {import('./queries.js').Token} Token */

/**
 * Makes the row of a token, an option of the list box.
 *
 * @param {Token} token
 * @param {{ index: number, count: number, isChosen: boolean }} place
 */
export function tokenRow(token, { index, count, isChosen }) {
  const { symbol, name, price, chain, chainKey } = token;
  return make(
    'div',
    {
      role: 'option',
      id: `token-${index}`,
      'aria-selected': String(isChosen),
      'aria-posinset': String(index + 1),
      'aria-setsize': String(count),
      'data-initial': [...symbol][0] ?? '?',
    },
    make('span', { class: 'title' }, make('strong', {}, listed(symbol || 'no symbol')), ...badges(token)),
    ' ',
    make(
      'span',
      { class: 'subtitle' },
      ...(name ? [make('span', {}, listed(name)), ' '] : []),
      make('span', { class: 'on' }, listed(chain?.name || chainKey)),
    ),
    ' ',
    ...priceAndAge(price),
  );
}

/**
 * Updates a row in place from a newer row of the same token.
 *
 * @param {Element} row
 * @param {Element} newer
 */
export function updateRow(row, newer) {
  for (const { name, value } of newer.attributes) row.setAttribute(name, value);
  row.replaceChildren(...newer.childNodes);
}

/**
 * Badges for properties that most tokens do not have.
 *
 * @param {Token} token
 */
export function badges({ isNative, isBridgeable }) {
  return [
    ...(isNative ? [' ', make('span', { class: 'badge' }, 'native')] : []),
    ...(isBridgeable ? [] : [' ', make('span', { class: 'badge warning' }, 'not bridgeable')]),
  ];
}

/** @param {import('./queries.js').Price | null} price */
export function priceAndAge(price) {
  if (!price) return [make('span', { class: 'price none' }, 'no price')];
  return [make('span', { class: 'price' }, priceText(price.usd)), ' ', age(price.asOf)];
}
