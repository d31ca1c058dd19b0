import { byId, make, say } from '../parts/dom.js';
import { createListKeys } from '../parts/list-keys.js';
import { countText } from '../parts/text.js';
import { tellingAddresses, tokenRow } from '../parts/token-row.js';

/** @typedef {import('../queries.js').Destination} Destination */

/**
 * The list of tokens that the chosen token can be moved to.
 *
 * @param {(destination: Destination) => void} onChoose
 */
export function createDestinations(onChoose) {
  const list = byId('destination-list', HTMLElement);
  const status = byId('destinations-found', HTMLElement);
  /** @type {Destination[]} */
  let shown = [];

  const keys = createListKeys({ list, onEnter: () => choose(keys.active()), onPress: choose });

  /** @param {number} index */
  function choose(index) {
    const destination = shown[index];
    if (!destination) return;
    mark(destination.id);
    onChoose(destination);
  }

  /** @param {string} id of the destination to mark as chosen; empty for none */
  function mark(id) {
    for (const [index, row] of [...list.children].entries())
      row.ariaSelected = String(shown[index]?.id === id);
  }

  return {
    mark,
    isEmpty: () => shown.length === 0,
    /** @param {string} text shown in place of the number of destinations */
    say: (text) => say(status, text),
    clear() {
      shown = [];
      list.replaceChildren();
      keys.setActive(-1);
    },
    /** @param {Destination[]} destinations */
    show(destinations) {
      const chains = new Set(destinations.map(({ chainKey }) => chainKey));
      say(
        status,
        destinations.length === 0
          ? 'The upstream lists no token that this one can be moved to.'
          : `${countText(destinations.length, 'token')} on ${countText(chains.size, 'chain')}`,
      );
      shown = destinations;
      const telling = tellingAddresses(destinations);
      list.replaceChildren(
        ...destinations.map((token, index) =>
          tokenRow(token, {
            id: `destination-${index}`,
            index,
            count: destinations.length,
            isChosen: false,
            address: telling.get(token.id),
            end: make('span', { class: 'decimals' }, countText(token.decimals, 'decimal')),
          }),
        ),
      );
      keys.setActive(-1);
    },
  };
}
