import { circle } from '../parts/circle.js';
import { copyButton } from '../parts/copy.js';
import { byId, listed, make } from '../parts/dom.js';
import { countText, shortAddress } from '../parts/text.js';
import { chainOf, symbolOf } from '../parts/token-row.js';

/** @typedef {Omit<import('../queries.js').Token, 'isBridgeable' | 'isNative' | 'price'>} Side */

const hint = byId('pair', HTMLElement).firstElementChild;

/**
 * Shows both sides of a transfer and the variables for its quote; without them, how to get there.
 *
 * @param {Side} [from]
 * @param {Side} [to]
 */
export function showPair(from, to) {
  const place = byId('pair', HTMLElement);
  if (!from || !to) {
    place.replaceChildren(...(hint ? [hint] : []));
    return;
  }
  const json = JSON.stringify(
    { srcChainKey: from.chainKey, srcToken: from.address, dstChainKey: to.chainKey, dstToken: to.address },
    null,
    2,
  );
  const variables = make('code', {}, json);
  place.replaceChildren(
    make('div', { class: 'sides' }, side('From', from), side('To', to)),
    make(
      'div',
      { class: 'actions' },
      make('h3', {}, 'Variables for a quote'),
      copyButton('Copy', json, variables),
    ),
    make('pre', { 'aria-label': 'Variables for a quote', role: 'group' }, variables),
    make('p', { class: 'hint' }, 'Only a quote of the transfer service shows that a route works now.'),
  );
}

/**
 * @param {string} label
 * @param {Side} token
 */
function side(label, token) {
  const { symbol, address, decimals } = token;
  return make(
    'div',
    { class: 'side' },
    make('span', { class: 'hint' }, label),
    circle(token),
    make('span', { class: 'title' }, symbolOf(symbol), ' ', chainOf(token)),
    make(
      'span',
      { class: 'subtitle' },
      make('code', { title: address }, listed(shortAddress(address))),
      ` ${countText(decimals, 'decimal')}`,
    ),
  );
}
