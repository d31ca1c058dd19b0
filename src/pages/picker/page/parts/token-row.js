import { circle } from './circle.js';
import { listed, make } from './dom.js';
import { heldBackOf } from './held-back.js';
import { priceText, shortAddress } from './text.js';

/** @typedef {import('../queries.js').Token} Token */
/** @typedef {Pick<Token, 'symbol' | 'name' | 'address' | 'chainKey' | 'chain' | 'logoUrl' | 'heldBack'>} NamedToken */

/**
 * Makes the row of a token, an option of a list box.
 *
 * @param {NamedToken} token
 * @param {object} place
 * @param {string} place.id
 * @param {number} place.index
 * @param {number} place.count of the options of the whole list
 * @param {boolean} place.isChosen
 * @param {string | undefined} place.address shown to tell apart rows that look alike
 * @param {(Node | string)[]} [place.badges]
 * @param {Node} place.end what stands at the end of the row
 */
export function tokenRow(token, { id, index, count, isChosen, address, badges = [], end }) {
  const { symbol, name } = token;
  return make(
    'div',
    {
      role: 'option',
      id,
      'aria-selected': String(isChosen),
      'aria-posinset': String(index + 1),
      'aria-setsize': String(count),
    },
    circle(token),
    make('span', { class: 'title' }, symbolOf(symbol), ' ', chainOf(token), ...badges),
    ' ',
    make(
      'span',
      { class: 'subtitle' },
      make('span', { class: 'name' }, listed(name)),
      ...(address === undefined ? [] : [' ', make('code', {}, listed(address))]),
    ),
    ' ',
    end,
    ...heldBackOf(token).flatMap((line) => [' ', line]),
  );
}

/** @param {string} symbol */
export function symbolOf(symbol) {
  return make('strong', {}, listed(symbol || 'no symbol'));
}

/** @param {{ chainKey: string, chain: { name: string } | null }} token */
export function chainOf({ chain, chainKey }) {
  return make('span', { class: 'on' }, listed(chain?.name || chainKey));
}

/**
 * Updates a row in place from a newer row of the same token. Parts that are equal stay, such as a loaded picture.
 *
 * @param {Element} row
 * @param {Element} newer
 */
export function updateRow(row, newer) {
  for (const { name, value } of newer.attributes) row.setAttribute(name, value);
  const parts = [...newer.children];
  if (row.children.length !== parts.length) row.replaceChildren(...newer.childNodes);
  else {
    for (const [index, part] of parts.entries()) {
      const old = row.children[index];
      if (!old?.isEqualNode(part)) old?.replaceWith(part);
    }
  }
}

/**
 * Badges for properties that most tokens do not have.
 *
 * @param {Token} token
 */
export function badges({ isNative, isBridgeable }) {
  return [
    ...(isNative ? [' ', make('span', { class: 'badge' }, 'native')] : []),
    ...(isBridgeable ? [] : [' ', make('span', { class: 'badge warning' }, 'cannot be moved')]),
  ];
}

/** @param {import('../queries.js').Price | null} price */
export function priceOf(price) {
  return price
    ? make('span', { class: 'price' }, priceText(price.usd))
    : make('span', { class: 'price none' }, 'no price');
}

/**
 * The addresses that tell apart tokens with equal symbols on one chain: short, or whole if their short forms are
 * equal, too.
 *
 * @param {readonly Pick<Token, 'id' | 'symbol' | 'address' | 'chainKey'>[]} tokens
 * @returns {Map<string, string>} by the token's id; other tokens have none
 */
export function tellingAddresses(tokens) {
  const alike = Map.groupBy(tokens, ({ symbol, chainKey }) => `${chainKey} ${symbol.toLowerCase()}`);
  const telling = new Map();
  for (const twins of alike.values()) {
    if (twins.length === 1) continue;
    const areShort = new Set(twins.map(({ address }) => shortAddress(address))).size === twins.length;
    for (const { id, address } of twins) telling.set(id, areShort ? shortAddress(address) : address);
  }
  return telling;
}
