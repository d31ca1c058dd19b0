import { button, byId, make } from '../parts/dom.js';
import { markedText } from '../parts/marks.js';

/**
 * Shows the ways out of an empty result.
 *
 * @param {object} ways
 * @param {(query: string) => void} ways.onQuery called with another query
 * @param {() => void} ways.onAllChains
 * @param {() => void} ways.onUnmovable called to list tokens that cannot be moved, too
 */
export function createNothingFound({ onQuery, onAllChains, onUnmovable }) {
  const place = byId('nothing', HTMLElement);

  return {
    /**
     * @param {import('../queries.js').TokensVariables | undefined} search the search that found nothing; undefined hides the ways out
     * @param {readonly string[]} [didYouMean]
     */
    show(search, didYouMean = []) {
      place.hidden = !search;
      if (!search) {
        place.replaceChildren();
        return;
      }
      const { query, filter } = search;
      const ways = [
        ...didYouMean.map((other) => button(`Did you mean ${markedText(other)}?`, () => onQuery(other))),
        ...(query ? [button('Clear the search', () => onQuery(''))] : []),
        ...(filter?.chainKeys ? [button('Search all chains', onAllChains)] : []),
        ...(filter?.isBridgeable ? [button('Include tokens that cannot be moved', onUnmovable)] : []),
      ];
      place.replaceChildren(
        make(
          'p',
          { class: 'hint' },
          'No listed token matches. A search takes symbols, names, chains and addresses.',
        ),
        make('div', { class: 'actions' }, ...ways),
      );
    },
  };
}
